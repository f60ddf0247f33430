//! File operations inside the sandbox, each in a helper of its own that sees what the code sees and no more.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use super::{expand, usage};
use crate::local::bwrap_args::{SANDBOX_GROUP_ID, SANDBOX_USER, SANDBOX_USER_ID};
use crate::local::clock;
use crate::local::protocol::{Access, Failure, FailureKind, Move, Replacement, Request};

/// More entries than this make a listing fail rather than grow.
const MAX_ENTRIES: usize = 10_000;
/// Larger files are not loaded for a replacement.
const MAX_REPLACE_BYTES: u64 = 64 * 1024 * 1024;

type Outcome = Result<Value, Failure>;

pub fn run(request: Request) -> Outcome {
    match request {
        Request::Info { paths } => info(&paths),
        Request::Search { path, pattern } => search(&path, &pattern),
        Request::List { path, depth } => list(&path, depth),
        Request::MakeDirectories { entries } => each(&entries, |path, access| {
            fs::create_dir_all(path).map_err(|error| failure_of(path, &error))?;
            apply(Path::new(path), access)
        }),
        Request::RemoveDirectories { paths } => remove(&paths, |path, metadata| {
            if metadata.is_dir() { fs::remove_dir_all(path) } else { Err(io::ErrorKind::NotADirectory.into()) }
        }),
        Request::RemoveFiles { paths } => remove(&paths, |path, metadata| {
            if metadata.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { fs::remove_file(path) }
        }),
        Request::Move { moves } => rename(&moves),
        Request::Permissions { entries } => each(&entries, |path, access| {
            fs::metadata(path).map_err(|error| failure_of(path, &error))?;
            apply(Path::new(path), access)
        }),
        Request::Replace { entries } => replace(&entries),
        Request::Usage { sample_ms } => Ok(usage::sample(sample_ms)),
        Request::Execute(_) | Request::Read { .. } | Request::Write { .. } => {
            Err(Failure { kind: FailureKind::Invalid, message: "the operation lacks its descriptors".to_owned() })
        }
    }
}

/// Sets mode and owner as far as they are given. The sandbox has one user, so every other owner is refused.
pub fn apply(path: &Path, access: &Access) -> Result<(), Failure> {
    for (name, id) in [(&access.owner, SANDBOX_USER_ID), (&access.group, SANDBOX_GROUP_ID)] {
        let name = name.as_deref().unwrap_or_default();
        if !name.is_empty() && name != SANDBOX_USER && name.parse() != Ok(id) {
            return Err(other(format!("the sandbox has no user or group {name}")));
        }
    }
    let Some(digits) = access.mode.filter(|mode| *mode != 0) else { return Ok(()) };
    let mode = u32::from_str_radix(&digits.to_string(), 8)
        .map_err(|_| other(format!("mode {digits} has a digit that is not octal")))?;
    fs::set_permissions(path, Permissions::from_mode(mode & 0o777))
        .map_err(|error| failure_of(&path.to_string_lossy(), &error))
}

pub fn failure_of(path: &str, error: &io::Error) -> Failure {
    let kind = if error.kind() == io::ErrorKind::NotFound { FailureKind::NotFound } else { FailureKind::Other };
    Failure { kind, message: format!("{path}: {error}") }
}

fn info(paths: &[String]) -> Outcome {
    let mut found = Map::new();
    for requested in paths {
        let path = expand::path(requested)?;
        let metadata = fs::symlink_metadata(&path).map_err(|error| failure_of(&path, &error))?;
        found.insert(requested.clone(), describe(Path::new(&path), &metadata));
    }
    Ok(Value::Object(found))
}

fn describe(path: &Path, metadata: &Metadata) -> Value {
    let kind = match metadata.file_type() {
        kind if kind.is_file() => "file",
        kind if kind.is_dir() => "directory",
        kind if kind.is_symlink() => "symlink",
        _ => "other",
    };
    let digits = format!("{:o}", metadata.mode() & 0o777).parse::<u32>().unwrap_or(0);
    let user = owner_name(metadata.uid(), SANDBOX_USER_ID);
    let group = owner_name(metadata.gid(), SANDBOX_GROUP_ID);
    json!({
        "path": path.to_string_lossy(),
        "type": kind,
        "size": metadata.len(),
        "modified_at": time_text(metadata.modified()),
        "created_at": time_text(metadata.created().or_else(|_| metadata.modified())),
        "owner": user,
        "group": group,
        "mode": digits,
    })
}

fn owner_name(id: u32, own: u32) -> String {
    if id == own { SANDBOX_USER.to_owned() } else { id.to_string() }
}

fn time_text(at: io::Result<SystemTime>) -> String {
    at.map(|at| clock::text(OffsetDateTime::from(at))).unwrap_or_default()
}

fn search(root: &str, pattern: &str) -> Outcome {
    let root = expand::path(root)?;
    let metadata = fs::symlink_metadata(&root).map_err(|error| failure_of(&root, &error))?;
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::from(&root)];
    if !metadata.is_dir() {
        return Err(other(format!("{root} is not a directory")));
    }
    while let Some(directory) = pending.pop() {
        for (path, metadata) in entries(&directory)? {
            if metadata.is_dir() {
                pending.push(path);
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if is_match(pattern.as_bytes(), name.as_bytes()) {
                found.push(describe(&path, &metadata));
                bounded(found.len())?;
            }
        }
    }
    Ok(Value::Array(found))
}

fn list(root: &str, depth: u32) -> Outcome {
    let root = expand::path(root)?;
    let metadata = fs::symlink_metadata(&root).map_err(|error| failure_of(&root, &error))?;
    if !metadata.is_dir() {
        return Err(Failure { kind: FailureKind::Invalid, message: format!("{root} is not a directory") });
    }
    let mut found = Vec::new();
    let mut pending = children(Path::new(&root), depth)?;
    while let Some((path, metadata, depth)) = pending.pop() {
        found.push(describe(&path, &metadata));
        if metadata.is_dir() {
            pending.extend(children(&path, depth)?);
        }
        bounded(found.len() + pending.len())?;
    }
    Ok(Value::Array(found))
}

/// The entries of a directory for a stack, so the first name last, with the depth that is left below them.
fn children(directory: &Path, depth: u32) -> Result<Vec<(PathBuf, Metadata, u32)>, Failure> {
    let Some(below) = depth.checked_sub(1) else { return Ok(Vec::new()) };
    let mut found = entries(directory)?;
    found.sort_by(|left, right| right.0.cmp(&left.0));
    Ok(found.into_iter().map(|(path, metadata)| (path, metadata, below)).collect())
}

fn entries(directory: &Path) -> Result<Vec<(PathBuf, Metadata)>, Failure> {
    let failed = |error: io::Error| failure_of(&directory.to_string_lossy(), &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // An entry that vanished meanwhile was never there for this listing.
        if let Ok(metadata) = fs::symlink_metadata(&path) {
            found.push((path, metadata));
            bounded(found.len())?;
        }
    }
    Ok(found)
}

fn bounded(count: usize) -> Result<(), Failure> {
    if count > MAX_ENTRIES { Err(other(format!("more than {MAX_ENTRIES} entries"))) } else { Ok(()) }
}

/// Matches a base name against a pattern of `*`, `?` and literal bytes.
fn is_match(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&wanted) if wanted == b'?' || wanted == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((after, from)) = star else { return false };
                star = Some((after, from + 1));
                p = after + 1;
                n = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|rest| *rest == b'*')
}

fn each(
    entries: &std::collections::BTreeMap<String, Access>,
    change: impl Fn(&str, &Access) -> Result<(), Failure>,
) -> Outcome {
    for (path, access) in entries {
        change(&expand::path(path)?, access)?;
    }
    Ok(json!({}))
}

fn remove(paths: &[String], remove: impl Fn(&Path, &Metadata) -> io::Result<()>) -> Outcome {
    for path in paths {
        let path = expand::path(path)?;
        let outcome = fs::symlink_metadata(&path).and_then(|metadata| remove(Path::new(&path), &metadata));
        match outcome {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failure_of(&path, &error)),
            _ => {}
        }
    }
    Ok(json!({}))
}

fn rename(moves: &[Move]) -> Outcome {
    for Move { src, dest } in moves {
        let (src, dest) = (expand::path(src)?, expand::path(dest)?);
        fs::symlink_metadata(&src).map_err(|error| failure_of(&src, &error))?;
        if let Some(parent) = Path::new(&dest).parent() {
            fs::create_dir_all(parent).map_err(|error| failure_of(&dest, &error))?;
        }
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        rustix::fs::renameat_with(rustix::fs::CWD, src.as_str(), rustix::fs::CWD, dest.as_str(), flags)
            .map_err(|error| other(format!("cannot move {src} to {dest}: {}", io::Error::from(error))))?;
    }
    Ok(json!({}))
}

/// Every file is read and checked before the first is written.
fn replace(entries: &std::collections::BTreeMap<String, Replacement>) -> Outcome {
    let mut counts = Map::new();
    let mut changed = Vec::new();
    for (requested, Replacement { old, new }) in entries {
        if old.is_empty() {
            return Err(Failure { kind: FailureKind::Invalid, message: "old must not be empty".to_owned() });
        }
        let path = expand::path(requested)?;
        let metadata = fs::metadata(&path).map_err(|error| failure_of(&path, &error))?;
        if !metadata.is_file() || metadata.len() > MAX_REPLACE_BYTES {
            return Err(other(format!("{path} is not a regular file of at most {MAX_REPLACE_BYTES} bytes")));
        }
        let content = fs::read(&path).map_err(|error| failure_of(&path, &error))?;
        let (content, count) = replaced(&content, old.as_bytes(), new.as_bytes());
        counts.insert(requested.clone(), json!({ "replacedCount": count }));
        changed.push((path, content));
    }
    for (path, content) in changed {
        fs::write(&path, content).map_err(|error| failure_of(&path, &error))?;
    }
    Ok(Value::Object(counts))
}

fn replaced(content: &[u8], old: &[u8], new: &[u8]) -> (Vec<u8>, usize) {
    let mut result = Vec::with_capacity(content.len());
    let (mut at, mut count) = (0, 0);
    while at < content.len() {
        if content[at..].starts_with(old) {
            result.extend_from_slice(new);
            at += old.len();
            count += 1;
        } else {
            result.push(content[at]);
            at += 1;
        }
    }
    (result, count)
}

fn other(message: String) -> Failure {
    Failure { kind: FailureKind::Other, message }
}

#[cfg(test)]
mod tests {
    use super::{is_match, replaced};

    #[test]
    fn matches_base_names() {
        for (pattern, name, expected) in [
            ("**", "a.txt", true),
            ("*.rs", "main.rs", true),
            ("*.rs", "main.rs.bak", false),
            ("a?c*", "abcdef", true),
            ("", "a", false),
            ("*a*b*", "xxaxxb", true),
        ] {
            assert_eq!(is_match(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn counts_replacements_without_overlap() {
        assert_eq!(replaced(b"aaaa-a", b"aa", b"b"), (b"bb-a".to_vec(), 2));
    }
}

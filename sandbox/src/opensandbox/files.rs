//! Files inside a sandbox: what is there, and what is moved or removed. Contents are in [`super::transfer`].
//!
//! Rule: paths are absolute, and are sent so that they arrive as they are. Execd replaces `$NAME` in a path by a
//! variable and cannot be told not to, so a path with `$` is refused here, where another file might be meant there.

use std::collections::BTreeMap;

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use url::Url;

use super::error::Error;
use super::lifecycle::parse_time;
use super::sandbox::{Port, Sandbox};

const MAX_PATH_BYTES: usize = 4096;

/// Permission bits, such as `FileMode(0o644)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMode(pub u32);

impl FileMode {
    /// The wire has a decimal number whose digits read as octal.
    pub(super) fn to_wire(self) -> u32 {
        let bits = self.0 & 0o777;
        (bits >> 6) * 100 + (bits >> 3 & 7) * 10 + (bits & 7)
    }

    fn from_wire(number: u32) -> Option<Self> {
        u32::from_str_radix(&number.to_string(), 8).ok().map(Self)
    }
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, which was not followed.
    Symlink,
    /// A device, pipe or socket.
    Other,
}

/// What the server says about a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// The absolute path.
    pub path: String,
    /// What it leads to.
    pub kind: FileKind,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Permission bits, when the server's number made sense.
    pub mode: Option<FileMode>,
    /// When its content was changed.
    pub modified_at: Option<OffsetDateTime>,
}

/// A file's old and new path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// What is moved.
    pub from: String,
    /// Where to; must not exist. Its parents are made.
    pub to: String,
}

/// Text to be replaced in a file, wherever it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// Absolute path.
    pub path: String,
    /// What is looked for, as it is written; never empty.
    pub old: String,
    /// What takes its place.
    pub new: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawReplaced {
    replaced_count: u64,
}

#[derive(Deserialize)]
struct RawFile {
    path: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    size: u64,
    mode: Option<u32>,
    modified_at: Option<String>,
}

impl RawFile {
    fn into_info(self) -> FileInfo {
        FileInfo {
            path: self.path,
            kind: match self.kind.as_deref() {
                Some("file") => FileKind::File,
                Some("directory") => FileKind::Directory,
                Some("symlink") => FileKind::Symlink,
                Some(_) | None => FileKind::Other,
            },
            size_bytes: self.size,
            mode: self.mode.and_then(FileMode::from_wire),
            modified_at: self.modified_at.as_deref().and_then(|text| parse_time(text).ok()),
        }
    }
}

impl Sandbox {
    /// What is at each of these paths, keyed by the path as given. One that is missing makes the whole call `NotFound`.
    pub async fn file_info(&self, paths: &[&str]) -> Result<BTreeMap<String, FileInfo>, Error> {
        let execd = self.execd().await?;
        let url = with_paths(&execd, &["files", "info"], paths)?;
        let raw: Option<BTreeMap<String, RawFile>> =
            self.read(&execd.call(Method::GET, url)).await?.json("file information")?;
        Ok(raw.unwrap_or_default().into_iter().map(|(path, file)| (path, file.into_info())).collect())
    }

    /// What is below a directory, parents first, down to `depth` levels.
    pub async fn list_directory(&self, path: &str, depth: u32) -> Result<Vec<FileInfo>, Error> {
        let execd = self.execd().await?;
        let mut url = with_paths(&execd, &["directories", "list"], &[path])?;
        url.query_pairs_mut().append_pair("depth", &depth.to_string());
        self.read_files(&execd, url).await
    }

    /// Files below a directory whose last name matches `pattern`.
    pub async fn search_files(&self, path: &str, pattern: &str) -> Result<Vec<FileInfo>, Error> {
        let execd = self.execd().await?;
        let mut url = with_paths(&execd, &["files", "search"], &[path])?;
        url.query_pairs_mut().append_pair("pattern", pattern);
        self.read_files(&execd, url).await
    }

    /// Removes files; one that is missing is as good as removed, a directory is an error.
    pub async fn delete_files(&self, paths: &[&str]) -> Result<(), Error> {
        let execd = self.execd().await?;
        let url = with_paths(&execd, &["files"], paths)?;
        self.write(&execd.call(Method::DELETE, url), "delete").await.map(drop)
    }

    /// Removes a directory and everything below it.
    pub async fn delete_directory(&self, path: &str) -> Result<(), Error> {
        let execd = self.execd().await?;
        let url = with_paths(&execd, &["directories"], &[path])?;
        self.write(&execd.call(Method::DELETE, url), "delete").await.map(drop)
    }

    /// Makes a directory and its parents; the mode is that of the last one.
    pub async fn make_directory(&self, path: &str, mode: FileMode) -> Result<(), Error> {
        let execd = self.execd().await?;
        let body = json!({ check_path(path)?: { "mode": mode.to_wire() } });
        self.write(&execd.call_with(Method::POST, execd.url(&["directories"])?, &body), "mkdir").await.map(drop)
    }

    /// Moves files. An existing target makes it fail.
    pub async fn move_files(&self, moves: &[Move]) -> Result<(), Error> {
        let execd = self.execd().await?;
        let body: Value = moves
            .iter()
            .map(|one| Ok(json!({ "src": check_path(&one.from)?, "dest": check_path(&one.to)? })))
            .collect::<Result<_, Error>>()?;
        self.write(&execd.call_with(Method::POST, execd.url(&["files", "mv"])?, &body), "move").await.map(drop)
    }

    /// Replaces text in files, at most once for each, and tells for each path how often. Some servers do not count:
    /// then a path is missing. Files that come after one that fails may have been changed or not. Sent once.
    pub async fn replace_in_files(&self, replacements: &[Replacement]) -> Result<BTreeMap<String, u64>, Error> {
        let mut body = serde_json::Map::new();
        for Replacement { path, old, new } in replacements {
            if old.is_empty() {
                return Err(Error::invalid("text to be replaced is empty"));
            }
            if body.insert(check_path(path)?.to_owned(), json!({ "old": old, "new": new })).is_some() {
                return Err(Error::invalid("a path is given twice"));
            }
        }
        if body.is_empty() {
            return Err(Error::invalid("no path is given"));
        }
        let execd = self.execd().await?;
        let mut url = execd.url(&["files", "replace"])?;
        url.query_pairs_mut().append_pair("verbose", "true");
        let answer = self.write(&execd.call_with(Method::POST, url, &Value::Object(body)), "replace").await?;
        if answer.is_empty() {
            return Ok(BTreeMap::new());
        }
        let counts: BTreeMap<String, RawReplaced> =
            answer.json("replacement").map_err(|error| error.after_sending("replace"))?;
        Ok(counts.into_iter().map(|(path, count)| (path, count.replaced_count)).collect())
    }

    async fn read_files(&self, execd: &Port, url: Url) -> Result<Vec<FileInfo>, Error> {
        // An empty list arrives as `null` from some servers.
        let raw: Option<Vec<RawFile>> = self.read(&execd.call(Method::GET, url)).await?.json("list of files")?;
        Ok(raw.unwrap_or_default().into_iter().map(RawFile::into_info).collect())
    }
}

pub(super) fn with_paths(execd: &Port, segments: &[&str], paths: &[&str]) -> Result<Url, Error> {
    if paths.is_empty() {
        return Err(Error::invalid("no path is given"));
    }
    let mut url = execd.url(segments)?;
    for path in paths {
        url.query_pairs_mut().append_pair("path", check_path(path)?);
    }
    Ok(url)
}

/// Whether servers take this path. A `$` in it would be replaced by them.
#[must_use]
pub fn is_path(path: &str) -> bool {
    check_path(path).is_ok()
}

pub(super) fn check_path(path: &str) -> Result<&str, Error> {
    if !path.starts_with('/') || path.len() > MAX_PATH_BYTES || path.contains(['\0', '$']) {
        return Err(Error::invalid("path is not absolute, is too long, or has a character that it cannot have"));
    }
    if path.split('/').any(|segment| segment == "..") {
        return Err(Error::invalid("path climbs with `..`"));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_modes_as_digits() {
        for (mode, wire) in [(0o644, 644), (0o755, 755), (0o7, 7), (0, 0), (0o4755, 755)] {
            assert_eq!(FileMode(mode).to_wire(), wire);
        }
        assert_eq!(FileMode::from_wire(640), Some(FileMode(0o640)));
        assert_eq!(FileMode::from_wire(493), None);
    }

    #[test]
    fn refuses_paths_that_could_mean_another_file() {
        for bad in ["", "a", "~/a", "/a/$HOME", "/a\0b", "/a/../b", "..", &format!("/{}", "x".repeat(4096))] {
            assert!(check_path(bad).is_err(), "{bad}");
        }
        for good in ["/", "/a b/%20+&=#?", "/报告/..hidden", "/q\"uo;te"] {
            assert!(check_path(good).is_ok(), "{good}");
        }
    }
}

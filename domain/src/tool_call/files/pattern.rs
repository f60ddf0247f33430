//! Patterns: globs for paths and regular expressions for lines. Both are matched in time that is linear in the text.
//!
//! Globs are turned into regular expressions here, since the libraries for them match bytes, so that `?` takes a part of a
//! letter, or let a set match a slash, or bound no memory.

use regex::{bytes, escape};

use super::super::arguments::Fault;

const MAX_PATTERN_BYTES: usize = 1000;
/// Memory of a compiled expression.
const MAX_COMPILED_BYTES: usize = 1 << 20;
const MAX_NESTED_BRACES: usize = 8;

/// A pattern for paths below `/workspace`: `*` and `?` within a name, `**` over directories, `[..]`, `{a,b}`. Without a
/// slash it is for the last name alone.
#[derive(Debug, Clone)]
pub struct Glob {
    matcher: regex::Regex,
    base: Base,
}

/// What the paths of a glob are relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// The directory that is searched.
    Root,
    /// `/workspace`: the glob was written with it.
    Workspace,
}

/// A regular expression for lines, which need not be text.
#[derive(Debug, Clone)]
pub struct LinePattern(bytes::Regex);

impl Glob {
    /// A glob for what lies below `root`. One that can match nothing there is refused, for an empty answer would seem to say
    /// that there are no such files.
    pub(in crate::tool_call) fn parse(field: &str, text: &str, root: &str) -> Result<Self, Fault> {
        let fault = |rule: &str| Fault::invalid(format!("{field}: {rule}. Give a glob such as src/**/*.{{js,ts}}."));
        if text.is_empty() || text.len() > MAX_PATTERN_BYTES {
            return Err(fault("must be 1 to 1000 bytes long"));
        }
        let (below, base) = match text.strip_prefix("/workspace/") {
            Some(below) => (below, Base::Workspace),
            None => (text.strip_prefix("./").unwrap_or(text), Base::Root),
        };
        if below.starts_with('/') {
            return Err(fault("must be for paths below /workspace"));
        }
        if below.split('/').any(|name| matches!(name, "" | "." | "..")) {
            return Err(fault("must have no empty part, no `.` and no `..`, or it could match nothing"));
        }
        if base == Base::Workspace && !may_lie_below(below, root) {
            return Err(fault("is for paths outside of path, and could match nothing there"));
        }
        let expression = expression_of(below, base).map_err(fault)?;
        let compiled = regex::RegexBuilder::new(&expression).size_limit(MAX_COMPILED_BYTES).build();
        let matcher = compiled.map_err(|_| fault("has a set in brackets that is empty or too large"))?;
        Ok(Self { matcher, base })
    }

    /// Whether it is for this path, which lies below `root`.
    pub(super) fn is_match(&self, path: &str, root: &str) -> bool {
        match self.base {
            Base::Workspace => self.matcher.is_match(path),
            Base::Root => self.matcher.is_match(below(path, root)),
        }
    }
}

impl LinePattern {
    pub(in crate::tool_call) fn parse(field: &str, text: &str, ignore_case: Case) -> Result<Self, Fault> {
        if text.is_empty() || text.len() > MAX_PATTERN_BYTES {
            return Err(Fault::invalid(format!("{field}: must be 1 to 1000 bytes long. Give a shorter expression.")));
        }
        let compiled = bytes::RegexBuilder::new(text)
            .case_insensitive(ignore_case == Case::Ignored)
            .size_limit(MAX_COMPILED_BYTES)
            .build();
        compiled.map(Self).map_err(|error| {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let fix = "There is no look-around and no back reference; escape what is meant literally.";
            Fault::invalid(format!("{field}: must be a regular expression ({why}). {fix}"))
        })
    }

    pub(super) fn is_match(&self, line: &[u8]) -> bool {
        self.0.is_match(line)
    }
}

/// Whether the case of letters counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Counts,
    Ignored,
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.matcher.as_str() == other.matcher.as_str() && self.base == other.base
    }
}

impl Eq for Glob {}

impl PartialEq for LinePattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for LinePattern {}

/// A path relative to the directory that was searched.
fn below<'a>(path: &'a str, root: &str) -> &'a str {
    path.strip_prefix(root).map_or(path, |path| path.trim_start_matches('/'))
}

/// Whether a glob for paths below `/workspace` could match one below `root`, as far as its plain parts tell.
fn may_lie_below(glob: &str, root: &str) -> bool {
    let is_plain = |part: &str| !part.contains(['*', '?', '[', ']', '{', '}', ',', '\\']);
    let (mut parts, mut names) = (glob.split('/'), root.split('/').filter(|name| !name.is_empty()));
    loop {
        match (parts.next(), names.next()) {
            (None, _) => return false,
            (Some(_), None) => return true,
            (Some(part), Some(_)) if part.contains("**") || part.contains(['{', '}']) => return true,
            (Some(part), Some(name)) if is_plain(part) && part != name => return false,
            (Some(_), Some(_)) => {}
        }
    }
}

/// The regular expression for a glob.
fn expression_of(glob: &str, base: Base) -> Result<String, &'static str> {
    let is_for_names = !glob.contains('/') && base == Base::Root;
    let mut expression = String::from(if is_for_names { "(?s)^(?:.*/)?" } else { "(?s)^" });
    let mut rest = glob;
    let mut depth = 0;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        match first {
            '*' if rest.starts_with('*') => {
                rest = rest.trim_start_matches('*');
                let is_at_start = glob.len() == rest.len() + 2 || expression.ends_with('/');
                match rest.strip_prefix('/').filter(|_| is_at_start) {
                    Some(after) => {
                        expression.push_str("(?:.*/)?");
                        rest = after;
                    }
                    None => expression.push_str(".*"),
                }
            }
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '[' => rest = push_set(rest, &mut expression)?,
            '{' if depth == MAX_NESTED_BRACES => return Err("has too many braces in each other"),
            '{' => {
                depth += 1;
                expression.push_str("(?:");
            }
            '}' if depth > 0 => {
                depth -= 1;
                expression.push(')');
            }
            ',' if depth > 0 => expression.push('|'),
            '\\' => {
                let literal = rest.chars().next().ok_or("ends in a backslash")?;
                rest = &rest[literal.len_utf8()..];
                expression.push_str(&escape(literal.encode_utf8(&mut [0; 4])));
            }
            literal => expression.push_str(&escape(literal.encode_utf8(&mut [0; 4]))),
        }
    }
    if depth > 0 {
        return Err("has a brace that is not closed");
    }
    expression.push('$');
    Ok(expression)
}

/// Reads a set behind its opening bracket and returns what comes after it. No set matches a slash.
fn push_set<'a>(rest: &'a str, expression: &mut String) -> Result<&'a str, &'static str> {
    let (is_negated, set) = match rest.strip_prefix(['!', '^']) {
        Some(set) => (true, set),
        None => (false, rest),
    };
    // A bracket that comes first stands for itself.
    let from = set.chars().next().map_or(0, char::len_utf8);
    let end = set.get(from..).and_then(|tail| tail.find(']')).ok_or("has a bracket that is not closed")? + from;
    expression.push_str(if is_negated { "[[^" } else { "[[" });
    for letter in set[..end].chars() {
        match letter {
            '-' => expression.push('-'),
            '[' | ']' | '\\' | '^' | '&' | '~' => expression.extend(['\\', letter]),
            letter => expression.push(letter),
        }
    }
    expression.push_str("]&&[^/]]");
    Ok(&set[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, path: &str) -> bool {
        Glob::parse("pattern", glob, "").unwrap().is_match(path, "")
    }

    #[test]
    fn a_star_stays_within_a_name_and_two_go_over_directories() {
        for (glob, path) in [
            ("src/*.rs", "src/a.rs"),
            ("src/**/*.rs", "src/a.rs"),
            ("src/**/*.rs", "src/b/c/a.rs"),
            ("**/a.rs", "a.rs"),
            ("**/a.rs", "x/y/a.rs"),
            ("src/**", "src/x/y"),
            ("**", "x/y"),
            ("*.rs", "deep/below/a.rs"),
            ("/workspace/src/*", "src/a"),
            ("a?.txt", "ab.txt"),
            ("a?.txt", "aé.txt"),
            ("*", ".hidden"),
        ] {
            assert!(matches(glob, path), "{glob} {path}");
        }
        for (glob, path) in
            [("src/*.rs", "src/b/a.rs"), ("src/**/*.rs", "lib/src/a.rs"), ("a?b", "a/b"), ("**/a.rs", "x/ba.rs")]
        {
            assert!(!matches(glob, path), "{glob} {path}");
        }
    }

    #[test]
    fn a_glob_with_the_workspace_in_it_is_for_whole_paths_wherever_is_searched() {
        let in_src = |glob: &str| Glob::parse("pattern", glob, "src/app");
        for (glob, path) in [
            ("/workspace/src/app/*.py", "src/app/a.py"),
            ("/workspace/**/*.py", "src/app/a.py"),
            ("/workspace/s*/app/a.py", "src/app/a.py"),
            ("/workspace/{src,lib}/app/a.py", "src/app/a.py"),
            ("./a.py", "src/app/a.py"),
            ("a.py", "src/app/deep/a.py"),
        ] {
            assert!(in_src(glob).unwrap().is_match(path, "src/app"), "{glob} {path}");
        }
        for glob in ["/workspace/lib/*.py", "/workspace/src/*.py", "/workspace/*.py", "/workspace/src/ap"] {
            assert!(in_src(glob).unwrap_err().message.contains("outside of path"), "{glob}");
        }
    }

    #[test]
    fn sets_and_alternatives() {
        for (glob, path) in [
            ("[ab].txt", "a.txt"),
            ("[a-c]1", "b1"),
            ("[!a]1", "b1"),
            ("[]]", "]"),
            ("[^]]", "a"),
            ("*.{js,ts{,x}}", "a.tsx"),
            ("*.{js,ts{,x}}", "a.ts"),
            ("{src,test}/**/*.py", "test/a/b.py"),
            ("a\\*b", "a*b"),
            ("a.b+(c)", "a.b+(c)"),
            ("[&&~~--]", "&"),
        ] {
            assert!(matches(glob, path), "{glob} {path}");
        }
        for (glob, path) in [("[!a]1", "a1"), ("a[/]b", "a/b"), ("a[!x]b", "a/b"), ("a.b", "axb"), ("a\\*b", "axb")] {
            assert!(!matches(glob, path), "{glob} {path}");
        }
    }

    #[test]
    fn what_is_no_glob_is_refused_with_a_reason() {
        for (glob, reason) in [
            ("", "1 to 1000"),
            ("/etc/*", "below /workspace"),
            ("/workspace", "below /workspace"),
            ("/workspace/", "no empty part"),
            ("../*.py", "no `..`"),
            ("src/../*.py", "no `..`"),
            ("src//*.py", "no empty part"),
            ("src/", "no empty part"),
            ("[a", "bracket"),
            ("{a", "brace"),
            ("a\\", "backslash"),
            ("[z-a]", "set in brackets"),
            ("{{{{{{{{{a}}}}}}}}}", "too many braces"),
        ] {
            let fault = Glob::parse("pattern", glob, "").unwrap_err();
            assert!(fault.message.starts_with("pattern: ") && fault.message.contains(reason), "{}", fault.message);
        }
    }

    #[test]
    fn an_expression_that_another_engine_would_hang_on_is_matched_at_once() {
        let pattern = LinePattern::parse("pattern", "(a+)+$", Case::Counts).unwrap();
        assert!(!pattern.is_match(format!("{}b", "a".repeat(100_000)).as_bytes()));
        assert!(LinePattern::parse("pattern", "ERROR", Case::Ignored).unwrap().is_match(b"an error \xff"));
        for bad in ["(", "(?=a)", r"(a)\1", ""] {
            let fault = LinePattern::parse("pattern", bad, Case::Counts).unwrap_err();
            assert!(fault.message.starts_with("pattern: must be "), "{}", fault.message);
        }
    }
}

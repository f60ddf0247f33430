//! Paths that a model may name: below `/workspace`, and without the ways out.

use super::arguments::Fault;

/// Longest path, and longest name in it. The kernel takes 4095 bytes, of which a server needs some for a draft beside the
/// file.
const MAX_PATH_BYTES: usize = 4000;
const MAX_NAME_BYTES: usize = 255;

/// The directory below `/workspace` whose files become artifacts.
pub(super) const OUTPUTS: &str = "outputs";

const INVALID_PATH: &str = "INVALID_PATH";

/// A file's path below `/workspace`, as a model gives it: `src/a.py`, `./src/a.py` and `/workspace/src/a.py` are the same.
pub(super) fn file_path(field: &str, path: &str) -> Result<String, Fault> {
    let below = path.strip_prefix("/workspace/").or_else(|| path.strip_prefix("./")).unwrap_or(path);
    check(field, below, "Give a path below /workspace, such as src/main.py.")?;
    Ok(below.to_owned())
}

/// A file's path in `outputs/`, of which a model gives the name.
pub(super) fn output_path(field: &str, name: &str) -> Result<String, Fault> {
    const FIX: &str = "Give a name such as page.png; it is put into outputs/.";
    let name = name.strip_prefix("outputs/").unwrap_or(name);
    check(field, name, FIX)?;
    if name.contains('/') {
        return Err(Fault::new(INVALID_PATH, format!("{field}: must be a name without a slash. {FIX}")));
    }
    Ok(format!("{OUTPUTS}/{name}"))
}

/// A directory's path below `/workspace`; empty for `/workspace` itself, which is also `.`.
pub(super) fn directory_path(field: &str, path: &str) -> Result<String, Fault> {
    match path.strip_suffix('/').unwrap_or(path) {
        "" | "." | "/workspace" if path != "/" => Ok(String::new()),
        path => file_path(field, path),
    }
}

fn check(field: &str, below: &str, fix: &str) -> Result<(), Fault> {
    let fault = |rule: &str| Err(Fault::new(INVALID_PATH, format!("{field}: {rule}. {fix}")));
    if below.starts_with('/') {
        return fault("must lie below /workspace");
    }
    if below.split('/').any(|name| matches!(name, "" | "." | "..")) {
        return fault("must have no empty part, no `.` and no `..`");
    }
    if below.len() > MAX_PATH_BYTES || below.split('/').any(|name| name.len() > MAX_NAME_BYTES) {
        return fault("must have names of at most 255 bytes and at most 4000 bytes together");
    }
    if below.chars().any(char::is_control) {
        return fault("must have no control character, no line break and no NUL");
    }
    // A sandbox server replaces it by a variable, and another file would be meant.
    if below.contains('$') {
        return fault("must have no `$`, which the sandbox server would replace");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row F51 of the cases: names that must come through as they are, and names that are refused.
    #[test]
    fn names_come_through_as_they_are_and_ways_out_are_refused() {
        for name in [
            "报告 %20 (1).txt",
            "a+b.txt",
            "a b.txt",
            "a%20b.txt",
            "x\u{202f}y.txt",
            "q\"uo;te.txt",
            "\u{e9}.txt",
            "e\u{301}.txt",
            ".hidden",
            "-rf",
            "~/a",
            "..a/b..",
        ] {
            assert_eq!(file_path("path", name), Ok(name.to_owned()));
            assert_eq!(file_path("path", &format!("/workspace/{name}")), Ok(name.to_owned()));
            assert_eq!(file_path("path", &format!("./{name}")), Ok(name.to_owned()));
        }
        let long = format!("{}.txt", "a".repeat(252));
        let out_of_it = ["..", "a/../b", "./../b", ".//a", "/etc/passwd", "/workspace"];
        for name in out_of_it.into_iter().chain(["", "a\0b", "a\nb", &long, "a//b", "a/./b", "a/", "a$HOME"]) {
            let fault = file_path("path", name).unwrap_err();
            assert_eq!(fault.code, INVALID_PATH, "{name:?}");
            assert!(fault.message.starts_with("path: must "), "{}", fault.message);
        }
    }

    #[test]
    fn a_name_in_outputs_is_given_with_its_directory_or_without() {
        for name in ["page.png", "outputs/page.png"] {
            assert_eq!(output_path("save_as", name), Ok("outputs/page.png".to_owned()));
        }
        for name in ["", "a/b.png", "../a.png", "/etc/a.png", "a\nb.png"] {
            let fault = output_path("save_as", name).unwrap_err();
            assert_eq!(fault.code, INVALID_PATH, "{name:?}");
            assert!(
                fault.message.ends_with("Give a name such as page.png; it is put into outputs/."),
                "{}",
                fault.message
            );
        }
    }

    #[test]
    fn the_workspace_itself_is_a_directory_of_several_names() {
        for root in ["", ".", "/workspace", "/workspace/", "./"] {
            assert_eq!(directory_path("path", root), Ok(String::new()), "{root:?}");
        }
        for directory in ["src/", "./src", "./src/"] {
            assert_eq!(directory_path("path", directory), Ok("src".to_owned()), "{directory}");
        }
        for out in ["/", "/etc", "..", "../workspace"] {
            assert!(directory_path("path", out).is_err(), "{out}");
        }
    }
}

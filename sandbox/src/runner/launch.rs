//! A launch is the list of words that starts a program: its environment, a capture of its raw output, its arguments.
//!
//! Rule: a word reaches its program as it is. Whether a shell must get the list quoted is the client's business.
//!
//! The stream of a sandbox server carries text, so bytes that are no text are lost on it. Unless the server keeps them, a
//! program's output therefore also goes into two files outside of the workspace, up to [`CAPTURED_BYTES`] each, which are read
//! when they are needed.

use super::environment::Environment;

/// What keeps a program's output as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capture {
    /// The launch, in files in the sandbox. It costs a few processes.
    InSandbox,
    /// The server.
    ByServer,
    /// Nothing does.
    Nothing,
}

/// Raw bytes of each stream that are kept.
pub const CAPTURED_BYTES: u64 = 8 * 1024 * 1024;

/// Runs the program `$2...` with its output through two pipes into `$1/stdout` and `$1/stderr` as well.
///
/// The program runs as it is when the pipes cannot be made, as on a full storage. Behind its end, processes that it left
/// and that hold the pipes are waited for a moment and no longer. A program that was killed for want of memory must look
/// so to the server as well. `ulimit -f` counts blocks of 512 bytes.
const CAPTURE: &str = r#"d=$1; shift
mkdir -p "$d" "$HOME" 2>/dev/null && mkfifo "$d/o" "$d/e" 2>/dev/null || exec "$@"
cap() { trap '' TERM INT HUP XFSZ; (ulimit -Sf 16384) 2>/dev/null && ulimit -Sf 16384; exec tee "$1" 2>/dev/null; }
(cap "$d/stdout" <"$d/o") & o=$!
(cap "$d/stderr" <"$d/e" >&2) & e=$!
trap : TERM INT HUP
"$@" >"$d/o" 2>"$d/e"
c=$?
(sleep 0.3; kill -TERM $$) >/dev/null 2>&1 & w=$!
wait $o $e
kill $w 2>/dev/null
[ $c -ne 137 ] || kill -KILL $$
exit $c"#;

/// The words that run a program with this environment and nothing else in it.
pub fn words(environment: &Environment, capture_dir: Option<&str>, program: &[String]) -> Vec<String> {
    let fixed = ["/usr/bin/env", "-i"].map(str::to_owned).into_iter();
    let capture = capture_dir.map(|dir| ["/bin/sh", "-c", CAPTURE, "sh", dir].map(str::to_owned));
    let capture = capture.into_iter().flatten();
    fixed.chain(environment.assignments()).chain(capture).chain(program.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::opensandbox::shell_words;

    /// What comes of a launch with a variable of the server's in the environment.
    fn run(words: &[String]) -> std::process::Output {
        Command::new(&words[0]).args(&words[1..]).env("EXECD_ACCESS_TOKEN", "hunter2").output().unwrap()
    }

    fn launch(dir: &std::path::Path, program: &[&str]) -> std::process::Output {
        let program: Vec<_> = program.iter().map(ToString::to_string).collect();
        run(&words(&Environment::default(), dir.to_str(), &program))
    }

    #[test]
    fn a_program_finds_what_was_constructed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let output = launch(&dir.path().join("run"), &["env"]);
        let mut found: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
        found.retain(|line| !line.starts_with("SHLVL=") && !line.starts_with("_=") && !line.starts_with("PWD="));
        found.sort();
        let mut expected: Vec<_> = Environment::default().assignments().collect();
        expected.retain(|line| !line.starts_with("PWD="));
        assert_eq!(found, expected);
    }

    /// Row F49 of the cases: the stream may lose bytes, the capture does not.
    #[test]
    fn raw_output_is_captured_beside_the_stream() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        let output = launch(&run, &["sh", "-c", r"printf 'he\377\000\376lo'; printf 'warn\377' >&2; exit 7"]);
        assert_eq!((output.stdout.as_slice(), output.status.code()), (b"he\xff\0\xfelo".as_slice(), Some(7)));
        assert_eq!(std::fs::read(run.join("stdout")).unwrap(), b"he\xff\0\xfelo");
        assert_eq!(std::fs::read(run.join("stderr")).unwrap(), b"warn\xff");
    }

    #[test]
    fn a_capture_is_bounded_and_the_stream_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        let output = launch(&run, &["head", "-c", "20000000", "/dev/zero"]);
        assert_eq!((output.stdout.len(), output.status.code()), (20_000_000, Some(0)));
        assert_eq!(std::fs::metadata(run.join("stdout")).unwrap().len(), CAPTURED_BYTES);
    }

    #[test]
    fn a_killed_program_looks_killed_and_one_that_left_a_child_ends() {
        use std::os::unix::process::ExitStatusExt as _;
        let dir = tempfile::tempdir().unwrap();
        let killed = launch(&dir.path().join("a"), &["sh", "-c", "kill -KILL $$"]);
        assert_eq!(killed.status.signal(), Some(9));
        // The child ends by itself, or the test would wait for its end: it holds the output open.
        let left = launch(&dir.path().join("b"), &["sh", "-c", "sleep 1 & echo started"]);
        assert_eq!((left.stdout.as_slice(), left.status.code()), (b"started\n".as_slice(), Some(0)));
        let unwritable = launch(std::path::Path::new("/proc/none"), &["echo", "plain"]);
        assert_eq!(unwritable.stdout, b"plain\n");
    }

    /// As arguments and as the text of a shell, with a capture and without one.
    #[test]
    fn every_word_arrives_byte_for_byte() {
        let odd = ["it's", "\"", "a\nb\n", "$HOME $(id) `id`", "\\", "é中🦀", "", "-n", " * "];
        let program: Vec<_> = ["printf", r"%s\0"].into_iter().chain(odd).map(str::to_owned).collect();
        let expected: Vec<u8> = odd.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
        let mut environment = Environment::default();
        environment.declare("ODD", "$HOME 'é'\n\"");
        let dir = tempfile::tempdir().unwrap();
        for (number, is_captured) in [false, true].into_iter().enumerate() {
            let capture = is_captured.then(|| dir.path().join(number.to_string()));
            let words = words(&environment, capture.as_ref().and_then(|dir| dir.to_str()), &program);
            assert!(words.contains(&"ODD=$HOME 'é'\n\"".to_owned()));
            let text = format!("exec {}", shell_words(&words));
            let quoted = ["/bin/sh", "-c", &text].map(str::to_owned);
            for way in [words.as_slice(), &quoted] {
                assert_eq!(run(way).stdout, expected, "{way:?}");
            }
        }
    }
}

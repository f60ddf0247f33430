//! A launch is the one command line that starts a program: its environment, a capture of its raw output, its arguments.
//!
//! The stream of a sandbox server carries text, so bytes that are no text are lost on it. Unless the server keeps them, a
//! program's output therefore also goes into two files outside of the workspace, up to [`CAPTURED_BYTES`] each, which are read
//! when they are needed.

use super::environment::Environment;
use crate::opensandbox::shell_quote;

/// The kernel takes no longer argument; a shell gets the command line as one.
const MAX_COMMAND_BYTES: usize = 120 * 1024;
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

/// Why a program cannot be launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    /// How long the command line would be.
    pub bytes: usize,
}

/// The shell text that runs a program with this environment and nothing else in it.
pub fn command_line(
    environment: &Environment,
    capture_dir: Option<&str>,
    program: &[String],
) -> Result<String, TooLong> {
    let fixed = ["/usr/bin/env", "-i"].map(str::to_owned).into_iter();
    let capture = capture_dir.map(|dir| ["/bin/sh", "-c", CAPTURE, "sh", dir].map(str::to_owned));
    let capture = capture.into_iter().flatten();
    let words = fixed.chain(environment.assignments()).chain(capture).chain(program.iter().cloned());
    let line = words.fold("exec".to_owned(), |line, word| format!("{line} {}", shell_quote(&word)));
    if line.len() > MAX_COMMAND_BYTES {
        return Err(TooLong { bytes: line.len() });
    }
    Ok(line)
}

/// The longest command line, for messages.
pub const fn longest() -> usize {
    MAX_COMMAND_BYTES
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// What a shell makes of a command line that is run with these variables in its own environment.
    fn shell(line: &str, leaked: &[(&str, &str)]) -> std::process::Output {
        Command::new("/bin/sh").args(["-c", line]).envs(leaked.iter().copied()).output().unwrap()
    }

    fn launch(dir: &std::path::Path, program: &[&str]) -> std::process::Output {
        let program: Vec<_> = program.iter().map(ToString::to_string).collect();
        let line = command_line(&Environment::default(), dir.to_str(), &program).unwrap();
        shell(&line, &[("EXECD_ACCESS_TOKEN", "hunter2")])
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

    #[test]
    fn a_command_line_that_no_kernel_takes_is_refused() {
        let program = ["bash".to_owned(), "-c".to_owned(), "'".repeat(40_000)];
        assert!(command_line(&Environment::default(), None, &program).unwrap_err().bytes > MAX_COMMAND_BYTES);
    }
}

//! Arguments as shell text, for a server that takes nothing else.
//!
//! Rule: every argument stands between single quotes, inside which a shell gives nothing a meaning; a single quote
//! itself is written outside of them, behind a backslash.

/// One argument as a word of shell text.
#[must_use]
pub fn shell_quote(argument: &str) -> String {
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// Arguments as the words of a command line.
#[must_use]
pub fn shell_words<S: AsRef<str>>(arguments: &[S]) -> String {
    arguments.iter().map(|argument| shell_quote(argument.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// What a real shell makes of the arguments: each one, ended by a NUL.
    fn through_sh(arguments: &[String]) -> Vec<u8> {
        let text = format!(r"printf '%s\0' {}", shell_words(arguments));
        let output = Command::new("/bin/sh").arg("-c").arg(text).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    #[test]
    fn quotes_what_shells_give_a_meaning() {
        let arguments =
            ["", "'", "''", "a b", "$HOME", "`id`", "$(id)", "\\", "a\nb", "*", "~", "!x", "-n", "\"", "#", "ä🦀"];
        let arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
        let expected: Vec<u8> = arguments.iter().flat_map(|argument| [argument.as_bytes(), b"\0"].concat()).collect();
        assert_eq!(through_sh(&arguments), expected);
        assert_eq!(shell_words(&["it's"]), r"'it'\''s'");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_real_shell_gives_every_argument_back(arguments in prop::collection::vec("[^\0]{0,40}", 1..6)) {
            let expected: Vec<u8> =
                arguments.iter().flat_map(|argument| [argument.as_bytes(), b"\0"].concat()).collect();
            prop_assert_eq!(through_sh(&arguments), expected);
        }
    }
}

//! What an image has of what runners need, as one command in the sandbox tells.
//!
//! The command also makes the layout of the workspace and the home directory, and gives both to the profile's user.

use std::collections::BTreeSet;

use super::WORKSPACE;
use super::environment::HOME;
use super::launch::shell_quote;

/// What is looked for.
const PROGRAMS: [&str; 7] = ["env", "sh", "tee", "bash", "python3", "node", "chromium"];
const DIRECTORIES: [&str; 5] = ["inputs", "outputs", "skills", "data", ".mcp"];
const SEARCH_PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH";

/// What an image has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageFacts {
    programs: BTreeSet<String>,
    /// Number and group of the user that was asked for.
    pub user: Option<(u32, u32)>,
    /// Whether the layout could be made.
    pub has_layout: bool,
}

impl ImageFacts {
    /// Reads what the command of [`survey`] printed; None when it did not come to its end.
    pub fn parse(printed: &str) -> Option<Self> {
        let mut facts = Self::default();
        for line in printed.lines() {
            match line.split_once(' ') {
                Some(("has", program)) => drop(facts.programs.insert(program.to_owned())),
                Some(("user", ids)) => {
                    facts.user =
                        ids.split_once(' ').and_then(|(uid, gid)| Some((uid.parse().ok()?, gid.parse().ok()?)));
                }
                Some(("layout", "made")) => facts.has_layout = true,
                Some(("survey", "done")) => return Some(facts),
                Some(_) | None => {}
            }
        }
        None
    }

    /// Whether the image has this program.
    pub fn has(&self, program: &str) -> bool {
        self.programs.contains(program)
    }
}

/// The shell text that looks at an image and makes the layout.
pub fn survey(user: Option<&str>) -> String {
    let directories = DIRECTORIES.map(|name| format!("{WORKSPACE}/{name}")).join(" ");
    let look = PROGRAMS.join(" ");
    let give = user.map_or(String::new(), |user| {
        let user = shell_quote(user);
        format!(
            "u=$(id -u -- {user} 2>/dev/null) && g=$(id -g -- {user} 2>/dev/null) && echo \"user $u $g\" && \
             if [ \"$u\" != \"$(id -u)\" ]; then chown \"$u:$g\" {WORKSPACE} {directories} {HOME} || layout=; fi\n"
        )
    });
    format!(
        "{SEARCH_PATH}\numask 022; layout=made\nmkdir -p {directories} {HOME} 2>/dev/null || layout=\n{give}\
         [ -w {WORKSPACE} ] || layout=\necho \"layout $layout\"\n\
         for program in {look}; do command -v \"$program\" >/dev/null 2>&1 && echo \"has $program\"; done\n\
         echo 'survey done'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked_at_here(user: Option<&str>) -> ImageFacts {
        // The directories are those of this machine, and are none of the test's business.
        let text = survey(user).replace("mkdir -p", ": ").replace("chown", ": ");
        let output = std::process::Command::new("sh").args(["-c", &text]).output().unwrap();
        ImageFacts::parse(&String::from_utf8(output.stdout).unwrap()).unwrap()
    }

    #[test]
    fn a_survey_names_programs_and_the_user() {
        let facts = looked_at_here(Some("nobody"));
        assert!(facts.has("sh") && facts.has("env") && !facts.has("fortran77"));
        assert_eq!(facts.user.map(|(uid, _)| uid), Some(65_534));
        assert_eq!(looked_at_here(Some("nobody-of-this-name")).user, None);
        assert_eq!(looked_at_here(None).user, None);
    }

    #[test]
    fn a_survey_that_was_cut_says_nothing() {
        assert_eq!(ImageFacts::parse("has python3\nlayout made\n"), None);
        let facts = ImageFacts::parse("layout \nhas python3\nnoise\nuser 1000 1000\nsurvey done\nhas node").unwrap();
        assert_eq!((facts.has("python3"), facts.has("node"), facts.has_layout), (true, false, false));
        assert_eq!(facts.user, Some((1000, 1000)));
    }
}

//! The constructed environment: everything that a program finds in its environment is named here or was declared.
//!
//! Execd hands its own environment to every command, its access token among it. So each command begins with
//! `env -i` and names what the program gets; nothing is inherited.

use std::collections::BTreeMap;

use super::WORKSPACE;

/// The home directory of programs. It lies beside the workspace, so that caches never become artifacts.
pub const HOME: &str = "/tmp/vitrine-home";
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What every program gets.
const CONSTANT: [(&str, &str); 10] = [
    ("HOME", HOME),
    ("LANG", "C.UTF-8"),
    ("PATH", SEARCH_PATH),
    ("PWD", WORKSPACE),
    ("TMPDIR", "/tmp"),
    ("XDG_CACHE_HOME", "/tmp/vitrine-home/.cache"),
    ("XDG_CONFIG_HOME", "/tmp/vitrine-home/.config"),
    ("XDG_DATA_HOME", "/tmp/vitrine-home/.local/share"),
    ("XDG_RUNTIME_DIR", "/tmp/vitrine-home/.run"),
    ("XDG_STATE_HOME", "/tmp/vitrine-home/.local/state"),
];

/// The environment of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Default for Environment {
    fn default() -> Self {
        Self(CONSTANT.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }
}

impl Environment {
    /// Adds a variable that somebody declared. It cannot stand in for one that is constructed.
    pub fn declare(&mut self, name: &str, value: &str) {
        self.0.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }

    /// `NAME=value`, in the order of the names.
    pub(super) fn assignments(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().map(|(name, value)| format!("{name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_added_and_replaces_nothing() {
        let mut environment = Environment::default();
        environment.declare("API_KEY_FILE", "/dev/shm/x/API_KEY");
        environment.declare("HOME", "/root");
        let names: Vec<_> = environment.assignments().map(|one| one.split_once('=').unwrap().0.to_owned()).collect();
        assert_eq!(names[0], "API_KEY_FILE");
        assert_eq!(names.len(), CONSTANT.len() + 1);
        assert!(environment.assignments().any(|one| one == "HOME=/tmp/vitrine-home"));
    }
}

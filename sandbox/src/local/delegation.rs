//! A Delegation is a group of version 2 from which the runtime hands controllers on to the groups of its sandboxes.
//!
//! Rule: the kernel hands them on only from a group that no process is in. So the runtime steps aside, into a group beside
//! those of its sandboxes, and takes the process along that started it. It moves nobody else, and where that is not
//! enough it says why.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::cgroup::{members, write};

/// How the name of a group ends into which a runtime stepped, and how it begins.
const ASIDE: (&str, &str) = ("vitrine-", "-runtime");

/// The processes that may be moved.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    pub own: Pid,
    /// The process that started this one and that this one ends with.
    pub starter: Option<Pid>,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Delegation {
    /// Where the groups of sandboxes are made.
    pub base: PathBuf,
    /// Whether they can bound the share of the processor.
    pub has_cpu: bool,
}

impl Delegation {
    /// Makes `name` ready below the group that this process is in, or was in before a runtime stepped aside.
    pub fn prepare(own_group: &Path, name: &str, family: Family) -> Result<Self, &'static str> {
        let parent = ground_of(own_group);
        let available = fs::read_to_string(parent.join("cgroup.controllers"));
        let available = available.map_err(|_| "there is no group of version 2 here")?;
        let has = |wanted: &str| available.split_whitespace().any(|controller| controller == wanted);
        if !(has("memory") && has("pids")) {
            return Err("the controllers memory and pids are not handed to the group of this process");
        }
        let wanted = if has("cpu") { "+memory +pids +cpu" } else { "+memory +pids" };
        remove_deserted(parent);
        let handed = match hand_on(parent, wanted) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                step_aside(parent, name, family)?;
                hand_on(parent, wanted)
            }
            handed => handed,
        };
        handed.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "the group of this process may not be changed by this user"
            }
            _ => "the kernel hands no controllers on from the group of this process",
        })?;
        let base = parent.join(name);
        let made = fs::create_dir_all(&base).and_then(|()| hand_on(&base, wanted));
        made.map_err(|_| "no group can be made below the group of this process")?;
        Ok(Self { base, has_cpu: has("cpu") })
    }
}

/// The group that hands controllers on, seen from where a process is. One that was started again is aside already.
fn ground_of(own_group: &Path) -> &Path {
    own_group.parent().filter(|_| is_aside(own_group)).unwrap_or(own_group)
}

fn is_aside(group: &Path) -> bool {
    let name = group.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix(ASIDE.0).is_some_and(|rest| rest.ends_with(ASIDE.1))
}

/// Nobody can leave the group that it is in and remove it; whoever comes next does. The kernel keeps one that is in use.
fn remove_deserted(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let group = entry.path();
        if is_aside(&group) {
            let _ = fs::remove_dir(group);
        }
    }
}

fn step_aside(parent: &Path, name: &str, family: Family) -> Result<(), &'static str> {
    let inside = members(parent);
    if inside.iter().any(|pid| *pid != family.own && Some(*pid) != family.starter) {
        return Err("other processes are in the same group as this one");
    }
    let aside = parent.join(format!("{name}{}", ASIDE.1));
    let moved = fs::create_dir_all(&aside).and_then(|()| {
        let mut inside = inside.iter();
        inside.try_for_each(|pid| write(&aside, "cgroup.procs", &pid.as_raw_nonzero().to_string()))
    });
    moved.map_err(|_| "this process cannot be moved into a group of its own")
}

fn hand_on(group: &Path, controllers: &str) -> io::Result<()> {
    write(group, "cgroup.subtree_control", controllers)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rustix::process::Pid;
    use tempfile::TempDir;

    use super::{Delegation, Family, step_aside};

    const NAME: &str = "vitrine-0123";

    fn pid(raw: i32) -> Pid {
        Pid::from_raw(raw).unwrap()
    }

    fn family() -> Family {
        Family { own: pid(20), starter: Some(pid(10)) }
    }

    /// A tree that looks like the kernel's, with what the kernel would make in a new group.
    fn tree(members: &str) -> TempDir {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, content: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write("cgroup.controllers", "cpuset cpu io memory pids\n");
        write("cgroup.procs", members);
        write("cgroup.subtree_control", "");
        write(&format!("{NAME}/cgroup.subtree_control"), "");
        write(&format!("{NAME}-runtime/cgroup.procs"), "");
        tree
    }

    fn read(tree: &TempDir, path: &str) -> String {
        fs::read_to_string(tree.path().join(path)).unwrap()
    }

    #[test]
    fn hands_on_what_there_is() {
        let tree = tree("");
        let ready = Delegation { base: tree.path().join(NAME), has_cpu: true };
        assert_eq!(Delegation::prepare(tree.path(), NAME, family()), Ok(ready));
        for group in ["cgroup.subtree_control", "vitrine-0123/cgroup.subtree_control"] {
            assert_eq!(read(&tree, group), "+memory +pids +cpu");
        }
        fs::write(tree.path().join("cgroup.controllers"), "memory pids").unwrap();
        assert!(!Delegation::prepare(tree.path(), NAME, family()).unwrap().has_cpu);
        fs::write(tree.path().join("cgroup.controllers"), "cpu io").unwrap();
        assert!(Delegation::prepare(tree.path(), NAME, family()).unwrap_err().contains("controllers memory and pids"));
        assert!(Delegation::prepare(Path::new("/nowhere"), NAME, family()).unwrap_err().contains("no group"));
    }

    /// A runtime that is started again is born where its starter has stepped to.
    #[test]
    fn finds_the_ground_again_from_aside() {
        let tree = tree("");
        let aside = tree.path().join(format!("{NAME}-runtime"));
        assert_eq!(Delegation::prepare(&aside, NAME, family()).unwrap().base, tree.path().join(NAME));
    }

    #[test]
    fn moves_itself_and_who_started_it_and_nobody_else() {
        let aside = "vitrine-0123-runtime/cgroup.procs";
        for (inside, last) in [("10\n20\n", "20"), ("20\n", "20"), ("10\n", "10")] {
            let tree = tree(inside);
            assert_eq!(step_aside(tree.path(), NAME, family()), Ok(()));
            assert_eq!(read(&tree, aside), last);
        }
        let tree = tree("10\n20\n30\n");
        assert!(step_aside(tree.path(), NAME, family()).unwrap_err().contains("other processes"));
        let alone = Family { starter: None, ..family() };
        assert!(step_aside(tree.path(), NAME, alone).unwrap_err().contains("other processes"));
        assert_eq!(read(&tree, aside), "");
    }

    #[test]
    fn removes_what_others_have_left_aside() {
        let tree = tree("");
        for group in ["vitrine-4567-runtime", "vitrine-4567", "other-runtime"] {
            fs::create_dir(tree.path().join(group)).unwrap();
        }
        Delegation::prepare(tree.path(), NAME, family()).unwrap();
        let is_there = |group: &str| tree.path().join(group).exists();
        assert!(!is_there("vitrine-4567-runtime"));
        assert!(is_there("vitrine-4567") && is_there("other-runtime") && is_there("vitrine-0123-runtime"));
    }
}

//! The catalogue of images: an image of the local runtime is a read-only list of host paths.
//!
//! Rule: a name that is not in the catalogue is refused; nothing is ever pulled.

use std::path::Path;

/// One step in the construction of an image's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mount {
    ReadOnly(&'static str),
    Symlink { target: String, path: &'static str },
}

/// The image with an interpreter for each language of the runners.
const CODE: &str = "vitrine/code";

/// Directories whose place in the root is a link on merged systems and a directory on others.
const MERGED: [&str; 5] = ["/bin", "/sbin", "/lib", "/lib64", "/lib32"];

/// What programs look up in `/etc` and what says nothing about the host's users.
const ETC: [&str; 10] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ssl/certs",
    "/etc/ca-certificates",
    "/etc/pki/tls/certs",
    "/etc/alternatives",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/fonts",
];

/// The mounts of an image, or `None` for a name that is not in the catalogue. A tag is allowed and ignored.
pub fn resolve(image: &str) -> Option<Vec<Mount>> {
    let name = image.split_once(':').map_or(image, |(name, _)| name);
    (name == CODE).then(code)
}

/// The names in the catalogue, for messages.
pub fn names() -> &'static str {
    CODE
}

fn code() -> Vec<Mount> {
    let mut mounts = vec![Mount::ReadOnly("/usr")];
    for path in MERGED {
        match std::fs::read_link(path) {
            Ok(target) => mounts.push(Mount::Symlink { target: target.to_string_lossy().into_owned(), path }),
            Err(_) if Path::new(path).is_dir() => mounts.push(Mount::ReadOnly(path)),
            Err(_) => {}
        }
    }
    mounts.extend(ETC.into_iter().filter(|path| Path::new(path).exists()).map(Mount::ReadOnly));
    mounts
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn knows_its_images_and_no_others() {
        assert!(resolve("vitrine/code").is_some());
        assert!(resolve("vitrine/code:latest").is_some());
        for unknown in ["vitrine/codex", "python:3.12", "", "registry/vitrine/code"] {
            assert!(resolve(unknown).is_none(), "{unknown}");
        }
    }
}

//! The catalogue of images: an image of the local runtime is a read-only list of host paths.
//!
//! Rule: a name that is not in the catalogue is refused, and so is one whose programs this host does not have; nothing
//! is ever pulled. A root file system that somebody names in the configuration would be one more [`Mount`].

use std::path::Path;

/// One step in the construction of an image's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mount {
    ReadOnly(&'static str),
    Symlink { target: String, path: &'static str },
}

/// The image with an interpreter for each language of the runners.
pub const CODE: &str = "vitrine/code";
/// The same with Chromium and its fonts.
pub const BROWSER: &str = "vitrine/browser";
/// Where distributions put Chromium.
const CHROMIUM: [&str; 2] = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
/// What its launcher and its library of fonts read.
const BROWSER_ETC: [&str; 3] = ["/etc/chromium", "/etc/chromium.d", "/etc/chromium-browser"];

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

/// The mounts of an image, or why there is no such image here. A tag is allowed and ignored.
pub fn resolve(image: &str) -> Result<Vec<Mount>, String> {
    match image.split_once(':').map_or(image, |(name, _)| name) {
        CODE => Ok(code()),
        BROWSER if has_chromium() => Ok(browser()),
        BROWSER => Err(format!(
            "image {image:?} needs Chromium on this host: as root, run apt-get install chromium fonts-liberation"
        )),
        _ => Err(format!("image {image:?} is not in the local catalogue, which has {CODE} and {BROWSER}")),
    }
}

fn has_chromium() -> bool {
    CHROMIUM.iter().any(|path| Path::new(path).exists())
}

fn browser() -> Vec<Mount> {
    let mut mounts = code();
    mounts.extend(BROWSER_ETC.into_iter().filter(|path| Path::new(path).exists()).map(Mount::ReadOnly));
    mounts
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
        assert!(resolve("vitrine/code").is_ok());
        assert!(resolve("vitrine/code:latest").is_ok());
        for unknown in ["vitrine/codex", "python:3.12", "", "registry/vitrine/code"] {
            assert!(resolve(unknown).unwrap_err().contains("vitrine/code and vitrine/browser"), "{unknown}");
        }
    }
}

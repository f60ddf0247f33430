//! An image name is what a container registry takes for one: `[registry[:port]/]path[:tag][@digest]`.
//!
//! Rule: a name that no registry and no catalogue can have is no name. Whether there is such an image, only the server knows.

const MAX_BYTES: usize = 255;
const MAX_TAG_BYTES: usize = 128;

pub(super) fn is_image_name(text: &str) -> bool {
    let (name, digest) = text.split_once('@').map_or((text, None), |(name, digest)| (name, Some(digest)));
    // A colon before the last slash belongs to the registry's port.
    let tag_at = name.rfind(':').filter(|colon| name.rfind('/').is_none_or(|slash| slash < *colon));
    let (path, tag) = tag_at.map_or((name, None), |colon| (&name[..colon], Some(&name[colon + 1..])));
    let (registry, path) = match path.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (Some(first), rest),
        _ => (None, path),
    };
    text.len() <= MAX_BYTES
        && path.split('/').all(is_component)
        && registry.is_none_or(is_registry)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest)
}

/// Lower-case letters and digits, with single separators between them.
fn is_component(text: &str) -> bool {
    let is_edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(is_edge)
        && bytes.last().is_some_and(is_edge)
        && bytes.iter().all(|byte| is_edge(byte) || b"._-".contains(byte))
        && !text.contains("..")
}

fn is_registry(text: &str) -> bool {
    let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    host.split('.').all(|label| {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(is_inner)
    }) && port.is_none_or(|port| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= MAX_TAG_BYTES
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_registry_can_have_is_a_name() {
        let digest = format!("code@sha256:{}", "0a".repeat(32));
        for good in [
            "vitrine/code",
            "python:3.12-slim",
            "Registry.example/team/code:V1",
            "registry.example:5000/a/b_c/d-e.f:1.2",
            "localhost/code",
            "localhost:5000/code",
            &digest,
        ] {
            assert!(is_image_name(good), "{good}");
        }
    }

    #[test]
    fn what_no_registry_can_have_is_none() {
        let (long, long_tag) = ("a".repeat(256), format!("code:{}", "1".repeat(129)));
        for bad in [
            "",
            " ",
            " vitrine/code",
            "vitrine /code",
            "vitrine/code\n",
            "vitrine/\u{0}code",
            "Vitrine/code",
            "registry.example/Team/code",
            "registry.example:99999/code",
            "registry.example:/code",
            "https://registry.example/code",
            "vitrine//code",
            "/code",
            "code/",
            "code:",
            "code:a b",
            "code:-1",
            "../code",
            "a..b/code",
            "code@sha256:0a",
            "code@",
            "c\u{f6}de",
            "$(id)",
            &long,
            &long_tag,
        ] {
            assert!(!is_image_name(bad), "{bad:?}");
        }
    }
}

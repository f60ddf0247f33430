//! The rules for metadata, which are those of Kubernetes labels.

use std::collections::BTreeMap;

const RESERVED_PREFIX: &str = "opensandbox.io/";

/// Checks keys and values; the message names the first that breaks a rule.
pub fn check(metadata: &BTreeMap<String, String>) -> Result<(), String> {
    for (key, value) in metadata {
        check_key(key)?;
        if !value.is_empty() && !is_name(value) {
            return Err(format!("metadata value of {key:?} is not a label value"));
        }
    }
    Ok(())
}

pub fn check_key(key: &str) -> Result<(), String> {
    if key.starts_with(RESERVED_PREFIX) {
        return Err(format!("metadata key {key:?} has the reserved prefix {RESERVED_PREFIX}"));
    }
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_prefix = |prefix: &str| {
        prefix.len() <= 253
            && !prefix.contains('_')
            && prefix.split('.').all(is_name)
            && prefix == prefix.to_lowercase()
    };
    if prefix.is_none_or(is_prefix) && is_name(name) {
        Ok(())
    } else {
        Err(format!("metadata key {key:?} is not a label key"))
    }
}

fn is_name(text: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && is_edge(text.chars().next())
        && is_edge(text.chars().last())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn keeps_the_rules_of_labels() {
        let long = "a".repeat(64);
        for (key, value, is_allowed) in [
            ("a", "b", true),
            ("example.com/a_b.c", "", true),
            ("a", "two words", false),
            ("opensandbox.io/x", "b", false),
            ("", "b", false),
            ("-a", "b", false),
            ("a/b/c", "b", false),
            (&long, "b", false),
            ("a", &long, false),
        ] {
            assert_eq!(check(&[(key.to_owned(), value.to_owned())].into()).is_ok(), is_allowed, "{key} {value}");
        }
    }
}

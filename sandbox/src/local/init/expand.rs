//! Expansion of `~` and variables in paths that came over the API.

use std::collections::BTreeMap;

use crate::local::bwrap_args::{HOME, WORKSPACE};
use crate::local::protocol::{Failure, FailureKind};

/// Expands a path with the sandbox's own environment; a relative path starts in the workspace.
pub fn path(text: &str) -> Result<String, Failure> {
    path_with(text, &BTreeMap::new())
}

/// The same, with declared variables in front of the sandbox's own.
pub fn path_with(text: &str, declared: &BTreeMap<String, String>) -> Result<String, Failure> {
    if text.is_empty() || text.contains('\0') {
        return Err(invalid("a path must not be empty or hold NUL"));
    }
    let expanded = variables(text, declared)?;
    Ok(match expanded.strip_prefix('~') {
        Some("") => HOME.to_owned(),
        Some(rest) if rest.starts_with('/') => format!("{HOME}{rest}"),
        _ if expanded.starts_with('/') => expanded,
        _ => format!("{WORKSPACE}/{expanded}"),
    })
}

fn variables(text: &str, declared: &BTreeMap<String, String>) -> Result<String, Failure> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let (name, remainder) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, remainder)) => (name, remainder),
            None => after.split_at(after.find(|c: char| !is_name(c)).unwrap_or(after.len())),
        };
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_name) {
            expanded.push('$');
            rest = after;
            continue;
        }
        let value = declared.get(name).cloned().or_else(|| own_variable(name));
        expanded.push_str(&value.ok_or_else(|| invalid(&format!("undefined variable {name} in a path")))?);
        rest = remainder;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn own_variable(name: &str) -> Option<String> {
    std::env::vars().find(|(own, _)| own == name).map(|(_, value)| value)
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

fn invalid(message: &str) -> Failure {
    Failure { kind: FailureKind::Other, message: message.to_owned() }
}

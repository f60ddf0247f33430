//! A scan of the text before it is parsed: it counts tokens and the nesting of brackets.
//!
//! The parser descends once per bracket and would end the process on a text of a few thousand opening ones, so the
//! nesting is bounded here. The scan errs only towards more: what it takes for brackets in broken text, the parser
//! refuses anyway.

use super::limits::{GateLimits, at_most};
use crate::http::fault::{Code, Fault};

/// Refuses a text that is too long, has too many tokens, or nests too deep.
pub(super) fn scan(text: &str, limits: &GateLimits) -> Result<(), Fault> {
    at_most(text.len(), limits.document_bytes, "bytes")?;
    let mut rest = text.as_bytes();
    let (mut tokens, mut depth, mut deepest) = (0_usize, 0_usize, 0_usize);
    while let Some(&byte) = rest.first() {
        let length = match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b',' => {
                rest = &rest[1..];
                continue;
            }
            b'#' => {
                rest = &rest[comment(rest)..];
                continue;
            }
            b'"' => string(rest)?,
            byte if is_word(byte) => rest.iter().take_while(|byte| is_word(**byte)).count(),
            b'.' => rest.iter().take(3).take_while(|byte| **byte == b'.').count(),
            _ => 1,
        };
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        tokens += 1;
        rest = &rest[length..];
    }
    at_most(tokens, limits.tokens, "tokens")?;
    at_most(deepest, limits.bracket_depth, "levels of brackets")
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn comment(rest: &[u8]) -> usize {
    rest.iter().take_while(|byte| !matches!(byte, b'\n' | b'\r')).count()
}

/// The length of the string at the start. An unclosed one is refused here, since a parser may read it otherwise and
/// then see brackets where this scan saw text.
fn string(rest: &[u8]) -> Result<usize, Fault> {
    let closed = if rest.starts_with(b"\"\"\"") { block_string(rest) } else { plain_string(rest) };
    closed.ok_or_else(|| Fault::new(Code::ParseFailed, "Syntax error: a string is not closed."))
}

fn block_string(rest: &[u8]) -> Option<usize> {
    let mut at = 3;
    loop {
        let tail = rest.get(at..)?;
        if tail.starts_with(b"\"\"\"") {
            return Some(at + 3);
        }
        at += if tail.starts_with(b"\\\"\"\"") { 4 } else { 1 };
    }
}

fn plain_string(rest: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match rest.get(at)? {
            b'"' => return Some(at + 1),
            b'\n' | b'\r' => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

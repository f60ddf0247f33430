//! Makes upstream text fit for people: bounded, on one line, without secrets.

const MAX_CHARS: usize = 500;
const REDACTED: &str = "[redacted]";
/// How well-known providers' tokens begin.
const TOKEN_PREFIXES: &[&str] = &["sk-", "sk_", "pk-", "gsk_", "hf_", "ghp_", "xai-", "AIza", "eyJ"];

/// Takes `key`, anything that looks like a token, control characters and the tail away.
pub(super) fn redact(text: &str, key: Option<&str>) -> String {
    let without_key = match key.map(str::trim) {
        Some(key) if key.len() >= 4 => text.replace(key, REDACTED),
        _ => text.to_owned(),
    };
    bound(&without_tokens(&without_key))
}

fn without_tokens(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut follows_bearer = false;
    for piece in text.split_inclusive(|c: char| !is_token_char(c)) {
        let word = piece.trim_end_matches(|c: char| !is_token_char(c));
        let rest = &piece[word.len()..];
        let is_token = word.len() >= 8 && TOKEN_PREFIXES.iter().any(|prefix| word.starts_with(prefix));
        if is_token || (follows_bearer && !word.is_empty()) {
            kept.push_str(REDACTED);
        } else {
            kept.push_str(word);
        }
        kept.push_str(rest);
        follows_bearer = if word.is_empty() { follows_bearer } else { word.eq_ignore_ascii_case("bearer") };
    }
    kept
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | '+' | '/' | '=' | '*')
}

fn bound(text: &str) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.chars().count() > MAX_CHARS {
        line = line.chars().take(MAX_CHARS - 1).collect();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_and_anything_like_a_token_go() {
        let text = "bad key my-secret-key; Authorization: Bearer abc.def, tried sk-proj-12345678 and sk-ab***wxyz";
        let clean = redact(text, Some("my-secret-key"));
        assert_eq!(clean, "bad key [redacted]; Authorization: Bearer [redacted], tried [redacted] and [redacted]");
    }

    #[test]
    fn plain_words_stay_and_lines_become_one() {
        assert_eq!(redact("a task\n\t is\u{7} sk-  over", None), "a task is sk- over");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        let clean = redact(&"é".repeat(2000), None);
        assert_eq!(clean.chars().count(), MAX_CHARS);
        assert!(clean.ends_with('…'));
    }
}

//! What of an error's text is compared. The same failure often comes with another time of day or request id; those are
//! left out, unless the call itself named them: a failure about another id is another failure.

/// The text with times, durations and ids that do not occur in the arguments replaced by a mark.
pub(super) fn comparable(text: &str, arguments: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        kept.push_str(&rest[..start]);
        rest = &rest[start..];
        let length = word_length(rest);
        let (word, behind) = rest.split_at(length);
        let is_noise = is_noise(word) || is_number(word) && is_milliseconds(behind);
        kept.push_str(if is_noise && !arguments.contains(word) { "#" } else { word });
        rest = behind;
    }
    kept.push_str(rest);
    kept
}

/// Letters and digits, and the points, colons and dashes between them.
fn word_length(text: &str) -> usize {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '+');
    let length = text.find(|c| !is_inner(c)).unwrap_or(text.len());
    text[..length].trim_end_matches(['.', ':', '-', '+']).len()
}

fn is_noise(word: &str) -> bool {
    is_time(word) || is_date(word) || is_duration(word) || is_id(word)
}

/// Holds hours, minutes and seconds, as in `12:01:33` and `2026-01-31T12:01:33.5Z`.
fn is_time(word: &str) -> bool {
    has_shape(word, b"00:00:00")
}

/// Holds a date, as in `2026-01-31`.
fn is_date(word: &str) -> bool {
    has_shape(word, b"0000-00-00")
}

/// Whether a part of the word has this shape; a 0 stands for any digit.
fn has_shape(word: &str, shape: &[u8]) -> bool {
    word.as_bytes().windows(shape.len()).any(|part| {
        part.iter()
            .zip(shape)
            .all(|(byte, wanted)| if *wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted })
    })
}

/// `1532ms`, `0.25s`: measured. Whole seconds are more often a limit that somebody set.
fn is_duration(word: &str) -> bool {
    word.strip_suffix("ms").is_some_and(is_number)
        || word.strip_suffix('s').is_some_and(|number| is_number(number) && number.contains('.'))
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn is_milliseconds(behind: &str) -> bool {
    behind.strip_prefix(" ms").is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// A number of six digits or more, or letters with at least three digits in eight characters or more.
fn is_id(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_plain && (letters == 0 && digits >= 6 || digits >= 3 && digits + letters >= 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_equal(one: &str, other: &str) -> bool {
        comparable(one, "{}") == comparable(other, "{}")
    }

    #[test]
    fn times_durations_and_ids_do_not_count() {
        for (one, other) in [
            ("timeout at 2026-01-31T12:01:33.5Z", "timeout at 2026-02-01T09:00:00Z"),
            ("[12:01:33] refused", "[12:01:34] refused"),
            ("gave up after 1532ms.", "gave up after 98ms."),
            ("gave up after 1532 ms", "gave up after 98 ms"),
            ("took 0.25s", "took 11.5s"),
            ("request 01HZX3K9PQ failed", "request 01J0000A7B failed"),
            ("trace 6f1c9d2e-0b7a-4c55-9d1e-2a6f0c7b8e90", "trace 0b1c9d2e-1b7a-4c55-9d1e-2a6f0c7b8e91"),
            ("offset 1234567", "offset 7654321"),
        ] {
            assert!(are_equal(one, other), "{one}");
        }
    }

    #[test]
    fn what_says_something_else_counts() {
        for (one, other) in [
            ("status 404", "status 500"),
            ("error E0308", "error E0412"),
            ("src/a.rs:10:5: expected", "src/a.rs:12:5: expected"),
            ("timed out after 30s", "timed out after 60s"),
            ("connect to 10.0.0.1:5432", "connect to 10.0.0.2:5432"),
            ("exit code 1", "exit code 2"),
            ("no é", "no è"),
        ] {
            assert!(!are_equal(one, other), "{one}");
        }
    }

    #[test]
    fn an_id_that_the_call_named_counts() {
        let of = |id: &str| comparable(&format!("no user {id}"), &format!(r#"{{"id":{id}}}"#));
        assert_ne!(of("9007199254740992"), of("9007199254740993"));
    }
}

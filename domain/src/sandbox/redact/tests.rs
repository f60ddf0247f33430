use std::sync::Arc;

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};
use proptest::prelude::*;

use super::*;

const SECRET: &str = "s3cr3t/+ \"k\\y\" ü€😀 ~?";

fn redactor(secret: &str) -> Redactor {
    let mut redactor = Redactor::default();
    redactor.add("TOKEN", secret);
    redactor
}

fn in_pieces(redactor: &Redactor, text: &str, cuts: &[usize]) -> String {
    let mut stream = RedactedStream::new(Arc::new(redactor.clone()));
    let (mut clean, mut rest) = (String::new(), text);
    for cut in cuts {
        let at = rest.floor_char_boundary(*cut);
        let (piece, behind) = rest.split_at(at);
        clean.push_str(&stream.push(piece));
        rest = behind;
    }
    clean.push_str(&stream.push(rest));
    clean.push_str(&stream.finish());
    clean
}

/// The secret as a program may print it.
fn spelled(secret: &str, way: usize, before: &str) -> String {
    let component = |text: &str| -> String {
        text.bytes()
            .map(
                |byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") },
            )
            .collect()
    };
    let base64 = BASE64.encode(format!("{before}{secret}and more").as_bytes());
    match way {
        0 => secret.to_owned(),
        1 => url::form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
        2 => component(secret),
        3 => secret
            .bytes()
            .map(|byte| if byte.is_ascii_lowercase() { char::from(byte).to_string() } else { format!("%{byte:02x}") })
            .collect(),
        4 => {
            let quoted = serde_json::to_string(secret).unwrap();
            quoted[1..quoted.len() - 1].to_owned()
        }
        5 => secret.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect(),
        6 => base64,
        7 => BASE64URL_NOPAD.encode(format!("{before}{secret}").as_bytes()),
        8 => base64.as_bytes().chunks(7).map(|line| String::from_utf8_lossy(line).into_owned() + "\n").collect(),
        9 => base64.as_bytes().chunks(7).map(|line| format!(" \n  \t{}", String::from_utf8_lossy(line))).collect(),
        11 => HEXLOWER.encode(secret.as_bytes()),
        10 => HEXUPPER.encode(secret.as_bytes()),
        _ => component(&base64),
    }
}
const WAYS: usize = 13;

/// Whether somebody who reads the text can say the secret.
fn tells(text: &str, secret: &str) -> bool {
    let flat: String = text.lines().map(str::trim).collect();
    let decoded: String = url::form_urlencoded::parse(format!("a={flat}").as_bytes()).map(|(_, value)| value).collect();
    let hex = HEXLOWER.encode(secret.as_bytes());
    let core = |before: usize| {
        let encoded = BASE64.encode(format!("{}{secret}", "x".repeat(before)).as_bytes());
        encoded.trim_end_matches('=').get(4..).unwrap_or_default().chars().rev().skip(3).collect::<Vec<_>>()
    };
    let is_base64 = (0..3).any(|before| {
        let core: String = core(before).into_iter().rev().collect();
        let ordinary = flat.replace('-', "+").replace('_', "/").replace("%2B", "+").replace("%2F", "/");
        core.len() > 6 && ordinary.contains(&core)
    });
    let json = serde_json::from_str::<String>(&format!("\"{flat}\"")).unwrap_or_default();
    flat.contains(secret)
        || decoded.contains(secret)
        || json.contains(secret)
        || flat.to_ascii_lowercase().contains(&hex)
        || is_base64
}

#[test]
fn every_spelling_is_found_at_every_cut() {
    let redactor = redactor(SECRET);
    for way in 0..WAYS {
        for before in ["", "a", "ab"] {
            let text = format!("before {} after", spelled(SECRET, way, before));
            assert!(tells(&text, SECRET), "the test can read way {way}");
            for cut in 0..text.len() {
                let clean = in_pieces(&redactor, &text, &[cut]);
                assert!(!tells(&clean, SECRET) && clean.contains("[redacted: TOKEN]"), "way {way} cut {cut}: {clean}");
                assert!(clean.starts_with("before ") && clean.ends_with(" after"), "{clean}");
            }
            let bytes: Vec<usize> = vec![1; text.len()];
            assert_eq!(in_pieces(&redactor, &text, &bytes), redactor.text(&text));
        }
    }
}

#[test]
fn a_secret_that_ends_in_a_quote_is_found_in_json() {
    let secret = "aaA€ßaä\"";
    let clean = in_pieces(&redactor(secret), &spelled(secret, 4, ""), &[]);
    assert_eq!(clean, "[redacted: TOKEN]");
}

#[test]
fn a_secret_is_found_without_the_line_end_that_it_was_stored_with() {
    let redactor = redactor(" hunter2-hunter2\r\n");
    assert_eq!(redactor.text("[hunter2-hunter2]"), "[[redacted: TOKEN]]");
    assert_eq!(redactor.text(&BASE64.encode(b" hunter2-hunter2\r\n")).matches("redacted").count(), 1);
    assert!(self::redactor(" \n").is_empty());
}

#[test]
fn only_what_may_be_a_secret_is_held_back() {
    let mut stream = RedactedStream::new(Arc::new(redactor("hunter2-hunter2")));
    assert_eq!(stream.push("a line\n"), "a line\n");
    assert_eq!(stream.push("hunt"), "");
    assert_eq!(stream.push("ing\n"), "hunting\n");
    assert_eq!(stream.push("hunter2-hunter2"), "[redacted: TOKEN]");
    assert_eq!(stream.push("hu"), "");
    assert_eq!(stream.finish(), "hu");
}

#[test]
fn most_of_a_secret_is_hidden_when_the_end_cuts_it() {
    let redactor = redactor("hunter2-hunter2");
    assert_eq!(in_pieces(&redactor, "the key: hunter2-hun", &[]), "the key: [redacted: TOKEN]");
    assert_eq!(in_pieces(&redactor, "the key: hunter", &[]), "the key: hunter");
}

#[test]
fn a_part_of_a_file_tells_nothing_across_its_edges() {
    let redactor = redactor("hunter2-hunter2");
    let file = b"0123456789hunter2-hunter2 and more";
    assert_eq!(redactor.part(file, 0..15), b"0123456789[redacted: TOKEN]");
    assert_eq!(redactor.part(file, 20..29), b"[redacted: TOKEN] and");
    assert_eq!(redactor.part(file, 2..5), b"234");
    assert_eq!(redactor.part(file, 30..99), b"more");
    assert_eq!(redactor.part(file, 99..199), b"");
}

#[test]
fn one_secret_may_begin_with_another() {
    let mut redactor = redactor("hunter2-hunter2");
    redactor.add("LONG", "hunter2-hunter2-and-more");
    for cut in 0..26 {
        assert_eq!(in_pieces(&redactor, " hunter2-hunter2-and-more.", &[cut]), " [redacted: LONG].");
        assert_eq!(in_pieces(&redactor, " hunter2-hunter2-and-less.", &[cut]), " [redacted: TOKEN]-and-less.");
    }
}

/// A host is told in lower case, however a program wrote it.
#[test]
fn a_secret_is_found_in_the_name_of_a_host() {
    let found = redactor("NETsecret-q8W7e6");
    assert_eq!(found.text("netsecret-q8w7e6.evil.test"), "[redacted: TOKEN].evil.test");
    assert_eq!(redactor("Tür-Öl-9876").text("x TÜR-öL-9876 y"), "x [redacted: TOKEN] y");
}

#[test]
fn debug_shows_no_secret() {
    assert!(!format!("{:?}", redactor(SECRET)).contains("s3cr3t"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_secret_never_comes_out_however_it_is_written_and_cut(
        secret in "[ -~äß€😀]{8,40}",
        before in "[ -~\n]{0,20}",
        prefix in "[a-z]{0,2}",
        behind in "[ -~\n]{0,20}",
        way in 0..WAYS,
        cuts in prop::collection::vec(0..9_usize, 0..40),
    ) {
        let text = format!("{before}\n{}\n{behind}", spelled(&secret, way, &prefix));
        let clean = in_pieces(&redactor(&secret), &text, &cuts);
        prop_assert!(!tells(&clean, &secret), "{clean:?}");
        prop_assert!(clean.contains("[redacted: TOKEN]"), "{clean:?}");
    }

    #[test]
    fn what_holds_no_secret_comes_out_as_it_was(
        secret in "[!-~]{8,40}",
        text in "[ -~äß€😀\n\r]{0,200}",
        cuts in prop::collection::vec(0..9_usize, 0..60),
    ) {
        prop_assume!(!tells(&text, &secret) && !redactor(&secret).is_in(text.as_bytes()));
        prop_assert_eq!(in_pieces(&redactor(&secret), &text, &cuts), text);
    }
}

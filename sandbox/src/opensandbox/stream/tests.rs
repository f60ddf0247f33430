use proptest::prelude::*;

use super::event::{Event, EventDecoder, OutputStream};

const OK: &str = concat!(
    r#"{"type":"init","text":"c1","timestamp":1}"#,
    "\n\n",
    r#"{"type":"stdout","text":"hi","timestamp":2}"#,
    "\n\n",
    r#"{"type":"ping","text":"pong","timestamp":3}"#,
    "\n\n",
    r#"{"type":"future_kind","text":"?"}"#,
    "\n\n",
    r#"{"type":"stderr","text":"warn","timestamp":4}"#,
    "\n\n",
    r#"{"type":"execution_complete","execution_time":5,"timestamp":6}"#,
    "\n\n",
);
const DATA: &str =
    "data: {\"type\":\"stdout\",\"text\":\"hi\"}\n\ndata: {\"type\":\"execution_complete\",\"execution_time\":5}\n\n";
const EXIT7: &str = concat!(
    r#"{"type":"init","text":"c1"}"#,
    "\n\n",
    r#"{"type":"stdout","text":"partial"}"#,
    "\n\n",
    r#"{"type":"error","error":{"ename":"CommandExecError","evalue":"7","traceback":["exit status 7"]}}"#,
    "\n\n",
);
const START_FAILURE: &str = concat!(
    r#"{"type":"init","text":"c1"}"#,
    "\n\n",
    r#"{"type":"error","error":{"ename":"CommandExecError","evalue":"fork/exec /bin/sh: no such file or directory","traceback":null}}"#,
    "\n\n",
);
const KILLED: &str = r#"{"type":"error","error":{"ename":"CommandExecError","evalue":"-1","traceback":["signal: killed"]}}

"#;
const CUT: &str = "{\"type\":\"stdout\",\"text\":\"working\"}\n\n";
const MIXED: &str = concat!(
    "\u{feff}: a comment\r\nevent: message\r\nid: 1\r\nretry: 5\r\n",
    "data:{\"type\":\"init\",\r\ndata: \"text\":\"c\u{2028}1\"}\r\n\r\n",
    "{\"type\":\"stdout\",\"text\":\"\u{85}a\u{2029}ä🦀\\u2028\\n\"}\r\r",
    "data\ndata\n\n\n\n",
    "{\"type\":\"stdout\",\"text\":\"\",\"new\":{\"deep\":[1]}}\n",
    "not a field\n",
    "{broken\n\n",
    "{\"code\":\"RUNTIME_ERROR\",\"message\":\"late\"}",
);

fn whole(text: &str) -> Vec<Event> {
    pieces([text.as_bytes()])
}

fn pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut decoder = EventDecoder::new(4096);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events).unwrap();
    }
    decoder.finish(&mut events).unwrap();
    events
}

fn out(stream: OutputStream, text: &str) -> Event {
    Event::Output { stream, text: text.into() }
}

fn init(id: &str) -> Event {
    Event::Init { id: id.into() }
}

fn failed(value: &str) -> Event {
    Event::Failed { value: value.into() }
}

fn unknown(kind: &str) -> Event {
    Event::Unknown { kind: Some(kind.into()) }
}

const DONE: Event = Event::Complete { execution_time_ms: Some(5) };

fn fixtures() -> Vec<(&'static str, Vec<Event>)> {
    use OutputStream::{Stderr, Stdout};
    vec![
        (OK, vec![init("c1"), out(Stdout, "hi"), Event::Ping, unknown("future_kind"), out(Stderr, "warn"), DONE]),
        (DATA, vec![out(Stdout, "hi"), DONE]),
        (EXIT7, vec![init("c1"), out(Stdout, "partial"), failed("7")]),
        (START_FAILURE, vec![init("c1"), failed("fork/exec /bin/sh: no such file or directory")]),
        (KILLED, vec![failed("-1")]),
        (CUT, vec![out(Stdout, "working")]),
        (
            MIXED,
            vec![
                init("c\u{2028}1"),
                out(Stdout, "\u{85}a\u{2029}ä🦀\u{2028}\n"),
                out(Stdout, ""),
                Event::Unknown { kind: None },
                Event::LateError { code: "RUNTIME_ERROR".into(), message: "late".into() },
            ],
        ),
    ]
}

#[test]
fn reads_each_fixture_whole() {
    for (text, events) in fixtures() {
        assert_eq!(whole(text), events, "{text}");
    }
}

#[test]
fn reads_the_same_when_split_at_every_position() {
    for (text, events) in fixtures() {
        let bytes = text.as_bytes();
        for at in 0..=bytes.len() {
            assert_eq!(pieces([&bytes[..at], &bytes[at..]]), events, "split at {at} of {text}");
        }
        assert_eq!(pieces(bytes.chunks(1)), events, "byte by byte: {text}");
    }
}

#[test]
fn reads_the_same_with_any_line_ending_and_without_the_last_one() {
    for (text, events) in fixtures().into_iter().filter(|(text, _)| *text != MIXED) {
        for ending in ["\r\n", "\r"] {
            assert_eq!(whole(&text.replace('\n', ending)), events, "{ending:?}");
        }
        assert_eq!(whole(text.trim_end()), events);
    }
}

#[test]
fn drops_repeats_of_numbered_events() {
    let line = |eid: u32, text: &str| format!("{{\"type\":\"stdout\",\"text\":\"{text}\",\"eid\":{eid}}}\n\n");
    let text = [line(1, "a"), line(2, "b"), line(1, "a"), line(2, "b"), line(3, "c")].concat();
    let expected: Vec<Event> = ["a", "b", "c"].map(|text| out(OutputStream::Stdout, text)).to_vec();
    assert_eq!(whole(&text), expected);
}

#[test]
fn reads_terminal_events_with_odd_members() {
    assert_eq!(whole(r#"{"type":"execution_complete","execution_time":5.7}"#), vec![DONE]);
    assert_eq!(whole(r#"{"type":"execution_complete"}"#), vec![Event::Complete { execution_time_ms: None }]);
    assert_eq!(whole(r#"{"type":"error","error":{"evalue":7}}"#), vec![failed("7")]);
    assert_eq!(whole(r#"{"type":"error","error":{"ename":"X"}}"#), vec![failed("X")]);
    assert_eq!(whole(r#"{"type":"error"}"#), vec![failed("")]);
    assert_eq!(whole("{\"type\":\"ping\"}{\"type\":\"ping\"}"), vec![Event::Ping, Event::Ping]);
    assert_eq!(whole(r#"{"anything":1}"#), vec![Event::Unknown { kind: None }]);
    assert_eq!(whole(r#"[1]"#), vec![Event::Unknown { kind: None }]);
}

#[test]
fn keeps_what_can_be_read_of_bytes_that_are_no_text() {
    let events = pieces([&b"{\"type\":\"stdout\",\"text\":\"he\xff\xfelo\"}\n\n"[..]]);
    assert_eq!(events, vec![out(OutputStream::Stdout, "he\u{fffd}\u{fffd}lo")]);
}

#[test]
fn refuses_a_line_without_an_end() {
    for prefix in ["", "data: ", ": ", "{"] {
        let mut decoder = EventDecoder::new(1000);
        let mut events = Vec::new();
        decoder.push(prefix.as_bytes(), &mut events).unwrap();
        let mut pushed = 0;
        while decoder.push(&[b'x'; 100], &mut events).is_ok() {
            pushed += 100;
            assert!(pushed <= 1000, "{prefix}");
        }
        assert!(events.is_empty());
    }
}

#[test]
fn refuses_a_frame_of_endlessly_many_data_lines() {
    let mut decoder = EventDecoder::new(1000);
    let mut events = Vec::new();
    let refused_after = (0..).find(|_| decoder.push(b"data: 0123456789\n", &mut events).is_err()).unwrap();
    assert!(refused_after <= 100);
}

proptest! {
    #[test]
    fn reads_the_same_however_it_is_cut(which in 0_usize..7, cuts in prop::collection::vec(0_usize..600, 0..20)) {
        let (text, events) = fixtures().swap_remove(which);
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
        cuts.sort_unstable();
        prop_assert_eq!(pieces(cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]])), events);
    }

    #[test]
    fn survives_any_bytes_the_same_however_they_are_cut(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0_usize..300) {
        let at = at.min(bytes.len());
        prop_assert_eq!(pieces([&bytes[..at], &bytes[at..]]), pieces([bytes.as_slice()]));
    }

    #[test]
    fn carries_any_text(texts in prop::collection::vec(any::<String>(), 0..8), ending in "(\n\n|\r\n\r\n|\r\r|\n)") {
        let frames: String = texts
            .iter()
            .map(|text| format!("{}{ending}", serde_json::json!({"type": "stderr", "text": text})))
            .collect();
        let expected: Vec<Event> = texts.iter().map(|text| out(OutputStream::Stderr, text)).collect();
        prop_assert_eq!(whole(&frames), expected);
    }
}

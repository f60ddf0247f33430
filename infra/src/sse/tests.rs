use proptest::prelude::*;

use super::{DecodeError, Decoder, Event, Limits};

fn decode(chunks: &[&[u8]]) -> Result<Vec<Event>, DecodeError> {
    let mut decoder = Decoder::new(Limits { line_bytes: 64, event_bytes: 100 });
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk, |event| events.push(event))?;
    }
    events.extend(decoder.finish()?);
    Ok(events)
}

fn data(chunks: &[&[u8]]) -> Vec<String> {
    decode(chunks).unwrap().into_iter().map(|event| event.data).collect()
}

#[test]
fn lines_end_by_lf_cr_or_crlf() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = ["data: a", "data: b", "", "data: c", "", ""].join(end);
        assert_eq!(data(&[stream.as_bytes()]), ["a\nb", "c"], "{end:?}");
    }
}

#[test]
fn a_crlf_may_be_torn_between_two_chunks() {
    assert_eq!(data(&[b"data: a\r", b"\n\r", b"\ndata: b\r", b"\n\r\n"]), ["a", "b"]);
}

#[test]
fn a_blank_line_by_cr_gives_the_event_without_waiting_for_a_lf() {
    let mut decoder = Decoder::new(Limits::default());
    let mut events = Vec::new();
    decoder.feed(b"data: a\r\n\r", |event| events.push(event)).unwrap();
    assert_eq!(events.len(), 1);
}

#[test]
fn at_most_one_space_is_stripped() {
    assert_eq!(data(&[b"data:a\n\ndata: b\n\ndata:  c\n\n"]), ["a", "b", " c"]);
}

#[test]
fn comments_unknown_fields_and_empty_data_give_no_event() {
    assert_eq!(data(&[b": warm\n\nretry: 5\nnonsense\n\ndata\n\nevent: e\n\ndata: x\n\n"]), ["x"]);
}

#[test]
fn names_and_ids_belong_to_one_event() {
    let events = decode(&[b"event: error\nid: 7\ndata: x\n\ndata: y\n\n"]).unwrap();
    assert_eq!((events[0].name.as_str(), events[0].id.as_deref()), ("error", Some("7")));
    assert_eq!((events[1].name.as_str(), events[1].id.as_deref()), ("message", None));
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_start_only() {
    assert_eq!(data(&["\u{feff}data: a\n\n".as_bytes()]), ["a"]);
    assert_eq!(data(&["data: a\n\n\u{feff}data: b\n\n".as_bytes()]), ["a"]);
}

#[test]
fn the_event_without_its_blank_line_comes_at_the_end() {
    assert_eq!(data(&[b"data: a\n\ndata: b"]), ["a", "b"]);
    assert_eq!(data(&[b"data: a\n\ndata: b\n"]), ["a", "b"]);
}

#[test]
fn a_long_line_is_refused_also_when_it_never_ends() {
    assert_eq!(decode(&[&[b'x'; 65]]), Err(DecodeError::LineTooLong));
    assert_eq!(decode(&[&[b'x'; 40], &[b'x'; 40]]), Err(DecodeError::LineTooLong));
}

#[test]
fn a_large_event_is_refused() {
    let line = format!("data: {}\n", "x".repeat(50));
    assert_eq!(decode(&[line.repeat(3).as_bytes()]), Err(DecodeError::EventTooLarge));
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    assert_eq!(decode(&[b"data: \xff\n\n"]), Err(DecodeError::NotUtf8));
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(
        lines in prop::collection::vec("(data|event|id|:)?:? ?[ a-z你🦀é]{0,4}", 0..20),
        ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r", "\r\n", "\n\n"]), 20),
        cuts in prop::collection::vec(0_usize..200, 0..8),
    ) {
        let stream: String = lines.iter().zip(&ends).map(|(line, end)| format!("{line}{end}")).collect();
        let bytes = stream.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            chunks.push(&bytes[from..cut]);
            from = cut;
        }
        prop_assert_eq!(decode(&chunks), decode(&[bytes]));
    }
}

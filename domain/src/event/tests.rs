use super::*;
use crate::clock::Timestamp;
use crate::ids::{ExecutionId, ModelCallId};

fn delta(text: &str) -> (Timestamp, Event) {
    let event = Event::ModelCallDelta { model_call_id: ModelCallId::from_bits(1), text: text.to_owned() };
    (Timestamp::from_micros(1_700_000_000_000_000), event)
}

#[test]
fn a_cursor_reads_back_as_it_was() {
    let cursor = Cursor { execution_id: ExecutionId::from_bits(42), sequence: u64::MAX };
    assert_eq!(cursor.to_string().parse(), Ok(cursor));
}

#[test]
fn what_is_no_cursor_is_refused() {
    let good = Cursor { execution_id: ExecutionId::from_bits(42), sequence: 7 }.to_string();
    let longer = format!("{good}AA");
    for bad in ["", "AA", "!!", &good[1..], &good[..good.len() - 2], &longer] {
        assert_eq!(bad.parse::<Cursor>(), Err(CursorError::Malformed), "{bad}");
    }
}

#[test]
fn a_segment_is_numbered_from_its_first_sequence() {
    let segment = encode_segment(5, vec![delta("a"), delta("b\nc"), delta("d")]).unwrap();
    assert_eq!((segment.first_sequence, segment.last_sequence), (5, 7));
    let records: Vec<EventRecord> =
        segment.lines_after(0).map(|(_, line)| serde_json::from_slice(&line).unwrap()).collect();
    assert_eq!(records.iter().map(|record| record.sequence).collect::<Vec<_>>(), [5, 6, 7]);
    assert!(matches!(&records[1].event, Event::ModelCallDelta { text, .. } if text == "b\nc"));
}

#[test]
fn a_reader_gets_only_what_is_behind_its_cursor() {
    let segment = encode_segment(5, vec![delta("a"), delta("b"), delta("c")]).unwrap();
    let behind = |after| segment.lines_after(after).map(|(sequence, _)| sequence).collect::<Vec<_>>();
    assert_eq!(behind(4), [5, 6, 7]);
    assert_eq!(behind(5), [6, 7]);
    assert_eq!(behind(7), [] as [u64; 0]);
    assert_eq!(behind(u64::MAX), [] as [u64; 0]);
}

#[test]
fn the_encoding_of_an_event_is_a_contract() {
    let segment = encode_segment(1, vec![delta("hi")]).unwrap();
    let expected = format!(
        r#"{{"sequence":1,"atMicros":1700000000000000,"kind":"ModelCallDelta","modelCallId":"{}","text":"hi"}}"#,
        ModelCallId::from_bits(1)
    );
    assert_eq!(std::str::from_utf8(&segment.bytes).unwrap(), expected);
}

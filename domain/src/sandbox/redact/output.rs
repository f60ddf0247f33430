//! Redaction of a program's output: its two streams, whose lines come out in the order in which they ended.
//!
//! 1. Only whole lines are given out, so that nothing of the other stream ever stands within one.
//! 2. A line that may hold the begin of a secret holds back what ended behind it, on either stream.
//! 3. What waits is bounded: beyond the bound, lines of the other stream go first, and a line goes out before its end.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Redactor;
use super::stream::{Given, RedactedStream, line_ends};
use crate::sandbox::OutputStream;

/// Bytes that wait, of lines behind one that is held back, and of one line for its end.
const MAX_WAITING_BYTES: usize = 16 * 1024;
const STREAMS: [OutputStream; 2] = [OutputStream::Stdout, OutputStream::Stderr];

/// The output of a program on its way, without secrets.
pub struct RedactedOutput {
    streams: [Lines; 2],
    /// The stream of each line end that came and is not given out, oldest first.
    ends: VecDeque<usize>,
}

/// One stream.
struct Lines {
    redacted: RedactedStream,
    /// For each line end that is known to be none of a secret, its line; for one within a secret, nothing.
    lines: VecDeque<Option<String>>,
    /// What stands behind the last line end.
    begun: String,
}

/// What is given out, piece after piece.
type Pieces = Vec<(OutputStream, String)>;

impl RedactedOutput {
    /// An output that has not begun.
    pub fn new(redactor: &Arc<Redactor>) -> Self {
        let stream = || Lines {
            redacted: RedactedStream::new(Arc::clone(redactor)),
            lines: VecDeque::new(),
            begun: String::new(),
        };
        Self { streams: [stream(), stream()], ends: VecDeque::new() }
    }

    /// Looks for what `redactor` finds from here on.
    pub fn follow(&mut self, redactor: &Arc<Redactor>) {
        self.streams.iter_mut().for_each(|stream| stream.redacted.follow(Arc::clone(redactor)));
    }

    /// Takes a piece of a stream; returns what can be given out.
    pub fn push(&mut self, stream: OutputStream, piece: &str) -> Pieces {
        let at = usize::from(stream == OutputStream::Stderr);
        self.ends.extend(std::iter::repeat_n(at, line_ends(piece)));
        let Lines { redacted, lines, begun } = &mut self.streams[at];
        redacted.take(piece, |given| add(given, lines, begun));
        let mut pieces = Pieces::new();
        self.give_in_order(&mut pieces);
        self.give_beyond_the_bound(&mut pieces);
        pieces
    }

    /// Returns what was held back.
    pub fn finish(&mut self) -> Pieces {
        for Lines { redacted, lines, begun } in &mut self.streams {
            redacted.end(|given| add(given, lines, begun));
        }
        let mut pieces = Pieces::new();
        self.give_in_order(&mut pieces);
        for (at, stream) in self.streams.iter_mut().enumerate() {
            give(&mut pieces, at, std::mem::take(&mut stream.begun));
        }
        pieces
    }

    fn give_in_order(&mut self, pieces: &mut Pieces) {
        while let Some(at) = self.ends.front().copied() {
            let Some(line) = self.streams[at].lines.pop_front() else { return };
            self.ends.pop_front();
            give(pieces, at, line.unwrap_or_default());
        }
    }

    fn give_beyond_the_bound(&mut self, pieces: &mut Pieces) {
        for at in 0..STREAMS.len() {
            let Lines { lines, begun, .. } = &mut self.streams[at];
            let waiting: usize = lines.iter().flatten().map(String::len).sum();
            if waiting > MAX_WAITING_BYTES {
                // They wait for a line of the other stream, which is passed by.
                self.ends.retain(|end| {
                    let line = (*end == at).then(|| lines.pop_front()).flatten();
                    line.is_none_or(|line| {
                        give(pieces, at, line.unwrap_or_default());
                        false
                    })
                });
            }
            if begun.len() > MAX_WAITING_BYTES && lines.is_empty() {
                give(pieces, at, std::mem::take(begun));
            }
        }
    }
}

fn add(given: Given<'_>, lines: &mut VecDeque<Option<String>>, begun: &mut String) {
    match given {
        Given::Text(text) => {
            for part in text.split_inclusive('\n') {
                begun.push_str(part);
                if part.ends_with('\n') {
                    lines.push_back(Some(std::mem::take(begun)));
                }
            }
        }
        Given::Mark { mark, line_ends } => {
            begun.push_str(mark);
            lines.extend(std::iter::repeat_n(None, line_ends));
        }
    }
}

fn give(pieces: &mut Pieces, at: usize, text: String) {
    let stream = STREAMS[at];
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some((last, before)) if *last == stream => before.push_str(&text),
        Some(_) | None => pieces.push((stream, text)),
    }
}

#[cfg(test)]
mod tests {
    use data_encoding::BASE64;
    use proptest::prelude::*;

    use super::*;
    use crate::sandbox::OutputStream::{Stderr, Stdout};

    const SECRET: &str = "hunter2-hunter2";

    fn output() -> RedactedOutput {
        RedactedOutput::new(&redactor())
    }

    fn redactor() -> Arc<Redactor> {
        let mut redactor = Redactor::default();
        redactor.add("TOKEN", SECRET);
        Arc::new(redactor)
    }

    fn of(pieces: &[(OutputStream, String)], stream: OutputStream) -> String {
        pieces.iter().filter(|(name, _)| *name == stream).map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn what_is_held_back_comes_before_the_lines_of_the_other_stream_behind_it() {
        let mut output = output();
        // Base64 may be broken into lines, and this is how the secret begins in it.
        let begun = BASE64.encode(SECRET.as_bytes())[..5].to_owned() + "\n";
        assert_eq!(output.push(Stdout, &begun), []);
        assert_eq!(output.push(Stderr, "an err"), []);
        assert_eq!(output.push(Stderr, "or\nand mo"), []);
        let given = output.push(Stdout, "no secret\n");
        let expected = [(Stdout, begun), (Stderr, "an error\n".to_owned()), (Stdout, "no secret\n".to_owned())];
        assert_eq!(given, expected);
        assert_eq!(output.finish(), [(Stderr, "and mo".to_owned())]);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut output = output();
        let begun = BASE64.encode(SECRET.as_bytes())[..3].to_owned() + "\n";
        output.push(Stdout, &begun);
        let line = "x".repeat(99) + "\n";
        let pieces: Vec<_> = (0..200).flat_map(|_| output.push(Stderr, &line)).collect();
        assert!(of(&pieces, Stderr).len() >= 20_000 - MAX_WAITING_BYTES && of(&pieces, Stdout).is_empty());
        assert_eq!(of(&output.push(Stdout, "!\n"), Stdout), format!("{begun}!\n"));
        // A line without an end goes out as well.
        let endless: Vec<_> = (0..200).flat_map(|_| output.push(Stdout, "a progress bar ")).collect();
        assert!(endless.is_empty());
        let endless: Vec<_> = (0..2000).flat_map(|_| output.push(Stdout, "a progress bar ")).collect();
        assert!(of(&endless, Stdout).len() > 2200 * 15 - MAX_WAITING_BYTES - 15);
    }

    /// What a program writes: on which stream, and what.
    fn written() -> impl Strategy<Value = Vec<(OutputStream, String)>> {
        let encoded = BASE64.encode(SECRET.as_bytes());
        let wrapped: Vec<_> =
            encoded.as_bytes().chunks(7).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        let text = prop_oneof![
            4 => "[a-z ]{0,6}\n?",
            2 => Just("hunter2-".to_owned()),
            1 => Just("hunter2-hunter2".to_owned()),
            1 => Just(format!("{SECRET}\n")),
            1 => Just(wrapped.join("\n")),
            1 => Just(format!("{}\n", &encoded[..9])),
        ];
        prop::collection::vec((prop_oneof![Just(Stdout), Just(Stderr)], text), 0..40)
    }

    /// The lines in the order in which they ended, each with what stands between its two ends.
    fn lines_of(written: &[(OutputStream, String)]) -> Vec<(OutputStream, String)> {
        let mut begun = [String::new(), String::new()];
        let mut lines = Vec::new();
        for (stream, text) in written {
            let begun = &mut begun[usize::from(*stream == Stderr)];
            for part in text.split_inclusive('\n') {
                begun.push_str(part);
                if part.ends_with('\n') {
                    lines.push((*stream, std::mem::take(begun)));
                }
            }
        }
        lines
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn each_stream_is_whole_and_no_line_is_split(written in written()) {
            let mut output = output();
            let mut pieces: Vec<_> = written.iter().flat_map(|(stream, text)| output.push(*stream, text)).collect();
            prop_assert!(pieces.iter().all(|(_, text)| text.ends_with('\n')), "{pieces:?}");
            let rest = output.finish();
            pieces.extend(rest);
            for stream in STREAMS {
                let whole = of(&written, stream);
                let mut alone = RedactedStream::new(redactor());
                let clean = alone.push(&whole).into_owned() + &alone.finish();
                prop_assert_eq!(of(&pieces, stream), clean);
            }
        }

        #[test]
        fn lines_come_in_the_order_of_their_ends(written in written()) {
            let mut output = output();
            let mut pieces: Vec<_> = written.iter().flat_map(|(stream, text)| output.push(*stream, text)).collect();
            pieces.extend(output.finish());
            // Lines without a part of a secret are told as they are, so that their order can be seen.
            let is_plain = |(_, line): &(OutputStream, String)| {
                !line.trim().is_empty() && line.trim_end().chars().all(|c| matches!(c, 'b'..='f' | ' '))
            };
            let expected: Vec<_> = lines_of(&written).into_iter().filter(is_plain).collect();
            let found: Vec<_> = lines_of(&pieces).into_iter().filter(is_plain).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

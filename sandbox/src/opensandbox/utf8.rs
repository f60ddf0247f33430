//! Text out of bytes that arrive in pieces, cut anywhere.
//!
//! Rule: a character is given out when its last byte is there, so a piece ends where a character ends. Bytes that no
//! further byte could make a character become the replacement character, and the piece is marked.

/// Bytes that may end inside a character, made into text.
#[derive(Debug, Default)]
pub(super) struct Utf8Pieces {
    /// The beginning of a character, at most three bytes.
    held: Vec<u8>,
}

/// Bytes whose last character is whole, and the text that they mean.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextPiece {
    pub bytes: Vec<u8>,
    pub text: String,
    pub is_lossy: bool,
}

impl Utf8Pieces {
    /// Takes the next bytes; nothing comes out while only the beginning of a character is there.
    pub fn push(&mut self, bytes: &[u8]) -> Option<TextPiece> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        self.held = all.split_off(all.len() - open_tail(&all));
        piece(all)
    }

    /// Nothing more comes: what is held was no character.
    pub fn finish(&mut self) -> Option<TextPiece> {
        piece(std::mem::take(&mut self.held))
    }
}

fn piece(bytes: Vec<u8>) -> Option<TextPiece> {
    if bytes.is_empty() {
        return None;
    }
    let (text, is_lossy) = match std::str::from_utf8(&bytes) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (String::from_utf8_lossy(&bytes).into_owned(), true),
    };
    Some(TextPiece { bytes, text, is_lossy })
}

/// How many of the last bytes are the beginning of a character that goes on.
fn open_tail(bytes: &[u8]) -> usize {
    let start = bytes.len().saturating_sub(3);
    (start..bytes.len())
        .find(|at| {
            std::str::from_utf8(&bytes[*at..])
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .map_or(0, |at| bytes.len() - at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, String, bool) {
        let mut decoder = Utf8Pieces::default();
        let mut out: Vec<TextPiece> = pieces.into_iter().filter_map(|piece| decoder.push(piece)).collect();
        out.extend(decoder.finish());
        let is_lossy = out.iter().any(|piece| piece.is_lossy);
        (
            out.iter().flat_map(|piece| piece.bytes.clone()).collect(),
            out.into_iter().map(|piece| piece.text).collect(),
            is_lossy,
        )
    }

    #[test]
    fn holds_back_the_beginning_of_a_character() {
        let mut decoder = Utf8Pieces::default();
        let crab = "🦀".as_bytes();
        assert_eq!(decoder.push(&[b'a', crab[0], crab[1]]).unwrap().text, "a");
        assert_eq!(decoder.push(&crab[2..3]), None);
        let piece = decoder.push(&crab[3..]).unwrap();
        assert_eq!((piece.text.as_str(), piece.is_lossy), ("🦀", false));
        assert_eq!(decoder.push(&crab[..2]), None);
        let piece = decoder.finish().unwrap();
        assert_eq!((piece.text.as_str(), piece.is_lossy, piece.bytes.as_slice()), ("\u{fffd}", true, &crab[..2]));
    }

    proptest! {
        #[test]
        fn reads_text_the_same_however_it_is_cut(text in "[a-zäß🦀\u{2028}\r\n]{0,60}", cut in 1_usize..7) {
            let (bytes, out, is_lossy) = joined(text.as_bytes().chunks(cut));
            prop_assert_eq!(bytes, text.as_bytes());
            prop_assert_eq!(out, text);
            prop_assert!(!is_lossy);
        }

        #[test]
        fn loses_no_byte_of_what_is_no_text_w41(bytes in prop::collection::vec(any::<u8>(), 0..80), cut in 1_usize..7) {
            let (back, text, is_lossy) = joined(bytes.chunks(cut));
            prop_assert_eq!(&back, &bytes);
            prop_assert_eq!(is_lossy, std::str::from_utf8(&bytes).is_err());
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }
}

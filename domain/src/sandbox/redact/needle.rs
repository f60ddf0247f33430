//! One secret, in all the forms that it is looked for in.

use data_encoding::{BASE64, HEXLOWER};

/// The marks between lines: as they are, and as JSON escapes them.
const LINE_ENDS: [&[u8]; 4] = [b"\n", b"\r\n", br"\n", br"\r\n"];
/// A text that was cut off is hidden when it has at least this part of a secret.
const TELLING_PART: usize = 2;
const TELLING_CHARS: usize = 8;
/// Bytes of the longest way to write a character, and of the longest line end.
const LONGEST_CHARACTER: usize = 12;
const LONGEST_LINE_END: usize = 4;
/// Blanks that a line may begin and end with, as they do where encoded text stands in YAML or in code.
const MAX_BLANKS: usize = 32;

/// What begins at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probe<'a> {
    /// No secret.
    Nothing,
    /// As much of one as there are bytes; the flag says whether that much must not be told.
    Begun { is_telling: bool, mark: &'a str },
    /// A secret, up to `end`. `may_grow` when more bytes could make a longer one.
    Found { end: usize, mark: &'a str, may_grow: bool },
}

impl<'a> Probe<'a> {
    /// What two forms together say about a place.
    pub fn better(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, only) | (only, Self::Nothing) => only,
            (Self::Begun { is_telling: a, mark }, Self::Begun { is_telling: b, mark: other }) => {
                Self::Begun { is_telling: a || b, mark: if a { mark } else { other } }
            }
            (Self::Found { end, mark, .. }, Self::Begun { .. })
            | (Self::Begun { .. }, Self::Found { end, mark, .. }) => Self::Found { end, mark, may_grow: true },
            (Self::Found { end: a, mark, may_grow }, Self::Found { end: b, mark: other, may_grow: more }) => {
                let (end, mark): (usize, &'a str) = if a >= b { (a, mark) } else { (b, other) };
                Self::Found { end, mark, may_grow: may_grow || more }
            }
        }
    }
}

/// A secret. Two are equal when name and secret are.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Needle {
    mark: String,
    forms: Vec<Form>,
}

/// One way to write the secret, before the escapes of URLs and JSON, which are understood in each of them.
#[derive(Clone, PartialEq, Eq)]
struct Form {
    characters: Vec<char>,
    alphabet: Alphabet,
    first: Bytes,
    second: Bytes,
}

/// Bytes that may stand in a place: most of a text is passed over by a look at these.
type Bytes = [bool; 256];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    Plain,
    /// Either alphabet, and line ends anywhere, with blanks around them.
    Base64,
    /// Either case, and line ends anywhere, with blanks around them.
    Hex,
}

impl Needle {
    pub fn new(name: &str, secret: &str) -> Self {
        let plain = Form::new(secret, Alphabet::Plain);
        let base64 = (0..3).map(|before| Form::new(&inner_base64(secret, before), Alphabet::Base64));
        let hex = Form::new(&HEXLOWER.encode(secret.as_bytes()), Alphabet::Hex);
        let forms = std::iter::once(plain).chain(base64).chain([hex]).filter(|form| !form.characters.is_empty());
        Self { mark: format!("[redacted: {name}]"), forms: forms.collect() }
    }

    /// Tells every byte that a match may begin with.
    pub fn begins(&self, mut tell: impl FnMut(u8)) {
        for form in &self.forms {
            (0..=u8::MAX).filter(|byte| form.first[usize::from(*byte)]).for_each(&mut tell);
        }
    }

    pub fn reach(&self) -> usize {
        let longest = self.forms.iter().map(|form| form.characters.len()).max().unwrap_or(0);
        longest * (LONGEST_CHARACTER + LONGEST_LINE_END + 2 * MAX_BLANKS)
    }

    pub fn probe(&self, bytes: &[u8], at: usize) -> Probe<'_> {
        self.forms.iter().fold(Probe::Nothing, |best, form| best.better(form.probe(bytes, at, &self.mark)))
    }
}

/// The base64 of `secret` behind `before` other bytes, without the characters that those and what follows have a part in.
fn inner_base64(secret: &str, before: usize) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(secret.as_bytes());
    let encoded = BASE64.encode(&bytes);
    let (start, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    encoded.get(start..end).unwrap_or_default().to_owned()
}

impl Form {
    fn new(text: &str, alphabet: Alphabet) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let at = |place: usize| {
            let character = characters.get(place).copied();
            std::array::from_fn(|byte| match (u8::try_from(byte), character) {
                // An escape may stand for any character.
                (Ok(b'%' | b'\\'), _) => true,
                (Ok(b'\n' | b'\r' | b' ' | b'\t'), _) if place > 0 && alphabet != Alphabet::Plain => true,
                (Ok(byte), Some(character)) => alphabet.is_begun_by(character, byte),
                // Whatever follows a form of one character.
                (_, None) => true,
                (Err(_), _) => false,
            })
        };
        Self { first: at(0), second: at(1), characters, alphabet }
    }

    /// Whether the first bytes leave it open that the form begins here.
    fn may_begin(&self, bytes: &[u8]) -> bool {
        match (bytes, self.characters.first()) {
            ([b'%' | b'\\', ..], Some(character)) => {
                let reading = self.alphabet.read(*character, bytes);
                reading.may_go_on || reading.lengths.iter().any(Option::is_some)
            }
            ([first, second, ..], _) if first.is_ascii() => {
                self.first[usize::from(*first)] && self.second[usize::from(*second)]
            }
            ([first, ..], _) => self.first[usize::from(*first)],
            ([], _) => true,
        }
    }

    /// Follows every way in which the bytes may spell the form.
    fn probe<'a>(&self, bytes: &[u8], at: usize, mark: &'a str) -> Probe<'a> {
        if !self.may_begin(&bytes[at..]) {
            return Probe::Nothing;
        }
        let mut places = vec![at];
        let mut begun_with = None;
        for (index, character) in self.characters.iter().enumerate() {
            if let [place] = places[..]
                && let Some(byte) = bytes.get(place).copied().filter(|byte| is_only_itself(*byte))
            {
                if !self.alphabet.is_begun_by(*character, byte) {
                    places.clear();
                    break;
                }
                places[0] += 1;
                continue;
            }
            let mut next = Vec::with_capacity(places.len());
            let mut is_cut = false;
            let mut step = |place: usize| {
                let reading = self.alphabet.read(*character, &bytes[place..]);
                next.extend(reading.lengths.into_iter().flatten().map(|length| place + length));
                is_cut |= reading.may_go_on;
            };
            for place in places {
                step(place);
                if index > 0 && self.alphabet != Alphabet::Plain {
                    let line = behind_blanks(bytes, place);
                    for line_end in LINE_ENDS {
                        match overlap(line_end.iter().copied(), &bytes[line..]) {
                            Overlap::Whole => step(behind_blanks(bytes, line + line_end.len())),
                            Overlap::Cut if place < bytes.len() => begun_with = begun_with.max(Some(index)),
                            Overlap::Cut | Overlap::None => {}
                        }
                    }
                }
            }
            if is_cut {
                begun_with = begun_with.max(Some(index));
            }
            next.sort_unstable();
            next.dedup();
            places = next;
            if places.is_empty() {
                break;
            }
        }
        match (places.last(), begun_with) {
            (Some(end), may_grow) => Probe::Found { end: *end, mark, may_grow: may_grow.is_some() },
            (None, Some(characters)) => {
                let is_telling = characters >= TELLING_CHARS && characters * TELLING_PART >= self.characters.len();
                Probe::Begun { is_telling, mark }
            }
            (None, None) => Probe::Nothing,
        }
    }
}

/// The first place that has no blank.
fn behind_blanks(bytes: &[u8], place: usize) -> usize {
    let blanks = bytes[place..].iter().take(MAX_BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t'));
    place + blanks.count()
}

/// Whether a byte stands for one character and for itself: no escape begins with it, and no line ends there.
const fn is_only_itself(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'%' | b'\\' | b'+')
}

/// How a character may stand at the begin of some bytes.
struct Reading {
    /// Length of each spelling that is there: as it is, percent-encoded, escaped in two ways.
    lengths: [Option<usize>; 4],
    /// Whether the bytes end within a spelling.
    may_go_on: bool,
}

impl Alphabet {
    fn is_begun_by(self, character: char, byte: u8) -> bool {
        match (self, character) {
            (Self::Plain, ' ') => matches!(byte, b' ' | b'+'),
            (Self::Base64, '+') => matches!(byte, b'+' | b'-'),
            (Self::Base64, '/') => matches!(byte, b'/' | b'_'),
            (Self::Base64, _) => byte == first_byte(character),
            (Self::Plain | Self::Hex, _) => byte == first_byte(character) || byte == first_byte(other_case(character)),
        }
    }

    fn read(self, character: char, bytes: &[u8]) -> Reading {
        let mut reading = Reading { lengths: [None; 4], may_go_on: bytes.is_empty() };
        let twin = match (self, character) {
            (Self::Plain, ' ') => Some('+'),
            (Self::Base64, '+') => Some('-'),
            (Self::Base64, '/') => Some('_'),
            // The name of a host is told in lower case, whatever a program wrote.
            (Self::Plain | Self::Hex, letter) => Some(other_case(letter)),
            (Self::Base64, _) => None,
        };
        let mut note = |slot: usize, overlap: Overlap, length: usize| match overlap {
            Overlap::Whole => reading.lengths[slot] = Some(length),
            Overlap::Cut => reading.may_go_on = true,
            Overlap::None => {}
        };
        for spelled in std::iter::once(character).chain(twin) {
            let mut buffer = [0; 4];
            let utf8 = spelled.encode_utf8(&mut buffer).as_bytes();
            note(0, overlap(utf8.iter().copied(), bytes), utf8.len());
            // `+` stands for a space only as it is.
            if self != Self::Plain || character != ' ' || spelled == character {
                note(1, overlap_ignoring_case(percent(utf8), bytes), utf8.len() * 3);
            }
        }
        if self == Self::Plain || !character.is_ascii_alphanumeric() {
            if let Some(short) = short_escape(character) {
                note(2, overlap(short.iter().copied(), bytes), short.len());
            }
            let mut buffer = [0; 2];
            let utf16: &[u16] = character.encode_utf16(&mut buffer);
            note(3, overlap_ignoring_case(unicode_escape(utf16), bytes), utf16.len() * 6);
        }
        reading
    }
}

/// The letter in the other case, where that is one letter.
fn other_case(letter: char) -> char {
    let (mut upper, mut lower) = (letter.to_uppercase(), letter.to_lowercase());
    match (upper.next(), upper.next(), lower.next(), lower.next()) {
        (Some(upper), None, ..) if upper != letter => upper,
        (.., Some(lower), None) => lower,
        _ => letter,
    }
}

fn first_byte(character: char) -> u8 {
    character.encode_utf8(&mut [0; 4]).as_bytes()[0]
}

fn percent(utf8: &[u8]) -> impl Iterator<Item = u8> {
    utf8.iter().flat_map(|byte| [b'%', digit(byte >> 4), digit(byte & 15)])
}

const fn short_escape(character: char) -> Option<&'static [u8]> {
    match character {
        '"' => Some(br#"\""#),
        '\\' => Some(br"\\"),
        '/' => Some(br"\/"),
        _ => None,
    }
}

fn unicode_escape(utf16: &[u16]) -> impl Iterator<Item = u8> {
    utf16.iter().flat_map(|unit| {
        let [high, low] = unit.to_be_bytes();
        [b'\\', b'u', digit(high >> 4), digit(high & 15), digit(low >> 4), digit(low & 15)]
    })
}

/// The hexadecimal digit of a number below 16.
const fn digit(number: u8) -> u8 {
    if number < 10 { b'0' + number } else { b'a' + number - 10 }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Overlap {
    /// The bytes begin with all of it.
    Whole,
    /// The bytes end within it.
    Cut,
    None,
}

fn overlap(wanted: impl Iterator<Item = u8>, bytes: &[u8]) -> Overlap {
    overlap_by(wanted, bytes, |a, b| a == b)
}

fn overlap_ignoring_case(wanted: impl Iterator<Item = u8>, bytes: &[u8]) -> Overlap {
    overlap_by(wanted, bytes, |a, b| a.eq_ignore_ascii_case(&b))
}

fn overlap_by(wanted: impl Iterator<Item = u8>, bytes: &[u8], is_same: impl Fn(u8, u8) -> bool) -> Overlap {
    let mut bytes = bytes.iter();
    for wanted in wanted {
        match bytes.next() {
            None => return Overlap::Cut,
            Some(byte) if is_same(wanted, *byte) => {}
            Some(_) => return Overlap::None,
        }
    }
    Overlap::Whole
}

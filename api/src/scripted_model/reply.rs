//! A reply as a plan: what is sent, and when.

use std::time::Duration;

use serde::Deserialize;

/// How fast a reply comes.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Pace {
    /// Milliseconds before the first piece.
    pub(super) first_ms: u64,
    /// Milliseconds between two pieces.
    pub(super) piece_ms: u64,
    /// Characters of a piece of text; it ends at the next blank, or at twice as many.
    pub(super) piece_chars: usize,
    /// Characters of a piece of arguments.
    pub(super) argument_chars: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { first_ms: 0, piece_ms: 0, piece_chars: 8, argument_chars: 48 }
    }
}

/// One thing that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    CallStart {
        index: usize,
        id: String,
        name: String,
    },
    CallArguments {
        index: usize,
        piece: String,
    },
    /// Bytes that are no protocol.
    Garbage(String),
    /// An error envelope in the body.
    Error(String),
    /// Nothing more comes; the connection stays.
    Stall,
    /// The connection is cut.
    Cut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Time since the request came.
    pub(super) at: Duration,
    pub(super) part: Part,
}

/// A whole reply.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) steps: Vec<Step>,
    pub(super) finish_reason: &'static str,
    pub(super) output_bytes: usize,
}

/// Lays a reply out in time.
#[derive(Debug)]
pub(super) struct ReplyBuilder {
    pace: Pace,
    turn: usize,
    at: Duration,
    steps: Vec<Step>,
    calls: usize,
}

impl ReplyBuilder {
    pub(super) fn new(pace: Pace, turn: usize) -> Self {
        Self { pace, turn, at: Duration::from_millis(pace.first_ms), steps: Vec::new(), calls: 0 }
    }

    pub(super) fn text(mut self, text: &str) -> Self {
        for piece in pieces(text, self.pace.piece_chars, BreakAt::Blank) {
            self.push(Part::Text(piece));
        }
        self
    }

    pub(super) fn call(mut self, tool: &str, arguments: &str) -> Self {
        let index = self.calls;
        self.calls += 1;
        self.push(Part::CallStart { index, id: format!("call_{}_{index}", self.turn), name: tool.to_owned() });
        for piece in pieces(arguments, self.pace.argument_chars, BreakAt::Anywhere) {
            self.push(Part::CallArguments { index, piece });
        }
        self
    }

    /// Puts a part at a moment of its own.
    pub(super) fn part_at(mut self, at: Duration, part: Part) -> Self {
        self.at = at;
        self.steps.push(Step { at, part });
        self
    }

    pub(super) fn part(mut self, part: Part) -> Self {
        self.push(part);
        self
    }

    /// The reply, cut off where the output cap is reached.
    pub(super) fn build(self, max_output_tokens: u64) -> Reply {
        let finish_reason = if self.calls == 0 { "stop" } else { "tool_calls" };
        let mut reply = Reply { steps: Vec::new(), finish_reason, output_bytes: 0 };
        let mut left = usize::try_from(max_output_tokens.saturating_mul(4)).unwrap_or(usize::MAX);
        for mut step in self.steps {
            let wanted = step.part.bytes();
            step.part.cut_to(left);
            let kept = step.part.bytes();
            reply.output_bytes += kept;
            left -= kept;
            if kept > 0 || wanted == 0 {
                reply.steps.push(step);
            }
            if kept < wanted {
                reply.finish_reason = "length";
                break;
            }
        }
        reply
    }

    fn push(&mut self, part: Part) {
        self.steps.push(Step { at: self.at, part });
        self.at += Duration::from_millis(self.pace.piece_ms);
    }
}

impl Part {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::CallArguments { piece: text, .. } => text.len(),
            Self::CallStart { name, .. } => name.len(),
            Self::Garbage(_) | Self::Error(_) | Self::Stall | Self::Cut => 0,
        }
    }

    fn cut_to(&mut self, bytes: usize) {
        match self {
            Self::Text(text) | Self::CallArguments { piece: text, .. } => {
                text.truncate(text.floor_char_boundary(bytes));
            }
            Self::CallStart { name, .. } if name.len() > bytes => name.clear(),
            Self::CallStart { .. } | Self::Garbage(_) | Self::Error(_) | Self::Stall | Self::Cut => {}
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BreakAt {
    Blank,
    Anywhere,
}

fn pieces(text: &str, chars: usize, break_at: BreakAt) -> Vec<String> {
    let chars = chars.max(1);
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut length = 0;
    for character in text.chars() {
        piece.push(character);
        length += 1;
        if length >= chars && (break_at == BreakAt::Anywhere || character.is_whitespace() || length >= 2 * chars) {
            pieces.push(std::mem::take(&mut piece));
            length = 0;
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

//! A program's output, capped: the head and the tail are kept, the middle is counted.

use std::collections::VecDeque;

/// Keeps the first and the last bytes of a text that comes in pieces.
#[derive(Debug)]
pub struct CappedOutput {
    head: String,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    omitted_bytes: u64,
}

impl CappedOutput {
    /// Keeps at most `head_limit` bytes from the start and `tail_limit` from the end.
    pub fn new(head_limit: usize, tail_limit: usize) -> Self {
        Self { head: String::new(), head_limit, tail: VecDeque::new(), tail_limit, omitted_bytes: 0 }
    }

    /// Takes a piece; returns the part of it that still belongs to the head.
    pub fn push<'a>(&mut self, piece: &'a str) -> &'a str {
        let room = if self.tail.is_empty() { self.head_limit.saturating_sub(self.head.len()) } else { 0 };
        let split = (0..=room.min(piece.len())).rev().find(|at| piece.is_char_boundary(*at)).unwrap_or(0);
        let (head, rest) = piece.split_at(split);
        self.head.push_str(head);
        // Of a long piece only the end can stay.
        let (dropped, kept) = rest.as_bytes().split_at(rest.len().saturating_sub(self.tail_limit));
        let excess = (self.tail.len() + kept.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..excess);
        self.tail.extend(kept);
        self.omitted_bytes += (dropped.len() + excess) as u64;
        head
    }

    /// The head.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Bytes that were dropped between head and tail.
    pub fn omitted_bytes(&self) -> u64 {
        self.omitted_bytes
    }

    /// The tail, from its first whole character on.
    pub fn tail(&self) -> String {
        let bytes: Vec<u8> = self.tail.iter().copied().collect();
        let start = bytes.iter().position(|byte| byte & 0xC0 != 0x80).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[start..]).into_owned()
    }

    /// Head and tail with a mark between them when something was dropped.
    pub fn text(&self) -> String {
        match self.omitted_bytes {
            0 => format!("{}{}", self.head, self.tail()),
            omitted => format!("{}\n[... {omitted} bytes omitted ...]\n{}", self.head, self.tail()),
        }
    }
}

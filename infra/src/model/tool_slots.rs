//! Puts the pieces of a reply's tool calls together.
//!
//! A call has a slot; slots stand in the order in which they were opened. An index names its slot. Without an index a
//! new id opens a slot, and a piece without an id continues the last one. An empty id or name says nothing. A provider's
//! ids only tell slots apart: they may repeat, and are dropped.

use serde_json::Value;

use super::failure::Fault;

const MAX_CALLS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct ToolSlots {
    slots: Vec<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

struct Piece<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: String,
}

impl ToolSlots {
    /// Takes one entry of a delta's `tool_calls`; gives the bytes that it added.
    pub(super) fn add_piece(&mut self, entry: &Value) -> Result<usize, Fault> {
        let piece = Piece::read(entry);
        let place = match piece.index {
            Some(index) => self.slots.iter().rposition(|slot| slot.index == Some(index)),
            None => self.slots.len().checked_sub(1),
        };
        let place = place.filter(|place| !piece.opens_behind(&self.slots[*place]));
        self.put(place, piece)
    }

    /// Takes one entry of a whole message's `tool_calls`: each is a call of its own.
    pub(super) fn add_whole(&mut self, entry: &Value) -> Result<usize, Fault> {
        self.put(None, Piece::read(entry))
    }

    /// Name and raw arguments of each call.
    pub(super) fn into_calls(self) -> Vec<(String, String)> {
        let said = self.slots.into_iter().filter(|slot| !slot.name.is_empty() || !slot.arguments.is_empty());
        said.map(|slot| (slot.name, slot.arguments)).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.name.is_empty() && slot.arguments.is_empty())
    }

    fn put(&mut self, place: Option<usize>, piece: Piece<'_>) -> Result<usize, Fault> {
        if place.is_none() && self.slots.len() >= MAX_CALLS {
            return Err(Fault::protocol(format!("the reply asks for more than {MAX_CALLS} tool calls")));
        }
        let place = place.unwrap_or_else(|| {
            self.slots.push(Slot { index: piece.index, ..Slot::default() });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[place];
        if slot.id.is_empty() {
            piece.id.clone_into(&mut slot.id);
        }
        if slot.name.is_empty() {
            piece.name.clone_into(&mut slot.name);
        }
        slot.arguments.push_str(&piece.arguments);
        Ok(piece.id.len() + piece.name.len() + piece.arguments.len())
    }
}

impl<'a> Piece<'a> {
    fn read(entry: &'a Value) -> Self {
        let text = |path: &str| entry.pointer(path).and_then(Value::as_str).unwrap_or("");
        let arguments = match entry.pointer("/function/arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            // Some endpoints give the object itself.
            Some(other) => other.to_string(),
        };
        Self {
            index: entry.get("index").and_then(Value::as_u64),
            id: text("/id"),
            name: text("/function/name"),
            arguments,
        }
    }

    /// Whether this piece belongs to a new call although it points at `slot`.
    fn opens_behind(&self, slot: &Slot) -> bool {
        let has_other_id = !self.id.is_empty() && !slot.id.is_empty() && self.id != slot.id;
        let has_other_name = !self.name.is_empty() && !slot.name.is_empty() && self.name != slot.name;
        // Endpoints that put index 0 on every call still name each; those that make up a new id for each piece do not.
        let by_id = has_other_id && (self.index.is_none() || !self.name.is_empty());
        let by_name = has_other_name && self.index.is_none();
        // Arguments behind a whole object can only be another call's.
        let by_arguments = !self.name.is_empty() && !self.arguments.trim().is_empty() && slot.is_whole();
        by_id || by_name || by_arguments
    }
}

impl Slot {
    fn is_whole(&self) -> bool {
        !self.name.is_empty() && serde_json::from_str::<serde_json::Map<String, Value>>(&self.arguments).is_ok()
    }
}

//! The Size of a selection set: what it becomes once its fragments are expanded.
//!
//! The rule: the text of each set is visited once. A fragment's size is remembered and added wherever it is spread, in
//! sums that stop at their ceiling, so the work is linear in the document however large the expansion.

use std::convert::Infallible;

use async_graphql::parser::types::Field;
use async_graphql::{Pos, Positioned, Value, Variables};

use super::limits::GateLimits;

/// What a selection set expands to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Selections at all levels.
    pub selections: u64,
    /// Fields of the first level.
    pub fields: u64,
    /// Levels of fields.
    pub depth: u32,
    /// Estimated objects.
    pub cost: u64,
    /// Whether the first level is that of a connection.
    pub is_connection: bool,
    /// Lists of types or fields inside each other, which matters below `__schema` only.
    pub lists: u32,
    /// What stands below `__schema` and `__type`.
    pub introspection: Introspection,
    /// The first place where a page is too large.
    pub oversized: Option<Pos>,
}

/// The share of `__schema` and `__type`, which has limits of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Introspection {
    pub fields: u64,
    pub selections: u64,
    pub depth: u32,
    pub lists: u32,
}

impl Size {
    /// Adds what stands beside.
    pub(super) fn add(&mut self, other: Self) {
        self.selections = self.selections.saturating_add(other.selections);
        self.fields = self.fields.saturating_add(other.fields);
        self.depth = self.depth.max(other.depth);
        self.cost = self.cost.saturating_add(other.cost);
        self.is_connection |= other.is_connection;
        self.lists = self.lists.max(other.lists);
        self.introspection.fields = self.introspection.fields.saturating_add(other.introspection.fields);
        self.introspection.selections = self.introspection.selections.saturating_add(other.introspection.selections);
        self.introspection.depth = self.introspection.depth.max(other.introspection.depth);
        self.introspection.lists = self.introspection.lists.max(other.introspection.lists);
        self.oversized = self.oversized.or(other.oversized);
    }

    /// The size of a field with what is selected below it.
    pub(super) fn of_field(field: &Positioned<Field>, below: Self, pages: &Pages<'_>) -> Self {
        let name = field.node.name.node.as_str();
        let selections = below.selections.saturating_add(1);
        if is_introspection(name) {
            let share = Introspection {
                fields: below.introspection.fields.saturating_add(1),
                selections: selections.saturating_add(below.introspection.selections),
                depth: below.depth.max(below.introspection.depth).saturating_add(1),
                lists: below.lists.max(below.introspection.lists),
            };
            return Self { selections, fields: 1, depth: 1, introspection: share, ..Self::default() };
        }
        let page = pages.of(field, below.is_connection);
        let own = u64::from(!field.node.selection_set.node.items.is_empty() && !matches!(name, "edges" | "pageInfo"));
        let cost = match page {
            Page::Of(size) => own.saturating_add(below.cost.saturating_mul(size)),
            Page::None | Page::Oversized => own.saturating_add(below.cost),
        };
        Self {
            selections,
            fields: 1,
            depth: below.depth.saturating_add(1),
            cost,
            is_connection: matches!(name, "edges" | "nodes"),
            lists: below.lists.saturating_add(u32::from(is_list_of_types(name))),
            introspection: below.introspection,
            oversized: below.oversized.or((page == Page::Oversized).then_some(field.pos)),
        }
    }
}

/// Whether the field describes the schema.
pub(super) fn is_introspection(name: &str) -> bool {
    matches!(name, "__schema" | "__type")
}

/// The fields of the introspection types that lead from a type to many others.
fn is_list_of_types(name: &str) -> bool {
    matches!(name, "fields" | "inputFields" | "interfaces" | "possibleTypes")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    None,
    Of(u64),
    Oversized,
}

/// Reads page sizes from arguments, with the values that the chosen operation's variables have.
pub(super) struct Pages<'a> {
    pub limits: &'a GateLimits,
    pub sent: &'a Variables,
    pub defaults: Variables,
}

impl Pages<'_> {
    fn of(&self, field: &Positioned<Field>, is_connection: bool) -> Page {
        let sizes = ["first", "last", "ids"].into_iter().filter_map(|name| self.argument(field, name));
        match sizes.max() {
            Some(size) if size > self.limits.page_size => Page::Oversized,
            // A field may ignore the argument, so an empty page still counts once.
            Some(size) => Page::Of(size.max(1)),
            None if is_connection => Page::Of(self.limits.default_page_size),
            None => Page::None,
        }
    }

    /// The number in an argument, or the length of its list; nothing when it is absent, null or something else, which
    /// the schema's own validation judges.
    fn argument(&self, field: &Positioned<Field>, name: &str) -> Option<u64> {
        let argument = field.node.get_argument(name)?.node.clone();
        // A variable's value stands in by its magnitude alone, so that a large one is not copied for each use.
        let value = argument.into_const_with(|variable| {
            let value = self.sent.get(&variable).or_else(|| self.defaults.get(&variable));
            Ok::<_, Infallible>(value.and_then(magnitude).map_or(Value::Null, Value::from))
        });
        value.ok().as_ref().and_then(magnitude)
    }
}

fn magnitude(value: &Value) -> Option<u64> {
    match value {
        // A negative, fractional or huge number is no page size; as the largest one it is refused as too large.
        Value::Number(number) => Some(number.as_u64().unwrap_or(u64::MAX)),
        Value::List(items) => Some(items.len() as u64),
        _ => None,
    }
}

//! The limits of the gate, and how a refusal names them.

use std::fmt::Display;

use crate::http::fault::{Code, Fault};

/// What a document may be. The defaults suit every screen of the Studio and a generous partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateLimits {
    /// Bytes of the text.
    pub document_bytes: usize,
    /// Tokens of the text.
    pub tokens: usize,
    /// Brackets of any kind inside each other; it protects the parser's stack.
    pub bracket_depth: usize,
    /// Levels of fields after fragments are expanded.
    pub depth: u32,
    /// Fields, spreads and inline fragments after fragments are expanded, over all operations.
    pub selections: u64,
    /// Aliases in one selection set.
    pub aliases_per_set: usize,
    /// Aliases in the document.
    pub aliases: usize,
    /// Fields of the root after fragments are expanded.
    pub root_fields: u64,
    /// Directives on one node.
    pub directives_per_node: usize,
    /// Directives in the document.
    pub directives: usize,
    /// Operations in the document.
    pub operations: usize,
    /// Fragment definitions in the document.
    pub fragments: usize,
    /// Variables that an operation defines, and that a request sends.
    pub variables: usize,
    /// The largest `first` or `last`, and the longest `ids`.
    pub page_size: u64,
    /// The page size that a connection has when the document names none.
    pub default_page_size: u64,
    /// The estimate of objects that the chosen operation reads; a mutation field counts as ten.
    pub cost: u64,
    /// Levels of fields below `__schema` and `__type`.
    pub introspection_depth: u32,
    /// Lists of fields or types inside each other below `__schema` and `__type`.
    pub introspection_lists: u32,
    /// Selections below `__schema` and `__type`, after expansion.
    pub introspection_selections: u64,
    /// `__schema` and `__type` fields together.
    pub introspection_fields: u64,
}

impl Default for GateLimits {
    fn default() -> Self {
        Self {
            document_bytes: 32 * 1024,
            tokens: 4_000,
            bracket_depth: 64,
            depth: 12,
            selections: 5_000,
            aliases_per_set: 50,
            aliases: 200,
            root_fields: 20,
            directives_per_node: 4,
            directives: 50,
            operations: 10,
            fragments: 100,
            variables: 100,
            page_size: 100,
            default_page_size: 25,
            cost: 10_000,
            introspection_depth: 20,
            introspection_lists: 2,
            introspection_selections: 1_000,
            introspection_fields: 2,
        }
    }
}

/// Refuses what is above its limit. `what` completes the sentence "The document has … <what>".
pub(super) fn at_most<N: PartialOrd + Display>(value: N, limit: N, what: &str) -> Result<(), Fault> {
    if value <= limit {
        return Ok(());
    }
    // A sum that ran into its ceiling is not a number to report.
    Err(Fault::new(Code::CostLimitExceeded, format!("The document has more {what} than the {limit} that are allowed.")))
}

//! The walk over the document that computes sizes and enforces the limits on the text itself.

use std::collections::{HashMap, HashSet};

use async_graphql::Positioned;
use async_graphql::parser::types::{Directive, ExecutableDocument, Field, FragmentSpread, Selection, SelectionSet};

use super::limits::{GateLimits, at_most};
use super::size::{Pages, Size};
use crate::http::fault::{Code, Fault, excerpt};

/// How deep the walk itself may descend, spreads and inline fragments included; it protects the stack. A chain of
/// fragments that passes it is either far too deep or nothing but a chain.
const DESCENT: u32 = 256;

/// One walk over one document.
pub(super) struct Walk<'a> {
    document: &'a ExecutableDocument,
    limits: &'a GateLimits,
    pages: Pages<'a>,
    known: HashMap<&'a str, Size>,
    open: HashSet<&'a str>,
    aliases: usize,
    directives: usize,
    descent: u32,
}

impl<'a> Walk<'a> {
    pub(super) fn new(document: &'a ExecutableDocument, pages: Pages<'a>) -> Self {
        let limits = pages.limits;
        Self {
            document,
            limits,
            pages,
            known: HashMap::new(),
            open: HashSet::new(),
            aliases: 0,
            directives: 0,
            descent: 0,
        }
    }

    /// The size of a selection set, with its fragments expanded.
    pub(super) fn set(&mut self, set: &'a SelectionSet) -> Result<Size, Fault> {
        self.descent += 1;
        at_most(self.descent, DESCENT, "levels of fragments")?;
        let mut size = Size::default();
        let mut aliases = 0;
        for selection in &set.items {
            self.directives(selection.node.directives())?;
            match &selection.node {
                Selection::Field(field) => {
                    aliases += usize::from(field.node.alias.is_some());
                    size.add(self.field(field)?);
                }
                Selection::InlineFragment(fragment) => {
                    size.selections = size.selections.saturating_add(1);
                    size.add(self.set(&fragment.node.selection_set.node)?);
                }
                Selection::FragmentSpread(spread) => {
                    size.selections = size.selections.saturating_add(1);
                    size.add(self.spread(spread)?);
                }
            }
        }
        at_most(aliases, self.limits.aliases_per_set, "aliases in one selection set")?;
        self.aliases += aliases;
        at_most(self.aliases, self.limits.aliases, "aliases")?;
        self.descent -= 1;
        Ok(size)
    }

    /// The size of a fragment, computed at its first use.
    pub(super) fn fragment(&mut self, name: &'a str) -> Result<Option<Size>, Fault> {
        if let Some(size) = self.known.get(name) {
            return Ok(Some(*size));
        }
        let Some(fragment) = self.document.fragments.get(name) else { return Ok(None) };
        if !self.open.insert(name) {
            let message = format!("The fragment \"{}\" spreads itself.", excerpt(name, 100));
            return Err(Fault::new(Code::ValidationFailed, message).at(fragment.pos));
        }
        self.directives(&fragment.node.directives)?;
        let size = self.set(&fragment.node.selection_set.node)?;
        self.open.remove(name);
        self.known.insert(name, size);
        Ok(Some(size))
    }

    /// Counts the directives of one node.
    pub(super) fn directives(&mut self, directives: &[Positioned<Directive>]) -> Result<(), Fault> {
        at_most(directives.len(), self.limits.directives_per_node, "directives in one place")?;
        self.directives += directives.len();
        at_most(self.directives, self.limits.directives, "directives")
    }

    fn field(&mut self, field: &'a Positioned<Field>) -> Result<Size, Fault> {
        let below = self.set(&field.node.selection_set.node)?;
        Ok(Size::of_field(field, below, &self.pages))
    }

    fn spread(&mut self, spread: &'a Positioned<FragmentSpread>) -> Result<Size, Fault> {
        let name = spread.node.fragment_name.node.as_str();
        self.fragment(name)?.ok_or_else(|| {
            let message = format!("The fragment \"{}\" is not defined.", excerpt(name, 100));
            Fault::new(Code::ValidationFailed, message).at(spread.pos)
        })
    }
}

//! The gate is what a document passes before the schema sees it.
//!
//! The rule: a document is parsed once, its fragments are sized once each, and everything that could make validation or
//! execution dear is refused here with a code, since the schema's own limits walk every path of the expansion. The
//! gate does not know the schema: whether a field exists is for the schema's validation to say.

mod limits;
mod scan;
mod size;
mod walk;

use async_graphql::parser::types::{
    DocumentOperations, ExecutableDocument, OperationDefinition, OperationType, Selection, VariableDefinition,
};
use async_graphql::parser::{Error as ParseError, parse_query};
use async_graphql::{Positioned, Value, Variables};

pub use limits::GateLimits;

use self::limits::at_most;
use self::size::{Pages, Size};
use self::walk::Walk;
use super::fault::{Code, Fault, excerpt};

/// A request as far as the gate reads it.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The text of the document.
    pub query: &'a str,
    /// Which operation is to run.
    pub operation_name: Option<&'a str>,
    /// The values of its variables.
    pub variables: &'a Variables,
    /// Who asks.
    pub audience: Audience,
}

/// Who asks, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Nobody known: no introspection, no suggestions.
    Anonymous,
    /// A caller with valid credentials.
    Authenticated,
}

/// A document that may be executed.
#[derive(Debug)]
pub struct Admitted {
    /// The parsed text, to be handed on so that nobody parses it again.
    pub document: ExecutableDocument,
    /// What the chosen operation is.
    pub kind: OperationType,
    /// The estimate of objects that it reads.
    pub cost: u64,
}

/// Parses and judges a document.
pub fn admit(candidate: Candidate<'_>, limits: &GateLimits) -> Result<Admitted, Fault> {
    scan::scan(candidate.query, limits)?;
    let document = parse_query(candidate.query).map_err(parse_fault)?;
    at_most(document.operations.iter().count(), limits.operations, "operations")?;
    at_most(document.fragments.len(), limits.fragments, "fragments")?;
    at_most(candidate.variables.len(), limits.variables, "variables")?;

    let chosen = choose(&document, candidate.operation_name)?;
    let kind = chosen.node.ty;
    let size = measure(&document, chosen, candidate.variables, limits)?;
    if kind == OperationType::Subscription {
        require_one_plain_root_field(chosen)?;
    }
    let cost = judge(&size, kind, candidate.audience, limits)?;
    require_values(&chosen.node, candidate.variables)?;
    Ok(Admitted { document, kind, cost })
}

/// The operation that the request means.
fn choose<'a>(
    document: &'a ExecutableDocument,
    name: Option<&str>,
) -> Result<&'a Positioned<OperationDefinition>, Fault> {
    let unknown = || {
        let name = excerpt(name.unwrap_or_default(), 100);
        Fault::new(Code::ValidationFailed, format!("The document has no operation named \"{name}\"."))
    };
    match (&document.operations, name) {
        (DocumentOperations::Single(operation), None) => Ok(operation),
        (DocumentOperations::Single(_), Some(_)) => Err(unknown()),
        (DocumentOperations::Multiple(operations), Some(name)) => operations.get(name).ok_or_else(unknown),
        (DocumentOperations::Multiple(operations), None) => match operations.values().next() {
            Some(operation) if operations.len() == 1 => Ok(operation),
            _ => {
                let message = "The document has several operations; name one in \"operationName\".";
                Err(Fault::new(Code::ValidationFailed, message))
            }
        },
    }
}

/// Sizes every operation and fragment, since validation walks all of them, and returns the chosen one's.
fn measure(
    document: &ExecutableDocument,
    chosen: &Positioned<OperationDefinition>,
    variables: &Variables,
    limits: &GateLimits,
) -> Result<Size, Fault> {
    let pages = Pages { limits, sent: variables, defaults: defaults_of(&chosen.node) };
    let mut walk = Walk::new(document, pages);
    let mut selections = 0_u64;
    let mut size = Size::default();
    for (_, operation) in document.operations.iter() {
        at_most(operation.node.variable_definitions.len(), limits.variables, "variables")?;
        walk.directives(&operation.node.directives)?;
        for definition in &operation.node.variable_definitions {
            walk.directives(&definition.node.directives)?;
        }
        let own = walk.set(&operation.node.selection_set.node)?;
        selections = selections.saturating_add(own.selections);
        if std::ptr::eq(operation, chosen) {
            size = own;
        }
    }
    at_most(selections, limits.selections, "selections after its fragments are expanded")?;
    for name in document.fragments.keys() {
        let unused_too = walk.fragment(name)?.unwrap_or_default();
        at_most(unused_too.selections, limits.selections, "selections after its fragments are expanded")?;
    }
    Ok(size)
}

/// Holds the chosen operation's size against the limits; returns its cost.
fn judge(size: &Size, kind: OperationType, audience: Audience, limits: &GateLimits) -> Result<u64, Fault> {
    if size.introspection.fields > 0 && audience == Audience::Anonymous {
        let message = "Introspection needs valid credentials; the schema is also published as a file.";
        return Err(Fault::new(Code::Unauthenticated, message));
    }
    at_most(size.depth, limits.depth, "levels of fields")?;
    at_most(size.fields, limits.root_fields, "root fields")?;
    at_most(size.introspection.fields, limits.introspection_fields, "introspection fields")?;
    at_most(size.introspection.depth, limits.introspection_depth, "levels of introspection")?;
    at_most(size.introspection.lists, limits.introspection_lists, "nested lists of types in its introspection")?;
    at_most(size.introspection.selections, limits.introspection_selections, "selections in its introspection")?;
    if let Some(position) = size.oversized {
        let message =
            format!("A page must have 1 to {} elements, and a list of ids not more than that.", limits.page_size);
        return Err(Fault::new(Code::BadUserInput, message).at(position));
    }
    let surcharge = if kind == OperationType::Mutation { size.fields.saturating_mul(10) } else { 0 };
    let cost = size.cost.saturating_add(surcharge);
    at_most(cost, limits.cost, "estimated objects")?;
    Ok(cost)
}

/// A subscription has one root field, written as such: behind a fragment or a condition it would yield no events.
fn require_one_plain_root_field(operation: &Positioned<OperationDefinition>) -> Result<(), Fault> {
    let refuse = |message: &str| Err(Fault::new(Code::ValidationFailed, message).at(operation.pos));
    let [selection] = operation.node.selection_set.node.items.as_slice() else {
        return refuse("A subscription must have exactly one root field.");
    };
    match &selection.node {
        Selection::Field(field) if field.node.name.node.starts_with("__") => {
            refuse("The root field of a subscription must not be an introspection field.")
        }
        Selection::Field(field) if !field.node.directives.is_empty() => {
            refuse("The root field of a subscription must not have directives.")
        }
        Selection::Field(_) => Ok(()),
        Selection::FragmentSpread(_) | Selection::InlineFragment(_) => {
            refuse("The root field of a subscription must be written out, not spread from a fragment.")
        }
    }
}

/// The schema's validation passes over a required variable without a value, and execution would stumble on it.
fn require_values(operation: &OperationDefinition, sent: &Variables) -> Result<(), Fault> {
    for definition in &operation.variable_definitions {
        let VariableDefinition { name, var_type, default_value, .. } = &definition.node;
        let is_missing = match sent.get(&name.node) {
            None => default_value.is_none(),
            Some(value) => *value == Value::Null,
        };
        if is_missing && !var_type.node.nullable {
            let message = format!("The variable \"${}\" needs a value.", excerpt(&name.node, 100));
            return Err(Fault::new(Code::BadUserInput, message).at(definition.pos));
        }
    }
    Ok(())
}

fn defaults_of(operation: &OperationDefinition) -> Variables {
    let mut defaults = Variables::default();
    for definition in &operation.variable_definitions {
        if let Some(value) = &definition.node.default_value {
            defaults.insert(definition.node.name.node.clone(), value.node.clone());
        }
    }
    defaults
}

/// A parse error without the parser's drawing of the source line, which can be as long as the document.
fn parse_fault(error: ParseError) -> Fault {
    let locations: Vec<_> = error.positions().collect();
    let detail = match &error {
        ParseError::Syntax { message, .. } => message
            .lines()
            .last()
            .and_then(|line| line.trim_start().strip_prefix("= "))
            .unwrap_or("unexpected text")
            .into(),
        other => other.to_string(),
    };
    Fault { code: Code::ParseFailed, message: format!("Syntax error: {}", excerpt(&detail, 200)), locations }
}

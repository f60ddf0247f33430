//! The differential test: several clients perform the same operations against one server, and what they report is
//! compared field by field.
//!
//! - [`plan`]: the operations, and what each driver is told.
//! - [`driver`]: runs a driver, which speaks with one client, and reads its answers.
//! - [`fields`]: an answer as fields that can be compared, with what differs by nature replaced by its kind.
//! - [`known`]: the checked-in list of differences that are right.
//!
//! Rule: a difference that the list does not have is a fault, and so is an entry that matches none.

pub mod driver;
pub mod fields;
pub mod known;
pub mod plan;

use std::collections::BTreeMap;

use driver::{Answer, Report};
use fields::Fields;
use known::Known;

/// One field in which a client reports something else than ours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The operation's name.
    pub operation: String,
    /// The other client.
    pub client: String,
    /// The field's path in the answer.
    pub field: String,
    /// What our client reports, as JSON, or `absent`.
    pub ours: String,
    /// What the other client reports, as JSON, or `absent`.
    pub theirs: String,
}

impl Difference {
    /// As an entry of the list, for whoever has found that it is right.
    pub fn to_entry(&self) -> String {
        let text = |value: &str| if value.contains('\'') { format!("'''{value}'''") } else { format!("'{value}'") };
        let Self { operation, client, field, ours, theirs } = self;
        format!(
            "[[difference]]\noperation = {}\nclient = {}\nfield = {}\nours = {}\ntheirs = {}\nwhy = \nreference = \n",
            text(operation),
            text(client),
            text(field),
            text(ours),
            text(theirs)
        )
    }
}

/// Everything in which `theirs` reports something else than `ours`. Operations that one of the two lacks are left out.
pub fn compare(ours: &Report, theirs: &Report) -> Vec<Difference> {
    let mut found = Vec::new();
    for (operation, our_answer) in &ours.answers {
        let (Answer::Given(our_fields), Some(Answer::Given(their_fields))) =
            (our_answer, theirs.answers.get(operation))
        else {
            continue;
        };
        for (field, ours, their) in differing(our_fields, their_fields) {
            let client = theirs.client.clone();
            found.push(Difference { operation: operation.clone(), client, field, ours, theirs: their });
        }
    }
    found
}

fn differing(ours: &Fields, theirs: &Fields) -> Vec<(String, String, String)> {
    // A success against a failure is one difference, however many members they have; so are failures of two classes.
    if ours.outcome != theirs.outcome || ours.class() != theirs.class() {
        return vec![("outcome".to_owned(), ours.whole(), theirs.whole())];
    }
    let mut names: Vec<&String> = ours.values.keys().chain(theirs.values.keys()).collect();
    names.sort();
    names.dedup();
    let value = |fields: &Fields, name: &str| fields.values.get(name).cloned().unwrap_or_else(|| "absent".to_owned());
    let pairs = names.into_iter().map(|name| (name.clone(), value(ours, name), value(theirs, name)));
    pairs.filter(|(_, ours, theirs)| ours != theirs).collect()
}

/// Whether an entry that matches nothing is a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmatched {
    /// On the server for which the list was written.
    Fault,
    /// On any other, which may have no such difference.
    Fine,
}

/// What does not fit the list: differences and gaps that it does not have, and entries that match nothing. The first
/// report is ours.
pub fn judge(reports: &[Report], known: &Known, unmatched: Unmatched) -> Vec<String> {
    let Some((ours, others)) = reports.split_first() else { return vec!["nobody has reported".to_owned()] };
    let mut matches = known::Matches::new(known);
    let mut faults = Vec::new();
    for difference in others.iter().flat_map(|theirs| compare(ours, theirs)) {
        if !matches.difference(&difference) {
            faults.push(format!("A difference that is not in the list:\n{}", difference.to_entry()));
        }
    }
    for (client, what) in reports.iter().flat_map(gaps) {
        if !matches.gap(&client, &what) {
            faults.push(format!("A call that {client} lacks and the list does not have: {what}"));
        }
    }
    if unmatched == Unmatched::Fault {
        faults.extend(matches.stale());
    }
    faults
}

/// The calls and arguments that a client does not have, each once.
fn gaps(report: &Report) -> Vec<(String, String)> {
    let missing = report.answers.values().filter_map(|answer| match answer {
        Answer::Unsupported(what) => Some((what.clone(), report.client.clone())),
        Answer::Given(_) => None,
    });
    let once: BTreeMap<String, String> = missing.collect();
    once.into_iter().map(|(what, client)| (client, what)).collect()
}

#[cfg(test)]
mod tests;

//! Reads the arguments of a tool call by name. A fault names the field, the rule, and what to do.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::arguments::{Arguments, Fault};

/// Arguments that are taken out one by one; what is left over is a fault.
#[derive(Debug)]
pub(super) struct Fields {
    left: Arguments,
    known: Vec<&'static str>,
}

impl Fields {
    pub(super) fn new(arguments: Arguments) -> Self {
        Self { left: arguments, known: Vec::new() }
    }

    /// A text that must be there.
    pub(super) fn text(&mut self, name: &'static str) -> Result<String, Fault> {
        let missing = || Fault::invalid(format!("{name}: is missing. Give a string."));
        self.optional_text(name)?.ok_or_else(missing)
    }

    /// A text that may be left out.
    pub(super) fn optional_text(&mut self, name: &'static str) -> Result<Option<String>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Fault::invalid(format!("{name}: must be a string. Give it in quotes."))),
        }
    }

    /// A whole number that may be left out.
    pub(super) fn integer(&mut self, name: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>, Fault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let whole = value.as_f64().filter(|number| number.fract() == 0.0).and_then(|_| value.as_u64());
        let rule = || match (*range.start(), *range.end()) {
            (least, u64::MAX) => format!("a whole number of at least {least}"),
            (least, most) => format!("a whole number from {least} to {most}"),
        };
        let fault = || Fault::invalid(format!("{name}: must be {}. Give such a number, or leave it out.", rule()));
        whole.filter(|number| range.contains(number)).map(Some).ok_or_else(fault)
    }

    /// A flag; false when it is left out.
    pub(super) fn flag(&mut self, name: &'static str) -> Result<bool, Fault> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(Fault::invalid(format!("{name}: must be true or false. Leave it out for false."))),
        }
    }

    /// Refuses what no tool of this name takes.
    pub(super) fn end(self) -> Result<(), Fault> {
        let Some(unknown) = self.left.keys().next() else { return Ok(()) };
        let name: String = unknown.chars().filter(|c| !c.is_control()).take(60).collect();
        let known = self.known.join(", ");
        Err(Fault::invalid(format!("{name}: is no argument of this tool. Leave it out; there are {known}.")))
    }

    /// None also for null, which some models send for what they leave out.
    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.left.remove(name).filter(|value| !value.is_null())
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::parse_strict;
    use super::*;

    fn fields(text: &str) -> Fields {
        Fields::new(parse_strict(text).unwrap())
    }

    #[test]
    fn a_fault_names_the_field_the_rule_and_the_fix() {
        let message = |fault: Fault| fault.message;
        assert_eq!(fields("{}").text("path").map_err(message), Err("path: is missing. Give a string.".to_owned()));
        assert_eq!(
            fields(r#"{"path":1}"#).text("path").map_err(message),
            Err("path: must be a string. Give it in quotes.".to_owned())
        );
        for bad in [r#"{"limit":0}"#, r#"{"limit":"5"}"#, r#"{"limit":1.5}"#, r#"{"limit":-1}"#, r#"{"limit":11}"#] {
            assert_eq!(
                fields(bad).integer("limit", 1..=10).map_err(message),
                Err("limit: must be a whole number from 1 to 10. Give such a number, or leave it out.".to_owned()),
                "{bad}"
            );
        }
        let mut one = fields(r#"{"path":"a","uid":0}"#);
        one.text("path").unwrap();
        assert_eq!(
            one.end().map_err(message),
            Err("uid: is no argument of this tool. Leave it out; there are path.".to_owned())
        );
    }

    #[test]
    fn what_is_null_is_left_out() {
        let mut some = fields(r#"{"a":null,"b":null,"c":null,"d":7}"#);
        assert_eq!(
            (some.optional_text("a"), some.integer("b", 1..=2), some.flag("c")),
            (Ok(None), Ok(None), Ok(false))
        );
        assert_eq!((some.integer("d", 0..=u64::MAX), some.end()), (Ok(Some(7)), Ok(())));
    }
}

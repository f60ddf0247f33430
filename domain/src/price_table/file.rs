//! Reading a price file: JSON whose numbers keep their digits. Every fault is named with its place, its rule and its
//! mend, all of them at once.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::model::{ModelName, PriceLine};
use crate::clock::Timestamp;
use crate::error::InvalidInput;
use crate::money::{NanoUsd, Price};

/// Bytes of a file at most.
pub const MOST_BYTES: usize = 128 * 1024;
/// Lines of a file at most.
pub const MOST_LINES: usize = 500;

/// The version of the format that this program reads.
const FORMAT: &str = "1";
/// Dollars per million; beyond it a price is a slip of the pen, and sums could overflow.
const MOST_PRICE: NanoUsd = NanoUsd(1_000_000 * 1_000_000_000);

/// Reads a price file. `at` is where the file stands in the caller's input.
pub fn read_price_file(text: &str, at: &[&str]) -> Result<Vec<PriceLine>, Vec<InvalidInput>> {
    let mut reader = Reader { faults: Vec::new() };
    let at: Vec<String> = at.iter().map(ToString::to_string).collect();
    let lines = reader.file(text, &at).unwrap_or_default();
    if reader.faults.is_empty() { Ok(lines) } else { Err(reader.faults) }
}

struct Reader {
    faults: Vec<InvalidInput>,
}

/// The members of a JSON object, each as it was written.
type Members<'a> = BTreeMap<String, &'a RawValue>;

impl Reader {
    fn file(&mut self, text: &str, at: &[String]) -> Option<Vec<PriceLine>> {
        if text.len() > MOST_BYTES {
            self.fault(at, "TOO_LARGE", format!("must be at most {} KiB; split the file", MOST_BYTES / 1024));
            return None;
        }
        let mut members = self.members(text, at, &["formatVersion", "prices"])?;
        if members.remove("formatVersion").is_some_and(|version| version.get() != FORMAT) {
            self.fault(&below(at, "formatVersion"), "UNKNOWN_FORMAT", format!("must be {FORMAT}"));
        }
        let prices = self.required(&mut members, at, "prices")?;
        let at = below(at, "prices");
        let Ok(written) = serde_json::from_str::<Vec<&RawValue>>(prices.get()) else {
            self.fault(&at, "MALFORMED", "must be a list of prices");
            return None;
        };
        if written.is_empty() || written.len() > MOST_LINES {
            self.fault(&at, "OUT_OF_RANGE", format!("must hold 1 to {MOST_LINES} prices"));
            return None;
        }
        let mut seen: BTreeMap<(ModelName, Timestamp), usize> = BTreeMap::new();
        let mut lines = Vec::with_capacity(written.len());
        for (index, line) in written.into_iter().enumerate() {
            let at = below(&at, &index.to_string());
            let Some(line) = self.line(line.get(), &at) else { continue };
            if let Some(earlier) = seen.insert((line.model.clone(), line.valid_from), index) {
                let rule = format!("is the same model and moment as prices.{earlier}; keep one of them");
                self.fault(&at, "DUPLICATE", rule);
            }
            lines.push(line);
        }
        Some(lines)
    }

    fn line(&mut self, text: &str, at: &[String]) -> Option<PriceLine> {
        let known = ["provider", "deployment", "currency", "validFrom", "perMillion"];
        let mut members = self.members(text, at, &known)?;
        let provider = self.name(&mut members, at, "provider");
        let deployment = self.name(&mut members, at, "deployment");
        let valid_from = self.moment(&mut members, at);
        let currency = self.required(&mut members, at, "currency").map(RawValue::get);
        if currency.is_some_and(|currency| currency != "\"USD\"") {
            self.fault(&below(at, "currency"), "UNKNOWN_CURRENCY", "must be \"USD\"; convert the prices first");
        }
        let price = match self.required(&mut members, at, "perMillion") {
            Some(written) => self.price(written.get(), &below(at, "perMillion")),
            None => None,
        };
        let model = ModelName { provider: provider?, deployment: deployment? };
        Some(PriceLine { model, valid_from: valid_from?, price: price? })
    }

    fn price(&mut self, text: &str, at: &[String]) -> Option<Price> {
        let mut members = self.members(text, at, &["input", "cachedInput", "output", "reasoning"])?;
        let input = self.required(&mut members, at, "input");
        let input = input.and_then(|written| self.usd(written.get(), &below(at, "input")));
        let output = self.required(&mut members, at, "output");
        let output = output.and_then(|written| self.usd(written.get(), &below(at, "output")));
        let cached = members.remove("cachedInput").map(|written| self.usd(written.get(), &below(at, "cachedInput")));
        let reasoning = members.remove("reasoning").map(|written| self.usd(written.get(), &below(at, "reasoning")));
        Some(Price {
            input_per_million: input?,
            cached_input_per_million: cached.unwrap_or(input)?,
            output_per_million: output?,
            reasoning_per_million: match reasoning {
                Some(reasoning) => Some(reasoning?),
                None => None,
            },
        })
    }

    /// Dollars, as text or as a number; the digits count, and no float comes in between.
    fn usd(&mut self, written: &str, at: &[String]) -> Option<NanoUsd> {
        let digits = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(written);
        let decimals = digits.split_once('.').map_or("", |(_, decimals)| decimals);
        if decimals.len() > 9 && decimals.bytes().all(|byte| byte.is_ascii_digit()) {
            let rule = "must have at most 9 decimals, a billionth of a dollar; round it as your contract says";
            self.fault(at, "TOO_PRECISE", rule);
            return None;
        }
        let amount = NanoUsd::from_usd_text(digits);
        if amount.is_some_and(|amount| amount > MOST_PRICE) {
            self.fault(at, "OUT_OF_RANGE", "must be at most 1000000 dollars for a million; is it a price for one?");
            return None;
        }
        if amount.is_none() {
            let rule = "must be dollars for a million as a plain decimal, for example \"0.25\": no sign, no exponent";
            self.fault(at, "MALFORMED", rule);
        }
        amount
    }

    fn name(&mut self, members: &mut Members<'_>, at: &[String], field: &'static str) -> Option<String> {
        let written = self.required(members, at, field)?;
        let text: Option<String> = serde_json::from_str(written.get()).ok();
        let text = text.filter(|text| !text.trim().is_empty() && text.len() <= 200);
        if text.is_none() {
            self.fault(&below(at, field), "MALFORMED", "must be a text of 1 to 200 bytes, as the model says it");
        }
        text
    }

    fn moment(&mut self, members: &mut Members<'_>, at: &[String]) -> Option<Timestamp> {
        let written = self.required(members, at, "validFrom")?;
        let text: Option<String> = serde_json::from_str(written.get()).ok();
        let moment = text.and_then(|text| Timestamp::from_rfc3339(&text)).filter(|moment| moment.as_micros() >= 0);
        if moment.is_none() {
            let rule = "must be a moment in RFC 3339 since 1970, for example \"2026-01-01T00:00:00Z\"";
            self.fault(&below(at, "validFrom"), "MALFORMED", rule);
        }
        moment
    }

    /// The members of an object, none of them unknown and none twice.
    fn members<'a>(&mut self, text: &'a str, at: &[String], known: &[&str]) -> Option<Members<'a>> {
        let written = match serde_json::from_str::<RawObject<'a>>(text) {
            Ok(object) => object.0,
            Err(error) => {
                self.fault(at, "MALFORMED", format!("must be a JSON object with {}: {error}", known.join(", ")));
                return None;
            }
        };
        let mut members = Members::new();
        for (key, value) in written {
            if !known.contains(&key.as_str()) {
                let key: String = key.chars().take(60).filter(|letter| !letter.is_control()).collect();
                self.fault(&below(at, &key), "UNKNOWN_FIELD", format!("is not known; known are {}", known.join(", ")));
            } else if members.insert(key.clone(), value).is_some() {
                self.fault(&below(at, &key), "DUPLICATE", "stands twice; remove one");
            }
        }
        Some(members)
    }

    fn required<'a>(&mut self, members: &mut Members<'a>, at: &[String], field: &str) -> Option<&'a RawValue> {
        let member = members.remove(field);
        if member.is_none() {
            self.fault(&below(at, field), "MISSING", "is missing; write it");
        }
        member
    }

    fn fault(&mut self, at: &[String], code: &'static str, message: impl Into<String>) {
        self.faults.push(InvalidInput { path: at.to_vec(), code, message: message.into() });
    }
}

fn below(at: &[String], field: &str) -> Vec<String> {
    at.iter().cloned().chain([field.to_owned()]).collect()
}

/// An object as its members were written, in their order.
struct RawObject<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawObjectVisitor)
    }
}

struct RawObjectVisitor;

impl<'de> Visitor<'de> for RawObjectVisitor {
    type Value = RawObject<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<RawObject<'de>, A::Error> {
        let mut written = Vec::new();
        while let Some(member) = members.next_entry()? {
            written.push(member);
        }
        Ok(RawObject(written))
    }
}

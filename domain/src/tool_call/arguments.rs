//! Arguments: strict parsing and the fingerprint.

use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Arguments of a call: a JSON object.
pub type Arguments = Map<String, Value>;

/// What is wrong with arguments: a code, and a message that names field, rule and fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub code: &'static str,
    pub message: String,
}

impl Fault {
    pub(super) fn new(code: &'static str, message: String) -> Self {
        Self { code, message }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new("INVALID_TOOL_ARGUMENTS", message.into())
    }
}

/// Parses arguments. They must be one JSON object without duplicate keys at any depth and nothing behind it: what a
/// provider cut off is not repaired. The error says what is wrong and where, and quotes nothing.
pub fn parse_strict(text: &str) -> Result<Arguments, String> {
    // A tool without arguments is called with an empty text by some providers.
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut deserializer).map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    match value {
        Value::Object(map) => Ok(map),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err("must be a JSON object".to_owned())
        }
    }
}

/// Hexadecimal SHA-256 over the tool's name and its arguments in canonical JSON: RFC 8785 (keys sorted, no white space),
/// but an integer keeps all its digits, since two neighbouring 64-bit ids are two calls. Arguments that are no JSON count
/// as their raw text.
pub fn fingerprint(tool: &str, arguments: &str) -> String {
    let canonical = match parse_strict(arguments) {
        Ok(map) if map.is_empty() => "{}".to_owned(),
        Ok(_) => canonical(arguments).unwrap_or_else(|_| arguments.to_owned()),
        Err(_) => arguments.to_owned(),
    };
    let mut hash = Sha256::new();
    hash.update(tool.as_bytes());
    hash.update([0]);
    hash.update(canonical.as_bytes());
    data_encoding::HEXLOWER.encode(&hash.finalize())
}

/// Works on the text, since a parsed number may have lost digits. The text was parsed before, and so is not too deep.
fn canonical(text: &str) -> Result<String, serde_json::Error> {
    let text = text.trim();
    match text.as_bytes().first() {
        Some(b'{') => {
            let map: HashMap<String, &RawValue> = serde_json::from_str(text)?;
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            let members: Result<Vec<_>, serde_json::Error> = members
                .into_iter()
                .map(|(key, value)| Ok(format!("{}:{}", Value::from(key.as_str()), canonical(value.get())?)))
                .collect();
            Ok(format!("{{{}}}", members?.join(",")))
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            let items: Result<Vec<_>, _> = items.into_iter().map(|item| canonical(item.get())).collect();
            Ok(format!("[{}]", items?.join(",")))
        }
        Some(b'"') => Ok(Value::from(serde_json::from_str::<String>(text)?).to_string()),
        Some(b'-' | b'0'..=b'9') => canonical_number(text),
        Some(_) | None => Ok(text.to_owned()),
    }
}

/// 1.0, 1e0 and 1 are the same number, and so are 0 and -0.
fn canonical_number(text: &str) -> Result<String, serde_json::Error> {
    const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(if digits == "0" { digits.to_owned() } else { text.to_owned() });
    }
    let number: f64 = serde_json::from_str(text)?;
    if number.fract() == 0.0 && number.abs() < EXACT_BELOW {
        return Ok(format!("{:.0}", number + 0.0));
    }
    Ok(Value::from(number).to_string())
}

/// Reads any JSON value and refuses duplicate keys, which `serde_json::Value` would silently merge.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(Self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(Self)?;
            if map.insert(key, value).is_some() {
                return Err(serde::de::Error::custom("a key stands twice"));
            }
        }
        Ok(Value::Object(map))
    }
}

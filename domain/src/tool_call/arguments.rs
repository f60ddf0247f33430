//! Arguments: strict parsing and the fingerprint.

use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Arguments of a call: a JSON object.
pub type Arguments = Map<String, Value>;

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

/// Hexadecimal SHA-256 over the tool's name and its arguments in canonical JSON (RFC 8785 for what models write: keys
/// sorted, no white space, integers in decimal). Arguments that are no JSON count as their raw text.
pub fn fingerprint(tool: &str, arguments: &str) -> String {
    let canonical = match parse_strict(arguments) {
        Ok(map) => canonical(&Value::Object(map)),
        Err(_) => arguments.to_owned(),
    };
    let mut hash = Sha256::new();
    hash.update(tool.as_bytes());
    hash.update([0]);
    hash.update(canonical.as_bytes());
    data_encoding::HEXLOWER.encode(&hash.finalize())
}

fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.keys().collect();
            keys.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            let members: Vec<_> =
                keys.into_iter().map(|key| format!("{}:{}", Value::from(key.as_str()), canonical(&map[key]))).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        // 1.0 and 1 are the same number.
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => format!("{float:.0}"),
            Some(_) | None => number.to_string(),
        },
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
    }
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

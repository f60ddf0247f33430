//! Scalars of the API: whole numbers of 64 bits, exact decimals, moments, and JSON that keeps its text.

use async_graphql::indexmap::IndexMap;
use async_graphql::{InputValueError, InputValueResult, Name, Scalar, ScalarType, Value};
use domain::clock::Timestamp;
use domain::money::NanoUsd;

/// What a value of a scalar must be, for the message that refuses one. None for types that need no words.
pub fn rule_of(type_name: &str) -> Option<&'static str> {
    match type_name {
        "BigInt" => Some("a whole number of 64 bits, as a string or a number"),
        "Decimal" => Some("a decimal number as a string, such as \"0.05\""),
        "DateTime" => Some("a moment in RFC 3339, such as \"2030-01-31T12:00:00Z\""),
        "Int" => Some("a whole number from -2147483648 to 2147483647"),
        _ => None,
    }
}

/// A whole number of up to 64 bits: printed as a string, accepted as a string or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BigInt(i128);

/// A whole number of up to 64 bits: printed as a string, accepted as a string or a number.
#[Scalar(name = "BigInt")]
impl ScalarType for BigInt {
    fn parse(value: Value) -> InputValueResult<Self> {
        Self::read(&value).ok_or_else(|| InputValueError::expected_type(value))
    }

    fn is_valid(value: &Value) -> bool {
        Self::read(value).is_some()
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}

impl BigInt {
    fn read(value: &Value) -> Option<Self> {
        let number = match value {
            Value::String(text) if is_whole(text) => text.parse::<i128>().ok(),
            Value::Number(number) => number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)),
            _ => None,
        };
        let fits = |number: &i128| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(number);
        number.filter(fits).map(Self)
    }

    /// The number, or 0 when it is negative, so that the rule "greater than 0" reports it.
    pub fn to_u64_or_zero(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0)
    }
}

impl From<u64> for BigInt {
    fn from(number: u64) -> Self {
        Self(number.into())
    }
}

impl From<i64> for BigInt {
    fn from(number: i64) -> Self {
        Self(number.into())
    }
}

fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.len() <= 20 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

const MAX_DECIMAL_BYTES: usize = 64;

/// An exact decimal number, such as 0.0142.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal(pub String);

/// An exact decimal number as a string.
#[Scalar(name = "Decimal")]
impl ScalarType for Decimal {
    fn parse(value: Value) -> InputValueResult<Self> {
        match value {
            Value::String(text) if text.len() <= MAX_DECIMAL_BYTES => Ok(Self(text)),
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn is_valid(value: &Value) -> bool {
        matches!(value, Value::String(text) if text.len() <= MAX_DECIMAL_BYTES)
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.clone())
    }
}

impl From<NanoUsd> for Decimal {
    fn from(amount: NanoUsd) -> Self {
        Self(amount.to_usd_text())
    }
}

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime(pub Timestamp);

/// A moment in RFC 3339, UTC, with microseconds.
#[Scalar(name = "DateTime", specified_by_url = "https://scalars.graphql.org/andimarek/date-time")]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        Self::read(&value).ok_or_else(|| InputValueError::expected_type(value))
    }

    fn is_valid(value: &Value) -> bool {
        Self::read(value).is_some()
    }

    fn to_value(&self) -> Value {
        // Years outside 0 to 9999 have no RFC 3339 form; no clock of ours gives one.
        self.0.to_rfc3339().map_or(Value::Null, Value::String)
    }
}

impl DateTime {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Timestamp::from_rfc3339(text).map(Self),
            _ => None,
        }
    }
}

impl From<Timestamp> for DateTime {
    fn from(moment: Timestamp) -> Self {
        Self(moment)
    }
}

/// A JSON value. When it comes from storage, it goes out as the stored text, byte for byte.
#[derive(Debug, Clone, PartialEq)]
pub struct Json(pub Value);

/// The member by which `serde_json` and async-graphql know raw text.
const RAW_TOKEN: &str = "$serde_json::private::RawValue";

/// A JSON value that a user, a model or a tool shaped.
#[Scalar(name = "JSON")]
impl ScalarType for Json {
    fn parse(value: Value) -> InputValueResult<Self> {
        Ok(Self(value))
    }

    fn to_value(&self) -> Value {
        self.0.clone()
    }
}

impl Json {
    /// JSON text that is known to be valid.
    pub fn raw(text: impl Into<String>) -> Self {
        Self(Value::Object(IndexMap::from([(Name::new(RAW_TOKEN), Value::String(text.into()))])))
    }

    /// Text that may be JSON; None when it is not.
    pub fn parse_text(text: String) -> Option<Self> {
        serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok().then(|| Self::raw(text))
    }

    /// Anything of ours that serialises; None when it does not.
    pub fn of(value: &impl serde::Serialize) -> Option<Self> {
        serde_json::to_string(value).ok().map(Self::raw)
    }

    /// A value of ours.
    pub fn object(members: &serde_json::Map<String, serde_json::Value>) -> Self {
        Self(Value::from_json(serde_json::Value::Object(members.clone())).unwrap_or_default())
    }
}

/// A number that the schema shows as `Int`. What does not fit stays at the greatest one.
pub fn int(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

//! From values to columns and back. A column that does not hold what this version writes is `Corrupt`.

use std::fmt::Display;
use std::str::FromStr;

use sea_orm::{QueryResult, TryGetable, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fault::Fault;
use domain::budget::{LimitSources, Limits};
use domain::clock::Timestamp;
use domain::money::NanoUsd;

/// A row of a table, or of a join that is named like one.
pub(super) struct Row<'a> {
    pub(super) table: &'static str,
    pub(super) row: &'a QueryResult,
}

impl Row<'_> {
    pub(super) fn id<T: FromStr>(&self, column: &str) -> Result<T, Fault> {
        self.text(column)?.parse().map_err(|_| self.damaged(column))
    }

    pub(super) fn optional_id<T: FromStr>(&self, column: &str) -> Result<Option<T>, Fault> {
        let text: Option<String> = self.get(column)?;
        text.map(|text| text.parse().map_err(|_| self.damaged(column))).transpose()
    }

    pub(super) fn text(&self, column: &str) -> Result<String, Fault> {
        self.get(column)
    }

    pub(super) fn optional_text(&self, column: &str) -> Result<Option<String>, Fault> {
        self.get(column)
    }

    pub(super) fn long_text(&self, column: &str) -> Result<String, Fault> {
        String::from_utf8(self.bytes(column)?).map_err(|_| self.damaged(column))
    }

    pub(super) fn optional_long_text(&self, column: &str) -> Result<Option<String>, Fault> {
        let bytes: Option<Vec<u8>> = self.get(column)?;
        bytes.map(|bytes| String::from_utf8(bytes).map_err(|_| self.damaged(column))).transpose()
    }

    pub(super) fn bytes(&self, column: &str) -> Result<Vec<u8>, Fault> {
        self.get(column)
    }

    /// A value that was stored with [`json`].
    pub(super) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, Fault> {
        serde_json::from_slice(&self.bytes(column)?).map_err(|_| self.damaged(column))
    }

    pub(super) fn optional_json<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, Fault> {
        let bytes: Option<Vec<u8>> = self.get(column)?;
        bytes.map(|bytes| serde_json::from_slice(&bytes).map_err(|_| self.damaged(column))).transpose()
    }

    /// A value that was stored with [`name`].
    pub(super) fn name<T: DeserializeOwned>(&self, column: &str) -> Result<T, Fault> {
        serde_json::from_value(serde_json::Value::String(self.text(column)?)).map_err(|_| self.damaged(column))
    }

    pub(super) fn optional_name<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, Fault> {
        let text = self.optional_text(column)?.map(serde_json::Value::String);
        text.map(|text| serde_json::from_value(text).map_err(|_| self.damaged(column))).transpose()
    }

    /// A whole number of any width.
    pub(super) fn int<T: TryFrom<i64>>(&self, column: &str) -> Result<T, Fault> {
        T::try_from(self.get::<i64>(column)?).map_err(|_| self.damaged(column))
    }

    pub(super) fn optional_int<T: TryFrom<i64>>(&self, column: &str) -> Result<Option<T>, Fault> {
        let number: Option<i64> = self.get(column)?;
        number.map(|number| T::try_from(number).map_err(|_| self.damaged(column))).transpose()
    }

    pub(super) fn flag(&self, column: &str) -> Result<bool, Fault> {
        Ok(self.get::<i64>(column)? != 0)
    }

    pub(super) fn money(&self, column: &str) -> Result<NanoUsd, Fault> {
        self.get(column).map(NanoUsd)
    }

    pub(super) fn time(&self, column: &str) -> Result<Timestamp, Fault> {
        self.get(column).map(Timestamp::from_micros)
    }

    pub(super) fn optional_time(&self, column: &str) -> Result<Option<Timestamp>, Fault> {
        Ok(self.get::<Option<i64>>(column)?.map(Timestamp::from_micros))
    }

    fn get<T: TryGetable>(&self, column: &str) -> Result<T, Fault> {
        self.row.try_get("", column).map_err(|_| self.damaged(column))
    }

    fn damaged(&self, column: &str) -> Fault {
        Fault::corrupt(format!("{}.{column}", self.table))
    }
}

/// An id, or anything else that is stored as it is printed.
pub(super) fn id(value: impl Display) -> Value {
    value.to_string().into()
}

pub(super) fn optional_id(value: Option<impl Display>) -> Value {
    value.map(|value| value.to_string()).into()
}

/// The name of a plain enum's variant, as serde writes it.
pub(super) fn name(value: impl Serialize) -> Value {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name.into(),
        // Only plain enums come here; NULL would break the column's NOT NULL and so be noticed.
        Ok(_) | Err(_) => Value::String(None),
    }
}

pub(super) fn optional_name(value: Option<impl Serialize>) -> Value {
    value.map_or(Value::String(None), name)
}

/// A value as JSON bytes.
pub(super) fn json(value: &impl Serialize) -> Result<Value, Fault> {
    serde_json::to_vec(value).map(Into::into).map_err(|_| Fault::corrupt("a value that is no JSON"))
}

/// Limits with who set them, as one value.
pub(super) fn limits(limits: &Limits, sources: &LimitSources) -> Result<Value, Fault> {
    #[derive(Serialize)]
    struct Stored<'a> {
        #[serde(flatten)]
        limits: &'a Limits,
        sources: &'a LimitSources,
    }
    json(&Stored { limits, sources })
}

pub(super) fn optional_json(value: Option<&impl Serialize>) -> Result<Value, Fault> {
    value.map_or(Ok(Value::Bytes(None)), json)
}

pub(super) fn long_text(value: &str) -> Value {
    value.as_bytes().to_vec().into()
}

pub(super) fn optional_long_text(value: Option<&str>) -> Value {
    value.map_or(Value::Bytes(None), long_text)
}

/// A whole number; one beyond BIGINT is stored as the greatest BIGINT.
pub(super) fn int(value: impl TryInto<i64>) -> Value {
    value.try_into().unwrap_or(i64::MAX).into()
}

pub(super) fn optional_int(value: Option<impl TryInto<i64>>) -> Value {
    value.map_or(Value::BigInt(None), int)
}

pub(super) fn flag(value: bool) -> Value {
    i64::from(value).into()
}

pub(super) fn time(value: Timestamp) -> Value {
    value.as_micros().into()
}

pub(super) fn optional_time(value: Option<Timestamp>) -> Value {
    value.map(Timestamp::as_micros).into()
}

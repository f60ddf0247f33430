//! The Params of a request: `query`, `operationName`, `variables`, `extensions`, read from JSON or from a query string.
//!
//! The rule: whatever is wrong is said in one sentence about the field, and nothing of the body is quoted back.

use std::fmt;

use async_graphql::Variables;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::fault::{Code, Fault};

/// One operation as it was asked for.
#[derive(Debug)]
pub(super) struct Params {
    pub query: String,
    pub operation_name: Option<String>,
    pub variables: Variables,
}

impl Params {
    /// Reads a JSON object. An array is refused: operations are not batched.
    pub(super) fn from_json(body: &[u8]) -> Result<Self, Fault> {
        match body.trim_ascii_start().first() {
            None => return Err(bad("The body is empty; send a JSON object with \"query\".")),
            Some(b'[') => return Err(bad("Batches are not served; send one operation per request.")),
            Some(b'{') => {}
            Some(_) => return Err(bad("The body must be a JSON object.")),
        }
        let fields: Fields = serde_json::from_slice(body).map_err(|error| {
            bad(format!("The body is not valid JSON (line {}, column {}).", error.line(), error.column()))
        })?;
        fields.try_into()
    }

    /// Reads the query string of a GET, where `variables` and `extensions` are JSON texts.
    pub(super) fn from_query_string(query: &str) -> Result<Self, Fault> {
        let mut fields = Fields::default();
        for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let Some(field) = Field::named(&key) else { continue };
            let value = match field {
                Field::Query | Field::OperationName => Value::String(value.into_owned()),
                Field::Variables | Field::Extensions => {
                    serde_json::from_str(&value).map_err(|_| bad(format!("\"{}\" must be JSON.", field.name())))?
                }
            };
            fields.put(field, value);
        }
        fields.try_into()
    }
}

/// The values before their types are checked.
#[derive(Default)]
struct Fields {
    values: [Option<Value>; 4],
    repeated: Option<Field>,
}

#[derive(Clone, Copy)]
enum Field {
    Query,
    OperationName,
    Variables,
    Extensions,
}

impl Field {
    const ALL: [Self; 4] = [Self::Query, Self::OperationName, Self::Variables, Self::Extensions];

    const fn name(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::OperationName => "operationName",
            Self::Variables => "variables",
            Self::Extensions => "extensions",
        }
    }

    fn named(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == key)
    }
}

impl Fields {
    fn put(&mut self, field: Field, value: Value) {
        if self.values[field as usize].replace(value).is_some() {
            self.repeated = Some(field);
        }
    }

    /// A field's value; null counts as absent.
    fn take(&mut self, field: Field) -> Option<Value> {
        self.values[field as usize].take().filter(|value| !value.is_null())
    }

    fn text(&mut self, field: Field) -> Result<Option<String>, Fault> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(bad(format!("\"{}\" must be a string.", field.name()))),
        }
    }

    fn object(&mut self, field: Field) -> Result<Option<Value>, Fault> {
        match self.take(field) {
            Some(value) if !value.is_object() => Err(bad(format!("\"{}\" must be an object.", field.name()))),
            other => Ok(other),
        }
    }
}

impl TryFrom<Fields> for Params {
    type Error = Fault;

    fn try_from(mut fields: Fields) -> Result<Self, Fault> {
        if let Some(field) = fields.repeated {
            return Err(bad(format!("\"{}\" is given twice.", field.name())));
        }
        let query = fields.text(Field::Query)?.ok_or_else(|| bad("\"query\" is missing."))?;
        let operation_name = fields.text(Field::OperationName)?.filter(|name| !name.is_empty());
        let variables = match fields.object(Field::Variables)? {
            None => Variables::default(),
            Some(value) => Variables::from_value(
                async_graphql::Value::from_json(value)
                    .map_err(|_| bad("\"variables\" holds a value that is not GraphQL."))?,
            ),
        };
        fields.object(Field::Extensions)?;
        Ok(Self { query, operation_name, variables })
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Fields;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Fields::default();
                while let Some(key) = map.next_key::<String>()? {
                    match Field::named(&key) {
                        Some(field) => fields.put(field, map.next_value()?),
                        None => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

fn bad(message: impl Into<String>) -> Fault {
    Fault::new(Code::BadUserInput, message)
}

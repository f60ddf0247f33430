//! User errors: refusals that are part of a payload, each with a stable code and the path of the input field.

use std::str::FromStr;

use async_graphql::{ID, Interface, SimpleObject};
use domain::access::Refusal;
use domain::error::InvalidInput;
use domain::ids::{AccountId, ApiKeyId, ExecutionId, MalformedId, ProjectId, ResourceId, VersionId};

use super::error::ApiError;

/// Something that the caller can mend. Codes are listed in docs/errors.md.
#[derive(Debug, Interface)]
#[graphql(
    field(name = "message", ty = "String", desc = "What is wrong and how to mend it."),
    field(
        name = "path",
        ty = "Option<Vec<String>>",
        desc = "Path of the input field, for example [\"input\", \"limits\", \"maxTokens\"]."
    ),
    field(name = "code", ty = "String", desc = "Stable code, listed in docs/errors.md.")
)]
#[expect(clippy::duplicated_attributes, reason = "two fields are of the same type")]
pub enum UserError {
    /// A fault in the input.
    Input(InputError),
}

/// A fault in the input, or something in it that the caller may not do.
#[derive(Debug, Clone, SimpleObject)]
pub struct InputError {
    /// What is wrong and how to mend it.
    #[graphql(owned)]
    pub message: String,
    /// Path of the input field, for example ["input", "limits", "maxTokens"].
    #[graphql(owned)]
    pub path: Option<Vec<String>>,
    /// Stable code, listed in docs/errors.md.
    #[graphql(owned)]
    pub code: String,
}

impl From<InvalidInput> for UserError {
    fn from(fault: InvalidInput) -> Self {
        let path = std::iter::once("input".to_owned()).chain(fault.path).collect();
        Self::Input(InputError { message: fault.message, path: Some(path), code: fault.code.to_owned() })
    }
}

/// What became of a mutation: its result, or the errors that the caller can mend.
pub type Outcome<T> = Result<T, Vec<UserError>>;

/// Turns a refusal into user errors; what the caller cannot mend is an error of the request.
pub fn outcome<T>(result: Result<T, Refusal>) -> Result<Outcome<T>, ApiError> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(refusal) => Ok(Err(ApiError::split(refusal)?.into_iter().map(UserError::from).collect())),
    }
}

/// Input that was read into domain types, with what could not be read.
pub struct Parsed<T> {
    /// The request; placeholders stand where ids were malformed.
    pub request: T,
    /// Faults found while reading.
    pub faults: Faults,
}

impl<T> Parsed<T> {
    /// The request when everything could be read; else all faults, those of the domain's rules included.
    pub fn checked(self, validate: impl FnOnce(&T) -> Vec<InvalidInput>) -> Result<T, Refusal> {
        if self.faults.0.is_empty() {
            return Ok(self.request);
        }
        let faults = self.faults.0.into_iter().chain(validate(&self.request)).collect();
        Err(Refusal::Faults(faults))
    }
}

/// Faults found while input is read.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<InvalidInput>);

impl Faults {
    /// Reads an id; a malformed one is noted and a placeholder stands in for it.
    pub fn id<T: Placeholder + FromStr<Err = MalformedId>>(&mut self, path: &[&str], id: &ID) -> T {
        id.parse().unwrap_or_else(|error: MalformedId| {
            self.add(path, "MALFORMED_ID", error.to_string());
            T::PLACEHOLDER
        })
    }

    /// Reads an id that may be left out.
    pub fn optional_id<T: Placeholder + FromStr<Err = MalformedId>>(
        &mut self,
        path: &[&str],
        id: Option<&ID>,
    ) -> Option<T> {
        id.map(|id| self.id(path, id))
    }

    /// Notes a fault.
    pub fn add(&mut self, path: &[&str], code: &'static str, message: impl Into<String>) {
        let path = path.iter().map(ToString::to_string).collect();
        self.0.push(InvalidInput { path, code, message: message.into() });
    }

    /// With the request that was read meanwhile.
    pub fn with<T>(self, request: T) -> Parsed<T> {
        Parsed { request, faults: self }
    }
}

/// An id that stands in for a malformed one while the rest of the input is checked. It never reaches a store.
pub trait Placeholder {
    /// The id.
    const PLACEHOLDER: Self;
}

macro_rules! placeholders {
    ($($id:ident)*) => {$(
        impl Placeholder for $id {
            const PLACEHOLDER: Self = Self::from_bits(0);
        }
    )*};
}

placeholders! { AccountId ApiKeyId ExecutionId ProjectId ResourceId VersionId }

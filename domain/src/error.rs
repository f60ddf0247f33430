//! The errors that every port shares, and the class by which an edge decides what to answer.

/// What kind of fault it is: decides the GraphQL code, the HTTP status and the log level, in one place of `api`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// The caller sent something wrong; the message says what and how to mend it.
    Caller,
    /// The caller may not do this.
    Denied,
    /// There is no such thing for this caller.
    NotFound,
    /// The thing changed, or exists already.
    Conflict,
    /// A limit was reached.
    Limit,
    /// Another system failed or could not be reached.
    Upstream,
    /// A fault of ours.
    Internal,
}

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another worker holds a newer lease: nothing was written, and nothing more may be.
    #[error("the lease was lost to a newer epoch")]
    LeaseLost,
    /// A unique key is taken or a version moved on; `what` names it for people.
    #[error("{what}")]
    Conflict {
        /// Names the thing that is in the way.
        what: &'static str,
    },
    /// A budget account had no room, or other accounts apply than the commit knew: nothing was written. Look at the
    /// accounts and decide anew.
    #[error("a budget account has no room for the call")]
    AccountRefused,
    /// The tenant has as many sandboxes as it may: nothing was written.
    #[error("the tenant has as many sandboxes as it may")]
    QuotaReached,
    /// The store could not be reached or gave up. Whether the write happened is unknown.
    #[error("the store is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store's own code failed: nothing of the write happened.
    #[error("the store has a fault: {job} did not come to its end")]
    Broken {
        /// Names the work, for those who mend it.
        job: &'static str,
    },
    /// A stored row does not have the form that this version writes.
    #[error("a stored row is damaged: {what}")]
    Corrupt {
        /// Names the table and the column.
        what: String,
    },
}

impl StoreError {
    /// The class for the edge.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::LeaseLost | Self::Conflict { .. } => ErrorClass::Conflict,
            Self::AccountRefused | Self::QuotaReached => ErrorClass::Limit,
            Self::Unavailable(_) => ErrorClass::Upstream,
            Self::Broken { .. } | Self::Corrupt { .. } => ErrorClass::Internal,
        }
    }
}

/// A fault in something that the caller sent: which field, which rule, how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", path.join("."))]
pub struct InvalidInput {
    /// Path of the field, as the caller wrote it (`limits`, `maxIterations`).
    pub path: Vec<String>,
    /// Stable code (`OUT_OF_RANGE`, `MALFORMED_ID`, ...).
    pub code: &'static str,
    /// The rule and the fix, in a sentence.
    pub message: String,
}

impl InvalidInput {
    /// A fault of one field.
    pub fn new<const N: usize>(path: [&str; N], code: &'static str, message: impl Into<String>) -> Self {
        Self { path: path.iter().map(ToString::to_string).collect(), code, message: message.into() }
    }
}

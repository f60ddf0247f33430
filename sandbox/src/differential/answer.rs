//! An Answer is what came of one operation, in the words that all drivers share.

use serde_json::{Value, json};

use sandbox::opensandbox::Error;

/// What came of an operation.
pub enum Answer {
    Result(Value),
    Error {
        /// `answered` by the server, `refused` by the client before anything was sent, or what else went wrong.
        class: &'static str,
        status: Option<u16>,
        code: Option<String>,
    },
    /// This client has no such call.
    Unsupported(String),
}

/// Why an operation has no result.
pub enum Failure {
    Client(Error),
    /// The client has no such call, or no such argument of it.
    Unsupported(String),
    /// An earlier operation should have left a sandbox or command under this label, and has failed.
    Unlabelled,
    /// The list of operations is wrong.
    Plan(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Client(error)
    }
}

impl From<&Error> for Answer {
    fn from(error: &Error) -> Self {
        let class = match error {
            Error::RequestInvalid(_) => "refused",
            Error::AccessDenied(_)
            | Error::NotFound(_)
            | Error::Rejected(_)
            | Error::ServerFailed(_)
            | Error::NotSupported { .. } => "answered",
            other => other.code(),
        };
        let reply = error.reply();
        Self::Error { class, status: reply.map(|reply| reply.status), code: reply.and_then(|reply| reply.code.clone()) }
    }
}

impl Answer {
    /// What came of an operation that builds upon one that failed.
    pub fn unlabelled() -> Self {
        Self::Error { class: "unlabelled", status: None, code: None }
    }

    pub fn to_json(&self, name: &str) -> Value {
        match self {
            Self::Result(value) => json!({ "name": name, "result": value }),
            Self::Error { class, status, code } => {
                json!({ "name": name, "error": { "class": class, "status": status, "code": code } })
            }
            Self::Unsupported(what) => json!({ "name": name, "unsupported": what }),
        }
    }
}

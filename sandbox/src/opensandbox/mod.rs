//! The client of OpenSandbox: its Lifecycle API, and execd inside each sandbox.
//!
//! Rule: everything that a server says is untrusted. Addresses are checked against the [`Connection`], bodies and
//! frames are bounded, secrets are redacted, and no end of a command is believed without its terminal event.
//!
//! How it is used: [`Client::new`] with a [`Connection`]; [`Client::create`] with a [`CreateSandbox`] that carries our
//! own [`SandboxLabel`]; on the [`Sandbox`] then [`Sandbox::wait_ready`], [`Sandbox::upload`], [`Sandbox::run`] with an
//! [`OutputSink`] and a cancellation token, [`Sandbox::download`], and [`Sandbox::destroy`].
//!
//! What is repeated: reads, interrupts and kills, up to three times within the request deadline. Everything else is
//! sent once; when its answer is lost the error is `OutcomeUnknown`, and the caller looks:
//! [`Client::find_by_label`] after a create, [`Sandbox::command_status`] after a command, [`Sandbox::file_info`] after
//! an upload.
//!
//! What it does not do: hold leases, count budgets, collect artifacts, pause, or set network policies.

mod client;
mod command;
mod command_stream;
mod connection;
mod endpoint;
mod error;
mod files;
mod follow;
mod lifecycle;
mod network_policy;
mod output;
mod redact;
mod reply;
mod run;
mod sandbox;
mod stream;
mod supervise;
mod transfer;
mod transport;
mod utf8;

pub use client::Client;
pub use command::{CommandEnd, CommandOutcome, CommandRequest, CommandStatus, Interrupt, LogChunk, Program, User};
pub use connection::{Connection, Plaintext, Route, Timeouts};
pub use endpoint::Endpoint;
pub use error::{Deadline, Error, ErrorClass, Reply};
pub use files::{FileInfo, FileKind, FileMode, Move};
pub use follow::{FollowOutcome, LogPiece, LogSink};
pub use lifecycle::{
    CreateSandbox, LABEL_KEY, ListFilter, RegistryLogin, SandboxInfo, SandboxLabel, SandboxPage, SandboxState,
};
pub use network_policy::{EgressAction, EgressRule, NetworkPolicy};
pub use output::{Captured, OutputSink, OutputStream, OutputWire};
pub use sandbox::{EXECD_PORT, Metrics, Sandbox};
pub use transfer::{ByteRange, Download, Downloaded, Upload};

//! The client of OpenSandbox: its Lifecycle API, and execd inside each sandbox.
//!
//! Rule: everything that a server says is untrusted. Addresses are checked against the [`Connection`], bodies and
//! frames are bounded, secrets are redacted, and no end of a command is believed without its terminal event.
//!
//! How it is used: [`Client::new`] with a [`Connection`]; [`Client::create`] with a [`CreateSandbox`] that carries our
//! own [`SandboxLabel`]; on the [`Sandbox`] then [`Sandbox::wait_ready`], [`Sandbox::upload`], [`Sandbox::run`] with an
//! [`OutputSink`] and a cancellation token, [`Sandbox::download`], and [`Sandbox::destroy`]. A long command is started
//! with [`Sandbox::start`] and followed with [`Sandbox::follow`], from a stored cursor on when need be.
//!
//! What is repeated: reads, interrupts and kills, up to three times within the request deadline. Everything else is
//! sent once; when its answer is lost the error is `OutcomeUnknown`, and the caller looks:
//! [`Client::find_by_label`] after a create, [`Sandbox::command_status`] after a command, [`Sandbox::file_info`] after
//! an upload. A pause and a resumption look by themselves.
//!
//! What is checked before the first use: the server's version ([`SUPPORTED`]), how execd sends output and takes
//! arguments, and, for a sandbox with a network policy, that it holds.
//!
//! The map: `connection`, `endpoint`, `transport`, `reply`, `redact`, `error` are how any call is made; `client`,
//! `lifecycle`, `version`, `standstill`, `snapshot` speak Lifecycle; `sandbox`, `command`, `run`, `start`, `follow`,
//! `files`, `transfer`, `metrics`, `raw_output` speak execd, with `command_stream`, `stream`, `output`, `output_files`,
//! `probe`, `supervise`, `shell` and `utf8` below them; `network_policy`, `egress` and `attempts` are about the network.
//!
//! What it does not do: hold leases, count budgets, or collect artifacts.

mod attempts;
mod client;
mod command;
mod command_stream;
mod connection;
mod egress;
mod endpoint;
mod error;
mod files;
mod follow;
mod lifecycle;
mod metrics;
mod network_policy;
mod output;
mod output_files;
mod probe;
mod raw_output;
mod redact;
mod reply;
mod run;
mod sandbox;
mod shell;
mod snapshot;
mod standstill;
mod start;
mod stream;
mod supervise;
mod transfer;
mod transport;
mod utf8;
mod version;

pub use attempts::{Attempt, Attempts};
pub use client::Client;
pub use command::{CommandEnd, CommandOutcome, CommandRequest, CommandStatus, Interrupt, LogChunk, Program, User};
pub use connection::{Connection, Isolation, Plaintext, Route, Sharing, Timeouts};
pub use egress::{EGRESS_PORT, EgressEnforcement, EgressMode, EgressStatus, PolicyRoute};
pub use endpoint::Endpoint;
pub use error::{Change, Deadline, Error, ErrorClass, Reply};
pub use files::{FileInfo, FileKind, FileMode, Move, Replacement, is_path};
pub use follow::{FollowOutcome, LogPiece, LogSink};
pub use lifecycle::{
    CreateSandbox, LABEL_KEY, ListFilter, RegistryLogin, SandboxInfo, SandboxLabel, SandboxPage, SandboxState,
};
pub use metrics::{Metrics, MetricsWatch};
pub use network_policy::{EgressAction, EgressRule, NetworkPolicy};
pub use output::{Captured, OutputSink, OutputStream, OutputWire};
pub use sandbox::{EXECD_PORT, Sandbox};
pub use shell::{shell_quote, shell_words};
pub use snapshot::{SnapshotInfo, SnapshotState};
pub use transfer::{ByteRange, Download, Downloaded, Upload};
pub use version::{SUPPORTED, ServerKind, Supported, Version, VersionRange};

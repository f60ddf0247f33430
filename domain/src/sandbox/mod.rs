//! A Sandbox is where the code of an execution runs, and the only place.
//!
//! It is made when the first tool needs it, belongs to one execution and one lease epoch, and is gone when the
//! execution ends. A claim takes over that of a lost one only to follow a program in it. Its row is written as an intent
//! before it is asked for, so that one whose answer was lost can be found by its label and removed. What lies in its
//! workspace is kept after each tool call, so that the next sandbox of the execution goes on with it.

mod background;
mod credential;
mod egress;
mod lifetime;
mod metrics;
mod model;
mod ports;
mod redact;
mod redacting;
mod setting;
mod target;
mod workspace;

pub use background::{BackgroundCommand, CommandPlace, Followed, LONGEST_STREAMED, Start};
pub use credential::{IssuedCredential, RevokedBecause, unfit};
pub use egress::{CallMark, EgressAttempt, EgressAttempts, EgressVerdict};
pub use lifetime::{GRACE, LONGEST_TTL};
pub use metrics::{MetricsPorts, SandboxMetrics, metrics};
pub use model::{
    Collected, CollectedFile, Exit, LiveSandbox, NotCreated, OutputStream, Page, PageForm, PageTarget, Program,
    ProgramEnd, RawOutput, RefusedOutput, Sandbox, SandboxError, SandboxRequest, SandboxState, SandboxTarget,
    WhyRefused,
};
pub use ports::{OutputSink, SandboxRecords, SandboxRuntime};
pub use redact::Redactor;
pub use redacting::RedactingRuntime;
pub use setting::{Secrets, Setting};
pub(crate) use target::target_of;
pub use workspace::{
    EntryKind, KeptDirectory, KeptFile, Listing, MAX_FILE_BYTES, MAX_FILES, MAX_TOTAL_BYTES, Manifest,
    WorkspaceCheckpoint, WorkspaceEntry,
};

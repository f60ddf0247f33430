//! A Sandbox is where the code of an execution runs, and the only place.
//!
//! It is made when the first tool needs it, belongs to one execution and one lease epoch, and is gone when the
//! execution ends. Its row is written as an intent before it is asked for, so that one whose answer was lost can be
//! found by its label and removed.

mod model;
mod ports;

pub use model::{
    Collected, CollectedFile, Exit, LiveSandbox, OutputStream, Program, Sandbox, SandboxError, SandboxRequest,
    SandboxState, SandboxTarget,
};
pub use ports::{OutputSink, SandboxRuntime};

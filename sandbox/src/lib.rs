//! Everything between the agent's wish to run code and the sandbox that runs it.
//!
//! - [`opensandbox`]: the client of the OpenSandbox Lifecycle and execd APIs.
//! - [`manager`]: owns keys, tokens, limits and lifetimes; implements the domain's `SandboxRuntime`.
//! - [`runner`]: turns Python, JavaScript and shell source into commands and their results.
//! - [`local`]: the embedded runtime, a small server that speaks the same API and isolates with bubblewrap.
//! - `public_network`: which addresses a sandbox may ever reach.

pub mod local;
pub mod manager;
pub mod opensandbox;
mod public_network;
pub mod runner;

//! The local runtime is a small server that speaks OpenSandbox's Lifecycle and execd APIs on loopback and isolates
//! every sandbox with bubblewrap.
//!
//! Rule: code in a sandbox has no route, no capability, no descriptor and no file of the host beyond a read-only
//! list of paths; what the runtime says it enforces is enforced by the kernel. The one way out is [`egress`].
//!
//! Reading order: [`server`] routes to [`lifecycle`] (which asks [`registry`]) and to [`execd`]; `registry` starts a
//! [`sandbox`] through [`spawn`], whose child runs [`init`]; [`protocol`] is what the two sides say to each other.

mod bwrap_args;
mod catalogue;
mod cgroup;
mod channel;
mod clock;
mod create;
mod delegation;
mod egress;
mod error;
mod execd;
mod executable;
mod freezer;
mod ids;
mod init;
mod labels;
mod lifecycle;
mod limits;
mod pause;
mod protocol;
mod registry;
mod runtime;
mod sandbox;
mod seccomp;
mod server;
mod spawn;
mod state_dir;
mod sys;
mod try_out;
mod wire;

pub use cgroup::Cgroups;
pub use error::Error;
pub use init::init_main;
pub use protocol::INIT_SUBCOMMAND;
pub use runtime::{Runtime, RuntimeOptions, bind};
pub use spawn::PROGRAM_PATH;
pub use try_out::{TriedOut, try_out};

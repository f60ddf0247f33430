//! The agent loop: how an execution runs from its claim to its end.
//!
//! [`run`] is the whole of it: resume, iterate, end. One iteration is a model call and the tool calls that its reply
//! asks for; before each call the loop authorises, checks the loop guard and reserves, after each it settles and
//! records. The recovery point is the last settled call: a new claim replays what is stored and sends nothing again.
//! Nothing here knows a provider, a database or a socket.

mod account_ending;
pub(crate) mod checkpoint;
mod claim;
mod commands;
mod conversation;
mod ending;
mod halt;
mod heartbeat;
mod lent_secrets;
mod limit_ending;
mod reap;
mod resume;
mod run;
mod sandbox_idle;
mod sandbox_session;
mod take_over;
pub(crate) mod warnings;

pub(crate) use claim::Moving;
pub use claim::{Claim, NextIteration, Pinned, PinnedModel, PinnedSandbox, Ports};
pub use conversation::Conversation;
pub use halt::Halt;
pub use reap::{compare, sweep};
pub use run::{Ended, run};
pub use sandbox_session::NoSandbox;

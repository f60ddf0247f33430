//! A ScriptedModel is a small OpenAI-compatible server that plays a written conversation.
//!
//! It stands where a model would when there is no key: same wire, same streaming, same tool calls. It keeps no state of
//! conversations: the turn is the number of assistant messages in the request, so that a repeated request gets the same
//! reply. No figure stands in a script: what a text says about the work is taken from tool results by name, and a value
//! that is missing fails the request. It is never offered as a model that thinks; screens call it "scripted".
//!
//! A scenario is chosen by the request's model, and by words of the task when the script asks for some. `demo/README.md`
//! describes the file format. Behind the script stand four scenarios for tests and benchmarks, steered by the task:
//! [`built_in`].

pub mod built_in;
mod captures;
pub mod demo;
mod play;
mod reply;
mod request;
mod script;
mod server;
mod stats;
mod wire;

pub use script::{Script, ScriptError};
pub use server::{ScriptedModel, ScriptedModelOptions};

#[cfg(test)]
mod tests;

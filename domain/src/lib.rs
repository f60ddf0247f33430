//! What Vitrine means: types, rules, the agent loop, and the ports that they need. No I/O.
//!
//! Start at [`agent`], which holds the loop that runs an execution; every step of it is one module:
//! [`access`] (may it), [`loop_guard`] (does it go in circles), [`budget`] (can it be paid), [`model_call`] and
//! [`tool_call`] (do it), [`event`] (tell everyone). [`execution`] is the frame: start, claim, stop. [`resource`] is what
//! an agent may be allowed to use, [`sandbox`] is where its code runs, [`artifact`] is what it leaves,
//! [`audit`] is what people decided about it.

pub mod access;
pub mod agent;
pub mod artifact;
pub mod audit;
pub mod budget;
pub mod clock;
pub mod cost;
pub mod ctx;
pub mod error;
pub mod event;
pub mod execution;
pub mod ids;
pub mod loop_guard;
pub mod model_call;
pub mod money;
pub mod price_table;
pub mod resource;
pub mod sandbox;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tool_call;

//! Files of executions.

mod object;

pub use object::{Artifact, visible_artifact};

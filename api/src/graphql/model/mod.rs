//! Models: deployments at a provider.

mod input;
mod mutation;
mod object;
mod query;

pub use mutation::ModelMutation;
pub use object::{Model, ModelVersion};
pub use query::ModelQuery;

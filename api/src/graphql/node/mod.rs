//! Nodes: everything that has a global id.

mod object;
mod query;

pub use object::Node;
pub use query::NodeQuery;

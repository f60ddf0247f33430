//! Who asks, and where they are: the viewer, its tenant, its projects.

mod object;
mod query;

pub use object::{Project, Tenant};
pub use query::{ViewerQuery, visible_project};

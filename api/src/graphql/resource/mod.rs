//! What all kinds of resources have in common on the API: heads, numbered versions, publishing, archiving.

mod interface;
mod macros;
mod mutation;
mod sight;
mod write;

pub use interface::{AnyVersion, ResourceVersionState};
pub(super) use macros::{resource_head, resource_payload, resource_version};
pub use mutation::ResourceMutation;
pub use sight::{list, list_versions, visible, visible_latest, visible_version};
pub use write::{add_version, create, publication};

//! The event log of an execution, as typed events: replayed behind a cursor, then followed.

mod follow;
mod object;
mod subscription;

pub use follow::{Changed, Follow};
pub use subscription::EventSubscription;

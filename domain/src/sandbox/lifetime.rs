//! Until when a sandbox can be there, whatever becomes of its server.
//!
//! A server is given the hard time to live of the profile with the create and removes the sandbox by itself. A row says
//! when that is from its intent on, so that one whose server never answers is not waited for without end.

use std::time::Duration;

use super::model::Sandbox;
use crate::clock::Timestamp;

/// The longest time to live that a profile may have.
pub const LONGEST_TTL: Duration = Duration::from_hours(24);
/// How much later than that a sandbox may end: a create may be under way for minutes before the server begins to count,
/// the server's clock may be another one, and its removal takes its time.
pub const GRACE: Duration = Duration::from_mins(10);

impl Sandbox {
    /// Whether its server has had to remove it by now. It takes no place of its tenant any more.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        // Rows of earlier versions do not say when an intent ends.
        let ends_at = self.expires_at.unwrap_or_else(|| self.created_at.plus(LONGEST_TTL));
        ends_at.plus(GRACE) <= now
    }

    /// Whether it is gone for certain, though nobody saw it: no server ever said that it made it, and one that was made all
    /// the same has ended.
    pub fn is_past_being(&self, now: Timestamp) -> bool {
        self.remote_id.is_none() && self.is_overdue(now)
    }
}

//! What a model call needs from outside.

use async_trait::async_trait;

use super::model::{ModelOutcome, ModelRequest};
use crate::execution::CallContext;

/// Takes the pieces of a reply as they come.
#[async_trait]
pub trait DeltaSink: Send + Sync {
    /// A piece of text. Waiting here holds the provider's stream back.
    async fn text(&self, piece: &str);
}

/// Speaks to a model's provider.
#[async_trait]
pub trait ModelRuntime: Send + Sync {
    /// Sends one request, exactly once, and reads its reply to the end.
    ///
    /// Never retries, never panics, and always returns: on cancellation (`context.cancel`) it ends its I/O and returns
    /// what it received. The error text in the outcome is bounded and holds no secret.
    async fn call(&self, context: &CallContext, request: &ModelRequest, deltas: &dyn DeltaSink) -> ModelOutcome;
}

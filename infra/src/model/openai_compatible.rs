//! Chat completions as OpenAI-compatible endpoints speak them.

use std::sync::Arc;

use async_trait::async_trait;
use domain::execution::CallContext;
use domain::model_call::{DeltaSink, ModelOutcome, ModelRequest, ModelRuntime};

use super::exchange::Exchange;
use super::limits::CallLimits;
use super::stream_options::StreamOptions;

/// Speaks to any endpoint that offers `POST {base URL}/chat/completions`.
#[derive(Debug, Clone)]
pub struct OpenAiCompatible {
    client: reqwest::Client,
    limits: CallLimits,
    stream_options: Arc<StreamOptions>,
}

impl OpenAiCompatible {
    /// An adapter on this client, which should come from [`crate::http::client`].
    pub fn new(client: reqwest::Client, limits: CallLimits) -> Self {
        Self { client, limits, stream_options: Arc::default() }
    }
}

#[async_trait]
impl ModelRuntime for OpenAiCompatible {
    async fn call(&self, context: &CallContext, request: &ModelRequest, deltas: &dyn DeltaSink) -> ModelOutcome {
        let mut exchange = Exchange::new(&self.limits, &self.stream_options, context, request, deltas);
        let result = exchange.run(&self.client).await;
        exchange.into_outcome(result)
    }
}

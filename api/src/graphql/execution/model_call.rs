//! Model calls as the API shows them.

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use domain::artifact::load_text;
use domain::event::EventError;
use domain::execution::ExecutionRef;
use domain::ids::ExecutionId;
use domain::model_call::{self, load_request};
use domain::resource::Spec;

use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::money::{Money, PriceVersion, TokenUsage};
use crate::graphql::scalar::{DateTime, Json, int};

/// A model call.
pub struct ModelCall {
    execution: ExecutionId,
    call: model_call::ModelCall,
}

impl ModelCall {
    /// A call of this execution.
    pub const fn new(execution: ExecutionId, call: model_call::ModelCall) -> Self {
        Self { execution, call }
    }
}

/// One request to a model and its reply. Its cost can be computed again from its tokens and its price version.
#[Object]
impl ModelCall {
    /// Its id.
    pub async fn id(&self) -> ID {
        self.call.id.to_string().into()
    }

    /// The iteration that made it.
    async fn iteration(&self) -> i32 {
        int(self.call.iteration)
    }

    /// Where it stands.
    async fn state(&self) -> CallState {
        self.call.state.into()
    }

    /// Who runs the model.
    async fn provider(&self) -> &str {
        &self.call.provider
    }

    /// The provider's name of the model.
    async fn deployment(&self) -> &str {
        &self.call.deployment
    }

    /// The short name that screens show.
    async fn alias(&self) -> &str {
        &self.call.alias
    }

    /// Its model's place in the list that the execution pins: 0 is the agent's own model, 1 its first fallback.
    async fn fallback_index(&self) -> i32 {
        int(self.call.fallback_index)
    }

    /// Why the model before it in the list gave way to a fallback; null for the agent's own model.
    async fn fallback_because(&self) -> Option<CallError> {
        self.call.fallback_because.clone().map(CallError::from)
    }

    /// How often the request was sent, or was to be sent; 0 while the call is under way.
    async fn tries(&self) -> i32 {
        int(self.call.tries)
    }

    /// Parameters that were sent.
    async fn parameters(&self) -> Option<Json> {
        Some(Json::object(&self.call.parameters))
    }

    /// The price version by which it was costed.
    async fn price_version(&self, ctx: &Context<'_>) -> Result<Option<PriceVersion>, ApiError> {
        let Some(wanted) = self.call.price_version else {
            return Ok(None);
        };
        let loader = ctx.loader()?;
        let Some(execution) = loader.load_one(self.execution).await? else {
            return Ok(None);
        };
        let Some(pin) = execution.pins.models().into_iter().nth(self.call.fallback_index as usize) else {
            return Ok(None);
        };
        let price = match loader.load_one(pin.model).await?.map(|version| version.spec) {
            Some(Spec::Model(spec)) => spec.price.or(pin.price),
            Some(_) | None => None,
        };
        Ok(price.filter(|price| price.id == wanted).map(PriceVersion::from))
    }

    /// Tokens used; none while the call is under way.
    async fn usage(&self) -> TokenUsage {
        self.call.used().into()
    }

    /// What it cost.
    async fn cost(&self) -> Money {
        self.call.cost.into()
    }

    /// What was reserved for it.
    async fn reserved_cost(&self) -> Money {
        self.call.reserved.into()
    }

    /// True when the provider gave no usage and it was estimated, or the call was lost.
    async fn estimated(&self) -> bool {
        self.call.estimated
    }

    /// Why the model stopped.
    async fn finish_reason(&self) -> Option<FinishReason> {
        self.call.finish_reason.map(FinishReason::from)
    }

    /// Why it failed.
    async fn error(&self) -> Option<CallError> {
        self.call.error.clone().map(CallError::from)
    }

    /// The messages that were sent.
    async fn request(&self, ctx: &Context<'_>) -> Result<Option<Json>, ApiError> {
        let (scope, services) = (ctx.principal()?.scope(), ctx.services()?);
        let execution = ExecutionRef { tenant_id: scope.tenant_id, id: self.execution };
        let records = services.executions.transcript(execution).await?;
        let calls: Vec<_> = records.into_iter().flat_map(|record| record.model_calls).collect();
        let messages = load_request(services.artifacts.as_ref(), scope, &calls, self.call.id).await?;
        Ok(messages.map(|messages| Json::raw(serde_json::Value::Array(messages).to_string())))
    }

    /// The reply's text; null while the call is under way.
    async fn reply_text(&self, ctx: &Context<'_>) -> Result<Option<String>, ApiError> {
        if self.call.ended_at.is_none() {
            return Ok(None);
        }
        let (scope, store) = (ctx.principal()?.scope(), &ctx.services()?.artifacts);
        Ok(Some(load_text(store.as_ref(), scope, &self.call.reply_text).await?))
    }

    /// Whether the reply was cut off.
    async fn reply_partial(&self) -> bool {
        self.call.reply_partial
    }

    /// When it started.
    async fn started_at(&self) -> DateTime {
        self.call.started_at.into()
    }

    /// When it ended.
    async fn ended_at(&self) -> Option<DateTime> {
        self.call.ended_at.map(DateTime)
    }

    /// Milliseconds to the first delta.
    async fn first_delta_ms(&self) -> Option<i32> {
        self.call.first_delta_ms.map(int)
    }
}

/// Where a model call stands. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model_call::CallState")]
pub enum CallState {
    /// Reserved; it may be under way.
    Started,
    /// Its reply is whole and paid.
    Settled,
    /// It failed; what was received is paid.
    Failed,
    /// It was stopped; what was received is paid.
    Cancelled,
    /// Its worker was lost: settled at the worst case, marked estimated.
    Lost,
}

/// Why a model stopped. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model_call::FinishReason")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It wants tools.
    ToolCalls,
    /// It reached the output cap.
    Length,
    /// A filter cut it.
    ContentFilter,
    /// A word that is not known.
    Unknown,
}

/// Code and message of a failed call.
#[derive(SimpleObject)]
pub struct CallError {
    /// Stable code.
    code: String,
    /// For people.
    message: String,
}

impl From<(String, String)> for CallError {
    fn from((code, message): (String, String)) -> Self {
        Self { code, message }
    }
}

impl From<EventError> for CallError {
    fn from(EventError { code, message }: EventError) -> Self {
        Self { code, message }
    }
}

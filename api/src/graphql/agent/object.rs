//! Agents and their versions, as the API shows them.

use async_graphql::{ComplexObject, Context, Enum, SimpleObject};
use domain::ids::ResourceId;
use domain::resource::{self, AgentSpec};

use super::limits::Limits;
use crate::graphql::error::ApiError;
use crate::graphql::model::ModelVersion;
use crate::graphql::resource::{resource_head, resource_payload, resource_version, visible, visible_latest};
use crate::graphql::sandbox_profile::SandboxProfileVersion;
use crate::graphql::scalar::int;

resource_head! {
    /// An agent: what an execution runs.
    Agent => AgentVersion
}

resource_version! {
    /// One version of an agent. An execution pins it together with the versions of everything that it uses.
    #[graphql(complex)]
    AgentVersion, Agent |row, spec| { resource_id: ResourceId = row.resource_id, spec: AgentSpec = spec }
}

resource_payload! {
    /// The agent and its new version, or what is wrong.
    AgentPayload, agent: Agent, AgentVersion
}

#[ComplexObject]
impl AgentVersion {
    /// The agent.
    async fn agent(&self, ctx: &Context<'_>) -> Result<Option<Agent>, ApiError> {
        Ok(visible(ctx, self.resource_id).await?.map(Agent))
    }

    /// The system message.
    async fn instructions(&self) -> &str {
        &self.spec.instructions
    }

    /// The newest published version of the model that it names; null when the caller may not see that.
    async fn model(&self, ctx: &Context<'_>) -> Result<Option<ModelVersion>, ApiError> {
        Ok(visible_latest(ctx, self.spec.model_id).await?.and_then(ModelVersion::new))
    }

    /// The newest published versions of the models that are asked when that one fails, in order; without those that the
    /// caller may not see.
    async fn fallback_models(&self, ctx: &Context<'_>) -> Result<Vec<ModelVersion>, ApiError> {
        let mut models = Vec::new();
        for id in &self.spec.fallback_model_ids {
            models.extend(visible_latest(ctx, *id).await?.and_then(ModelVersion::new));
        }
        Ok(models)
    }

    /// The newest published version of the sandbox profile that it names.
    async fn sandbox_profile(&self, ctx: &Context<'_>) -> Result<Option<SandboxProfileVersion>, ApiError> {
        match self.spec.sandbox_profile_id {
            Some(id) => Ok(visible_latest(ctx, id).await?.and_then(SandboxProfileVersion::new)),
            None => Ok(None),
        }
    }

    /// Names of the tools that it may call.
    async fn tools(&self) -> &[String] {
        &self.spec.tools
    }

    /// Limits of each execution, beside those of the start call.
    async fn limits(&self) -> Limits {
        self.spec.limits.into()
    }

    /// How loops are judged.
    async fn loop_policy(&self) -> LoopPolicy {
        self.spec.loop_policy.into()
    }

    /// Percentages of an execution's own limits of money and tokens at which it is warned.
    async fn warning_levels(&self) -> Vec<i32> {
        self.spec.warning_levels.percentages().iter().copied().map(i32::from).collect()
    }
}

/// How the loop guard judges.
#[derive(SimpleObject)]
pub struct LoopPolicy {
    /// What it does.
    on_loop: LoopAction,
    /// The Nth identical call with unchanged results, with nothing new done in between, is a loop.
    max_identical_calls: i32,
    /// When a tool has given the same error in N iterations, with nothing new done in between, its next call is a loop.
    max_repeated_errors: i32,
    /// A cycle of 2 to 5 calls with unchanged results is a loop when it is completed for the Nth time.
    max_cycles: i32,
    /// An identical call may be made N times although its results change, when nothing else that is new is done in
    /// between; and N times with unchanged results, whatever is done in between.
    max_polls: i32,
}

impl From<resource::LoopPolicy> for LoopPolicy {
    fn from(policy: resource::LoopPolicy) -> Self {
        Self {
            on_loop: policy.on_loop.into(),
            max_identical_calls: int(policy.max_identical_calls),
            max_repeated_errors: int(policy.max_repeated_errors),
            max_cycles: int(policy.max_cycles),
            max_polls: int(policy.max_polls),
        }
    }
}

/// What to do when the loop guard sees a loop. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "resource::LoopAction")]
pub enum LoopAction {
    /// Tell the model.
    Warn,
    /// Do not run the call, and tell the model.
    Block,
    /// End the execution.
    Stop,
}

//! What a caller writes to make an agent or a version of one.

use async_graphql::{ID, InputObject};
use domain::resource::{self, AddVersion, Content, CreateResource, Spec};

use super::limits::LimitsInput;
use super::object::LoopAction;
use crate::graphql::budget::warning_levels;
use crate::graphql::resource::publication;
use crate::graphql::user_error::{Faults, Parsed};

/// How the loop guard judges.
#[derive(InputObject)]
pub struct LoopPolicyInput {
    /// What it does.
    on_loop: LoopAction,
    /// The Nth identical call with unchanged results, with nothing new done in between, is a loop; at least 2.
    max_identical_calls: i32,
    /// When a tool has given the same error in N iterations, with nothing new done in between, its next call is a loop;
    /// at least 2. When left out 3, or maxIdenticalCalls where that is greater.
    max_repeated_errors: Option<i32>,
    /// A cycle of 2 to 5 calls with unchanged results is a loop when it is completed for the Nth time; at least 2. When
    /// left out 3, or maxIdenticalCalls where that is greater.
    max_cycles: Option<i32>,
    /// An identical call may be made N times although its results change, when nothing else that is new is done in
    /// between; and N times with unchanged results, whatever is done in between. At least 2; when left out 10, or
    /// maxIdenticalCalls where that is greater.
    max_polls: Option<i32>,
}

/// What a version of an agent says.
#[derive(InputObject)]
pub struct AgentSpecInput {
    /// The system message.
    instructions: String,
    /// The model that it thinks with.
    model_id: ID,
    /// The models that are asked when that one fails, in order; at most 8.
    fallback_model_ids: Option<Vec<ID>>,
    /// The sandbox profile for tools that run code.
    sandbox_profile_id: Option<ID>,
    /// Names of the tools that it may call.
    tools: Vec<String>,
    /// Limits of each execution, beside those of the start call.
    limits: Option<LimitsInput>,
    /// How loops are judged; stop at the third identical call when left out.
    loop_policy: Option<LoopPolicyInput>,
    /// Percentages of an execution's own limits of money and tokens at which it is warned; 50, 80 and 95 when left out.
    warning_levels: Option<Vec<i32>>,
}

/// An agent with its first version.
#[derive(InputObject)]
pub struct AgentCreateInput {
    /// The project that it will belong to.
    project_id: ID,
    /// Unique in the project; lower-case letters, digits and dashes.
    slug: String,
    /// For people.
    name: String,
    /// What the first version says.
    spec: AgentSpecInput,
    /// Publish the first version at once.
    #[graphql(default = false)]
    publish: bool,
}

/// A further version of an agent.
#[derive(InputObject)]
pub struct AgentVersionCreateInput {
    /// The agent.
    agent_id: ID,
    /// What the version says.
    spec: AgentSpecInput,
    /// Publish it at once.
    #[graphql(default = false)]
    publish: bool,
}

impl AgentCreateInput {
    /// Reads the input into domain types.
    pub fn read(self) -> Parsed<CreateResource> {
        let mut faults = Faults::default();
        let request = CreateResource {
            project_id: faults.id(&["projectId"], &self.project_id),
            slug: self.slug,
            name: self.name,
            content: self.spec.read(&mut faults),
            publication: publication(self.publish),
        };
        faults.with(request)
    }
}

impl AgentVersionCreateInput {
    /// Reads the input into domain types.
    pub fn read(self) -> Parsed<AddVersion> {
        let mut faults = Faults::default();
        let request = AddVersion {
            resource_id: faults.id(&["agentId"], &self.agent_id),
            content: self.spec.read(&mut faults),
            publication: publication(self.publish),
        };
        faults.with(request)
    }
}

impl LoopPolicyInput {
    /// What is not greater than 0 becomes 0, and the domain's rule reports it.
    fn read(self) -> resource::LoopPolicy {
        let threshold = |value: i32| u32::try_from(value).unwrap_or(0);
        resource::LoopPolicy::from(resource::PartialLoopPolicy {
            on_loop: self.on_loop.into(),
            max_identical_calls: Some(threshold(self.max_identical_calls)),
            max_repeated_errors: self.max_repeated_errors.map(threshold),
            max_cycles: self.max_cycles.map(threshold),
            max_polls: self.max_polls.map(threshold),
        })
    }
}

impl AgentSpecInput {
    fn read(self, faults: &mut Faults) -> Content {
        let limits = self.limits.map(|limits| limits.read(&["spec", "limits"], faults));
        let policy = self.loop_policy.map(LoopPolicyInput::read);
        let fallbacks = self.fallback_model_ids.unwrap_or_default();
        let fallbacks = fallbacks.iter().enumerate();
        let fallback_model_ids =
            fallbacks.map(|(index, id)| faults.id(&["spec", "fallbackModelIds", &index.to_string()], id)).collect();
        Content::Spec(Spec::Agent(resource::AgentSpec {
            instructions: self.instructions,
            model_id: faults.id(&["spec", "modelId"], &self.model_id),
            fallback_model_ids,
            sandbox_profile_id: faults.optional_id(&["spec", "sandboxProfileId"], self.sandbox_profile_id.as_ref()),
            tools: self.tools,
            limits: limits.unwrap_or_default(),
            loop_policy: policy.unwrap_or_default(),
            warning_levels: warning_levels(self.warning_levels),
        }))
    }
}

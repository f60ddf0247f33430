//! What a caller writes to make an agent or a version of one.

use async_graphql::{ID, InputObject};
use domain::resource::{self, AddVersion, Content, CreateResource, Spec};

use super::limits::LimitsInput;
use super::object::LoopAction;
use crate::graphql::resource::publication;
use crate::graphql::user_error::{Faults, Parsed};

/// How the loop guard judges.
#[derive(InputObject)]
pub struct LoopPolicyInput {
    /// What it does.
    on_loop: LoopAction,
    /// The Nth identical call in a row, with unchanged results, is a loop; at least 2.
    max_identical_calls: i32,
}

/// What a version of an agent says.
#[derive(InputObject)]
pub struct AgentSpecInput {
    /// The system message.
    instructions: String,
    /// The model that it thinks with.
    model_id: ID,
    /// The sandbox profile for tools that run code.
    sandbox_profile_id: Option<ID>,
    /// Names of the tools that it may call.
    tools: Vec<String>,
    /// Limits of each execution, beside those of the start call.
    limits: Option<LimitsInput>,
    /// How loops are judged; stop at the third identical call when left out.
    loop_policy: Option<LoopPolicyInput>,
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

impl AgentSpecInput {
    fn read(self, faults: &mut Faults) -> Content {
        let limits = self.limits.map(|limits| limits.read(&["spec", "limits"], faults));
        let policy = self.loop_policy.map(|policy| resource::LoopPolicy {
            on_loop: policy.on_loop.into(),
            max_identical_calls: u32::try_from(policy.max_identical_calls).unwrap_or(0),
        });
        Content::Spec(Spec::Agent(resource::AgentSpec {
            instructions: self.instructions,
            model_id: faults.id(&["spec", "modelId"], &self.model_id),
            sandbox_profile_id: faults.optional_id(&["spec", "sandboxProfileId"], self.sandbox_profile_id.as_ref()),
            tools: self.tools,
            limits: limits.unwrap_or_default(),
            loop_policy: policy.unwrap_or_default(),
        }))
    }
}

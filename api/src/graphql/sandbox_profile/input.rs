//! What a caller writes to make a sandbox profile or a version of one.

use async_graphql::{ID, InputObject};
use domain::resource::{self, AddVersion, Content, CreateResource, Spec};

use super::object::SandboxNetwork;
use crate::graphql::resource::publication;
use crate::graphql::scalar::BigInt;
use crate::graphql::user_error::{Faults, Parsed};

/// What a version of a sandbox profile says.
#[derive(InputObject)]
pub struct SandboxProfileSpecInput {
    /// The sandbox connection whose server runs it.
    connection_id: ID,
    /// Image name.
    image: String,
    /// Thousandths of a processor.
    #[graphql(default = 1000)]
    cpu_millis: i32,
    /// Memory of all processes together.
    memory_bytes: BigInt,
    /// Size of the workspace.
    disk_bytes: BigInt,
    /// Processes at one time.
    #[graphql(default = 64)]
    pids: i32,
    /// Seconds after which the sandbox is removed whatever it does.
    #[graphql(default = 600)]
    ttl_seconds: i32,
    /// What it may reach.
    #[graphql(default_with = "SandboxNetwork::None")]
    network: SandboxNetwork,
    /// Time limit of one command.
    #[graphql(default = 60000)]
    command_timeout_ms: i32,
}

/// A sandbox profile with its first version.
#[derive(InputObject)]
pub struct SandboxProfileCreateInput {
    /// The project that it will belong to.
    project_id: ID,
    /// Unique in the project; lower-case letters, digits and dashes.
    slug: String,
    /// For people.
    name: String,
    /// What the first version says.
    spec: SandboxProfileSpecInput,
    /// Publish the first version at once.
    #[graphql(default = false)]
    publish: bool,
}

/// A further version of a sandbox profile.
#[derive(InputObject)]
pub struct SandboxProfileVersionCreateInput {
    /// The sandbox profile.
    sandbox_profile_id: ID,
    /// What the version says.
    spec: SandboxProfileSpecInput,
    /// Publish it at once.
    #[graphql(default = false)]
    publish: bool,
}

impl SandboxProfileCreateInput {
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

impl SandboxProfileVersionCreateInput {
    /// Reads the input into domain types.
    pub fn read(self) -> Parsed<AddVersion> {
        let mut faults = Faults::default();
        let request = AddVersion {
            resource_id: faults.id(&["sandboxProfileId"], &self.sandbox_profile_id),
            content: self.spec.read(&mut faults),
            publication: publication(self.publish),
        };
        faults.with(request)
    }
}

impl SandboxProfileSpecInput {
    fn read(self, faults: &mut Faults) -> Content {
        // What is negative becomes 0, and the domain's rule reports the range.
        let size = |value: i32| u32::try_from(value).unwrap_or(0);
        Content::Spec(Spec::SandboxProfile(resource::SandboxProfileSpec {
            connection_id: faults.id(&["spec", "connectionId"], &self.connection_id),
            image: self.image,
            cpu_millis: size(self.cpu_millis),
            memory_bytes: self.memory_bytes.to_u64_or_zero(),
            disk_bytes: self.disk_bytes.to_u64_or_zero(),
            pids: size(self.pids),
            ttl_seconds: size(self.ttl_seconds),
            network: self.network.into(),
            command_timeout_ms: size(self.command_timeout_ms),
        }))
    }
}

//! What a caller writes to make a sandbox profile or a version of one.

use std::collections::BTreeMap;

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
    /// Memory of all processes together. A runtime that keeps the workspace in memory bounds both as one sum.
    memory_bytes: BigInt,
    /// Size of the workspace.
    disk_bytes: BigInt,
    /// Processes at one time.
    #[graphql(default = 64)]
    pids: i32,
    /// Seconds after which the sandbox is removed whatever it does.
    #[graphql(default = 600)]
    ttl_seconds: i32,
    /// Seconds without a tool call after which the sandbox is removed; leave it out for no such limit.
    idle_ttl_seconds: Option<i32>,
    /// What it may reach.
    #[graphql(default_with = "SandboxNetwork::None")]
    network: SandboxNetwork,
    /// The hosts of the network HOSTS, in lower case; "*." at the start matches every name below, and not the name itself.
    #[graphql(default)]
    network_hosts: Vec<String>,
    /// Name or number of the user that programs run as; leave it out for the image's own.
    user: Option<String>,
    /// Variables that every program gets. They are no place for secrets.
    #[graphql(default)]
    environment: Vec<SandboxVariableInput>,
    /// Credentials that every program gets as files.
    #[graphql(default)]
    credentials: Vec<SandboxCredentialInput>,
    /// Time limit of one command.
    #[graphql(default = 60000)]
    command_timeout_ms: i32,
}

/// A variable that every program of a sandbox gets.
#[derive(InputObject)]
pub struct SandboxVariableInput {
    /// Its name: letters, digits and _.
    name: String,
    /// Its value; no secret.
    value: String,
}

/// A credential that programs of a sandbox may use, for the time of one tool call.
#[derive(InputObject)]
pub struct SandboxCredentialInput {
    /// The credential. The agent needs a grant to use it, and is asked for it at each call.
    credential_id: ID,
    /// Name of its file, in capital letters; the variable NAME_FILE holds the file's path.
    name: String,
    /// Seconds after which the file is removed, also when the call still runs.
    #[graphql(default = 300)]
    ttl_seconds: i32,
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
            idle_ttl_seconds: self.idle_ttl_seconds.map(size),
            network: self.network.into(),
            network_hosts: self.network_hosts,
            user: self.user,
            environment: environment(self.environment, faults),
            credentials: credentials(self.credentials, faults),
            command_timeout_ms: size(self.command_timeout_ms),
        }))
    }
}

fn environment(variables: Vec<SandboxVariableInput>, faults: &mut Faults) -> BTreeMap<String, String> {
    let mut read = BTreeMap::new();
    for (index, SandboxVariableInput { name, value }) in variables.into_iter().enumerate() {
        if read.contains_key(&name) {
            let path = ["spec", "environment", &index.to_string(), "name"];
            faults.add(&path, "DUPLICATE", "is given twice; remove one");
        }
        read.insert(name, value);
    }
    read
}

fn credentials(inputs: Vec<SandboxCredentialInput>, faults: &mut Faults) -> Vec<resource::SandboxCredential> {
    let read = |(index, input): (usize, SandboxCredentialInput)| resource::SandboxCredential {
        credential_id: faults.id(&["spec", "credentials", &index.to_string(), "credentialId"], &input.credential_id),
        name: input.name,
        ttl_seconds: u32::try_from(input.ttl_seconds).unwrap_or(0),
    };
    inputs.into_iter().enumerate().map(read).collect()
}

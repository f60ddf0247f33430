//! What a caller writes to make a sandbox connection or a version of one.

use async_graphql::{ID, InputObject};
use domain::resource::{self, AddVersion, Content, CreateResource, SandboxTier, Spec};

use super::object::{EgressEnforcement, SandboxRoute, SecureRuntime};
use crate::graphql::resource::publication;
use crate::graphql::user_error::{Faults, Parsed};

/// The base URL that means the local tier.
const LOCAL: &str = "local:";

/// What a version of a sandbox connection says.
#[derive(InputObject)]
pub struct SandboxConnectionSpecInput {
    /// Base URL of the server's lifecycle API; "local:" for the local runtime of this installation.
    base_url: String,
    /// The credential that is sent as API key.
    credential_id: Option<ID>,
    /// Allows plain HTTP beyond loopback.
    #[graphql(default = false)]
    allow_plaintext: bool,
    /// Further hosts that an endpoint may name; "*." at the start matches subdomains.
    endpoint_hosts: Option<Vec<String>>,
    /// Ports that an endpoint may have: numbers, or ranges such as "40000-60000". The server's own address is always
    /// allowed; without a list, so is every port.
    endpoint_ports: Option<Vec<String>>,
    /// With which of these an endpoint's path must begin, such as "/v1/sandboxes"; whole segments count. Without a list,
    /// every path is allowed.
    endpoint_paths: Option<Vec<String>>,
    /// How its sandboxes are reached.
    #[graphql(default_with = "SandboxRoute::Direct")]
    route: SandboxRoute,
    /// Asks for a key for each sandbox, which its endpoint then requires. For servers that others use too; needs the route
    /// GATEWAY or SERVER_PROXY.
    #[graphql(default = false)]
    secure_access: bool,
    /// What the server runs sandboxes with.
    #[graphql(default_with = "SecureRuntime::Runc")]
    secure_runtime: SecureRuntime,
    /// What keeps its sandboxes from the network: required, except for the local runtime.
    egress: Option<EgressEnforcement>,
}

/// A sandbox connection with its first version.
#[derive(InputObject)]
pub struct SandboxConnectionCreateInput {
    /// The project that it will belong to.
    project_id: ID,
    /// Unique in the project; lower-case letters, digits and dashes.
    slug: String,
    /// For people.
    name: String,
    /// What the first version says.
    spec: SandboxConnectionSpecInput,
    /// Publish the first version at once.
    #[graphql(default = false)]
    publish: bool,
}

/// A further version of a sandbox connection.
#[derive(InputObject)]
pub struct SandboxConnectionVersionCreateInput {
    /// The sandbox connection.
    sandbox_connection_id: ID,
    /// What the version says.
    spec: SandboxConnectionSpecInput,
    /// Publish it at once.
    #[graphql(default = false)]
    publish: bool,
}

impl SandboxConnectionCreateInput {
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

impl SandboxConnectionVersionCreateInput {
    /// Reads the input into domain types.
    pub fn read(self) -> Parsed<AddVersion> {
        let mut faults = Faults::default();
        let request = AddVersion {
            resource_id: faults.id(&["sandboxConnectionId"], &self.sandbox_connection_id),
            content: self.spec.read(&mut faults),
            publication: publication(self.publish),
        };
        faults.with(request)
    }
}

impl SandboxConnectionSpecInput {
    fn read(self, faults: &mut Faults) -> Content {
        let tier = if self.base_url == LOCAL { SandboxTier::Local } else { SandboxTier::Remote };
        Content::Spec(Spec::SandboxConnection(resource::SandboxConnectionSpec {
            tier,
            base_url: self.base_url,
            credential_id: faults.optional_id(&["spec", "credentialId"], self.credential_id.as_ref()),
            allow_plaintext: self.allow_plaintext,
            endpoint_hosts: self.endpoint_hosts.unwrap_or_default(),
            endpoint_ports: self.endpoint_ports.unwrap_or_default(),
            endpoint_paths: self.endpoint_paths.unwrap_or_default(),
            route: self.route.into(),
            secure_access: self.secure_access,
            secure_runtime: self.secure_runtime.into(),
            egress: self.egress.map(Into::into),
        }))
    }
}

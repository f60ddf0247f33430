//! What a caller writes to keep a secret.

use async_graphql::{ID, InputObject};
use domain::resource::{AddVersion, Content, CreateResource, Publication};

use crate::graphql::user_error::{Faults, Parsed};

/// A credential with its first version, which is usable at once.
#[derive(InputObject)]
pub struct CredentialCreateInput {
    /// The project that it will belong to.
    project_id: ID,
    /// Unique in the project; lower-case letters, digits and dashes.
    slug: String,
    /// For people.
    name: String,
    /// The secret. It is sealed at once and never returned.
    #[graphql(secret)]
    secret: String,
}

/// A further version of a credential, usable at once.
#[derive(InputObject)]
pub struct CredentialVersionCreateInput {
    /// The credential.
    credential_id: ID,
    /// The secret. It is sealed at once and never returned.
    #[graphql(secret)]
    secret: String,
}

impl CredentialCreateInput {
    /// Reads the input into domain types.
    pub fn read(self) -> Parsed<CreateResource> {
        let mut faults = Faults::default();
        let request = CreateResource {
            project_id: faults.id(&["projectId"], &self.project_id),
            slug: self.slug,
            name: self.name,
            content: Content::Secret(self.secret),
            publication: Publication::AtOnce,
        };
        faults.with(request)
    }
}

impl CredentialVersionCreateInput {
    /// Reads the input into domain types.
    pub fn read(self) -> Parsed<AddVersion> {
        let mut faults = Faults::default();
        let request = AddVersion {
            resource_id: faults.id(&["credentialId"], &self.credential_id),
            content: Content::Secret(self.secret),
            publication: Publication::AtOnce,
        };
        faults.with(request)
    }
}

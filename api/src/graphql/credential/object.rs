//! Credentials and their versions, as the API shows them: everything but the secret.

use crate::graphql::resource::{resource_head, resource_payload, resource_version};

resource_head! {
    /// A secret that models and sandbox connections are reached with. Its value is never returned.
    Credential => CredentialVersion
}

resource_version! {
    /// One version of a credential. The sealed value is never returned.
    CredentialVersion, Credential |row, _sealed| {}
}

resource_payload! {
    /// The credential and its new version, or what is wrong. Never the secret.
    CredentialPayload, credential: Credential, CredentialVersion
}

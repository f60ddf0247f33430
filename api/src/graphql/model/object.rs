//! Models and their versions, as the API shows them.

use async_graphql::{ComplexObject, Context, Enum};
use domain::resource::{self, ModelSpec};

use crate::graphql::credential::Credential;
use crate::graphql::error::ApiError;
use crate::graphql::money::PriceVersion;
use crate::graphql::resource::{resource_head, resource_payload, resource_version, visible};
use crate::graphql::scalar::{Json, int};

resource_head! {
    /// A deployment of a model at a provider.
    Model => ModelVersion
}

resource_version! {
    /// One version of a model.
    #[graphql(complex)]
    ModelVersion, Model |row, spec| { spec: ModelSpec = spec }
}

resource_payload! {
    /// The model and its new version, or what is wrong.
    ModelPayload, model: Model, ModelVersion
}

#[ComplexObject]
impl ModelVersion {
    /// How it is talked to.
    async fn protocol(&self) -> ModelProtocol {
        self.spec.protocol.into()
    }

    /// Who runs it.
    async fn provider(&self) -> &str {
        &self.spec.provider
    }

    /// The provider's name of the model.
    async fn deployment(&self) -> &str {
        &self.spec.deployment
    }

    /// The short name that screens show.
    async fn alias(&self) -> &str {
        &self.spec.alias
    }

    /// Base URL of the provider's API.
    async fn base_url(&self) -> &str {
        &self.spec.base_url
    }

    /// The credential that is sent as bearer token; null also when the caller may not see it.
    async fn credential(&self, ctx: &Context<'_>) -> Result<Option<Credential>, ApiError> {
        match self.spec.credential_id {
            Some(id) => Ok(visible(ctx, id).await?.map(Credential)),
            None => Ok(None),
        }
    }

    /// Further members of the request body, as the provider documents them.
    async fn parameters(&self) -> Option<Json> {
        Some(Json::object(&self.spec.parameters))
    }

    /// Tokens that a request and its reply may have together.
    async fn context_window(&self) -> i32 {
        int(self.spec.context_window)
    }

    /// Output cap of one call, in tokens.
    async fn max_output_tokens(&self) -> i32 {
        int(self.spec.max_output_tokens)
    }

    /// What it costs; without a price, no cost limit can be set.
    async fn price(&self) -> Option<PriceVersion> {
        self.spec.price.map(PriceVersion::from)
    }

    /// How often a request for which the provider did nothing is sent again.
    async fn max_retries(&self) -> i32 {
        int(self.spec.max_retries)
    }

    /// True when a written conversation answers in place of a model.
    async fn scripted(&self) -> bool {
        self.spec.is_scripted()
    }
}

/// The wire protocol of a model's endpoint. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "resource::ModelProtocol")]
pub enum ModelProtocol {
    /// Chat completions as OpenAI defined them.
    OpenaiCompatible,
}

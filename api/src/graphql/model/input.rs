//! What a caller writes to make a model or a version of one.

use async_graphql::{ID, InputObject};
use domain::ctx::OpContext;
use domain::ids::PriceVersionId;
use domain::resource::{AddVersion, Content, CreateResource, ModelSpec, Spec};
use serde_json::{Map, Value};

use super::object::ModelProtocol;
use crate::graphql::money::PriceInput;
use crate::graphql::resource::publication;
use crate::graphql::scalar::Json;
use crate::graphql::user_error::{Faults, Parsed};

/// What a version of a model says.
#[derive(InputObject)]
pub struct ModelSpecInput {
    /// How it is talked to.
    protocol: ModelProtocol,
    /// Who runs it.
    provider: String,
    /// The provider's name of the model.
    deployment: String,
    /// The short name that screens show.
    alias: String,
    /// Base URL of the provider's API, for example https://api.openai.com/v1.
    base_url: String,
    /// The credential that is sent as bearer token.
    credential_id: Option<ID>,
    /// Further members of the request body: a JSON object, as the provider documents it.
    parameters: Option<Json>,
    /// Tokens that a request and its reply may have together.
    context_window: i32,
    /// Output cap of one call, in tokens.
    max_output_tokens: i32,
    /// What it costs; without a price, no cost limit can be set.
    price: Option<PriceInput>,
    /// How often a request for which the provider did nothing is sent again, from 0 to 10; 2 when left out.
    max_retries: Option<i32>,
}

/// A model with its first version.
#[derive(InputObject)]
pub struct ModelCreateInput {
    /// The project that it will belong to.
    project_id: ID,
    /// Unique in the project; lower-case letters, digits and dashes.
    slug: String,
    /// For people.
    name: String,
    /// What the first version says.
    spec: ModelSpecInput,
    /// Publish the first version at once.
    #[graphql(default = false)]
    publish: bool,
}

/// A further version of a model.
#[derive(InputObject)]
pub struct ModelVersionCreateInput {
    /// The model.
    model_id: ID,
    /// What the version says.
    spec: ModelSpecInput,
    /// Publish it at once.
    #[graphql(default = false)]
    publish: bool,
}

impl ModelCreateInput {
    /// Reads the input into domain types.
    pub fn read(self, op: &OpContext) -> Parsed<CreateResource> {
        let mut faults = Faults::default();
        let request = CreateResource {
            project_id: faults.id(&["projectId"], &self.project_id),
            slug: self.slug,
            name: self.name,
            content: self.spec.read(op, &mut faults),
            publication: publication(self.publish),
        };
        faults.with(request)
    }
}

impl ModelVersionCreateInput {
    /// Reads the input into domain types.
    pub fn read(self, op: &OpContext) -> Parsed<AddVersion> {
        let mut faults = Faults::default();
        let request = AddVersion {
            resource_id: faults.id(&["modelId"], &self.model_id),
            content: self.spec.read(op, &mut faults),
            publication: publication(self.publish),
        };
        faults.with(request)
    }
}

impl ModelSpecInput {
    fn read(self, op: &OpContext, faults: &mut Faults) -> Content {
        let price_id = PriceVersionId::generate(op.clock.as_ref(), op.entropy.as_ref());
        let size = |field, value: i32, faults: &mut Faults| {
            u32::try_from(value).ok().filter(|value| *value > 0).unwrap_or_else(|| {
                faults.add(&["spec", field], "OUT_OF_RANGE", "must be greater than 0");
                1
            })
        };
        let context_window = size("contextWindow", self.context_window, faults);
        Content::Spec(Spec::Model(ModelSpec {
            protocol: self.protocol.into(),
            provider: self.provider,
            deployment: self.deployment,
            alias: self.alias,
            base_url: self.base_url,
            credential_id: faults.optional_id(&["spec", "credentialId"], self.credential_id.as_ref()),
            parameters: parameters(self.parameters, faults),
            context_window,
            // The domain's rule reports 0.
            max_output_tokens: u32::try_from(self.max_output_tokens).unwrap_or(0),
            price: self.price.map(|price| price.read(price_id, op.clock.now(), faults)),
            // The domain's rule reports what is negative.
            max_retries: self
                .max_retries
                .map_or(ModelSpec::default_max_retries(), |most| u32::try_from(most).unwrap_or(u32::MAX)),
        }))
    }
}

fn parameters(json: Option<Json>, faults: &mut Faults) -> Map<String, Value> {
    match json.map(|json| json.0.into_json()) {
        None | Some(Ok(Value::Null)) => Map::new(),
        Some(Ok(Value::Object(members))) => members,
        Some(_) => {
            faults.add(&["spec", "parameters"], "MALFORMED", "must be a JSON object");
            Map::new()
        }
    }
}

//! The schema: all roots together.

use async_graphql::{MergedObject, MergedSubscription, SDLExportOptions, Schema, SchemaBuilder};

use super::access::AccessMutation;
use super::agent::{AgentMutation, AgentQuery};
use super::budget::{BudgetMutation, BudgetQuery};
use super::cost::CostQuery;
use super::credential::{CredentialMutation, CredentialQuery};
use super::event::EventSubscription;
use super::execution::{ExecutionMutation, ExecutionQuery, OverrideLoopMutation, UpdateSubscription};
use super::model::{ModelMutation, ModelQuery};
use super::node::NodeQuery;
use super::price::{PriceMutation, PriceQuery};
use super::resource::ResourceMutation;
use super::sandbox_connection::{SandboxConnectionMutation, SandboxConnectionQuery};
use super::sandbox_profile::{SandboxProfileMutation, SandboxProfileQuery};
use super::services::Services;
use super::viewer::ViewerQuery;

/// Everything that can be read. What the caller may not see is null, or NOT_FOUND where a list is asked for.
#[derive(MergedObject, Default)]
pub struct Query(
    ViewerQuery,
    NodeQuery,
    AgentQuery,
    ModelQuery,
    CredentialQuery,
    SandboxConnectionQuery,
    SandboxProfileQuery,
    ExecutionQuery,
    BudgetQuery,
    PriceQuery,
    CostQuery,
);

/// Everything that can be done. Refusals are `userErrors` of the payload.
#[derive(MergedObject, Default)]
pub struct Mutation(
    AccessMutation,
    ResourceMutation,
    AgentMutation,
    ModelMutation,
    CredentialMutation,
    SandboxConnectionMutation,
    SandboxProfileMutation,
    ExecutionMutation,
    BudgetMutation,
    PriceMutation,
    OverrideLoopMutation,
);

/// Everything that can be watched.
#[derive(MergedSubscription, Default)]
pub struct Subscription(EventSubscription, UpdateSubscription);

/// The schema of this API.
pub type ApiSchema = Schema<Query, Mutation, Subscription>;

/// The schema over these services. Sizes of documents are limited by the gate in front of it.
pub fn build_schema(services: Services) -> ApiSchema {
    builder().data(services).finish()
}

/// The schema as text, sorted, the same on every run.
pub fn sdl() -> String {
    let options = SDLExportOptions::new()
        .sorted_fields()
        .sorted_arguments()
        .sorted_enum_items()
        .include_specified_by()
        .prefer_single_line_descriptions()
        .use_space_ident()
        .indent_width(2);
    builder().finish().sdl_with_options(options)
}

fn builder() -> SchemaBuilder<Query, Mutation, Subscription> {
    Schema::build(Query::default(), Mutation::default(), Subscription::default())
}

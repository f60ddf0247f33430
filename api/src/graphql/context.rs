//! What a resolver finds in its context, and how it gets there.
//!
//! [`Services`] belong to the schema; the [`Caller`] and the loaders belong to one operation. HTTP and WebSocket put
//! them there with the same function, [`attach`].

use async_graphql::dataloader::DataLoader;
use async_graphql::{Context, Data};
use domain::access::{Action, Target};
use domain::ctx::{OpContext, Principal};
use domain::ids::{ProjectId, ResourceId};

use super::error::ApiError;
use super::loader::Batches;
use super::services::Services;

/// Who sends the operation; None when nobody is signed in.
#[derive(Debug, Clone, Copy)]
pub struct Caller(pub Option<Principal>);

/// Puts the caller and fresh loaders into an operation's data. Loaders keep nothing: they only join reads that come
/// together, so a subscription may live as long as it likes.
pub fn attach(data: &mut Data, services: &Services, caller: Caller) {
    data.insert(caller);
    if let Some(principal) = caller.0 {
        let tasks = services.tasks.clone();
        let batches = Batches { principal, services: services.clone() };
        data.insert(DataLoader::new(batches, move |future| {
            tasks.spawn(future);
        }));
    }
}

/// Typed access to the context.
pub trait ContextExt {
    /// The ports.
    fn services(&self) -> Result<&Services, ApiError>;

    /// Who asks; an error when nobody is signed in.
    fn principal(&self) -> Result<Principal, ApiError>;

    /// What a use case gets.
    fn op(&self) -> Result<OpContext, ApiError>;

    /// The loaders of this operation.
    fn loader(&self) -> Result<&DataLoader<Batches>, ApiError>;

    /// Asks the Authorizer about a project; what is not permitted is not found.
    fn require(&self, action: Action, project: ProjectId) -> impl Future<Output = Result<Principal, ApiError>> + Send;

    /// Whether the caller may see a project, or a resource in it.
    fn may_view(
        &self,
        project: ProjectId,
        resource: Option<ResourceId>,
    ) -> impl Future<Output = Result<bool, ApiError>> + Send;
}

impl ContextExt for Context<'_> {
    fn services(&self) -> Result<&Services, ApiError> {
        self.data_opt().ok_or_else(|| ApiError::internal(&"the schema has no services"))
    }

    fn principal(&self) -> Result<Principal, ApiError> {
        let caller = self.data_opt::<Caller>().and_then(|caller| caller.0);
        caller.ok_or_else(ApiError::unauthenticated)
    }

    fn op(&self) -> Result<OpContext, ApiError> {
        let (principal, services) = (self.principal()?, self.services()?);
        Ok(OpContext { principal, clock: services.clock.clone(), entropy: services.entropy.clone() })
    }

    fn loader(&self) -> Result<&DataLoader<Batches>, ApiError> {
        self.data_opt().ok_or_else(ApiError::unauthenticated)
    }

    async fn require(&self, action: Action, project_id: ProjectId) -> Result<Principal, ApiError> {
        let principal = self.principal()?;
        let target = Target { tenant_id: principal.tenant_id, project_id, resource_id: None };
        self.services()?.authorizer.authorize(&principal, action, &target).await?;
        Ok(principal)
    }

    async fn may_view(&self, project: ProjectId, resource: Option<ResourceId>) -> Result<bool, ApiError> {
        Ok(self.loader()?.load_one(super::loader::Sight { project, resource }).await?.unwrap_or(false))
    }
}

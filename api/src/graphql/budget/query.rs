//! Queries for budget accounts.

use async_graphql::{Context, ID, Object};
use domain::access::Action;
use domain::budget::{list_accounts, visible_account};

use super::object::BudgetAccount;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;

/// Queries for budget accounts.
#[derive(Default)]
pub struct BudgetQuery;

#[Object]
impl BudgetQuery {
    /// A budget account; null when there is none with this id that the caller may see.
    async fn budget_account(&self, ctx: &Context<'_>, id: ID) -> Result<Option<BudgetAccount>, ApiError> {
        let (op, ports) = (ctx.op()?, ctx.services()?.budget_ports());
        Ok(visible_account(&op, &ports, id.parse()?).await?.map(BudgetAccount::from))
    }

    /// The budget accounts of a project and of its agents, and those of the tenant for who owns all of its projects.
    async fn budget_accounts(&self, ctx: &Context<'_>, project_id: ID) -> Result<Option<Vec<BudgetAccount>>, ApiError> {
        let (op, ports, project) = (ctx.op()?, ctx.services()?.budget_ports(), project_id.parse()?);
        ctx.require(Action::View, project).await?;
        Ok(Some(list_accounts(&op, &ports, project).await?.into_iter().map(BudgetAccount::from).collect()))
    }
}

//! Sums and their lines, as the API shows them.

use async_graphql::{ComplexObject, Context, Enum, ID, InputObject, Object, SimpleObject};
use domain::access::Action;
use domain::cost;
use domain::execution::ExecutionRef;
use domain::ids::PriceVersionId;

use super::recount::{CostRecount, recount_of};
use crate::graphql::agent::Agent;
use crate::graphql::connection::{Listing, listing, page_request};
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::money::{Money, TokenUsage};
use crate::graphql::resource::visible;
use crate::graphql::scalar::{BigInt, DateTime};

/// The exact sum of stored model calls. Calls that are under way have no cost yet and are not in it.
#[derive(SimpleObject)]
pub struct CostTotals {
    /// What they cost.
    total: Money,
    /// How many they are.
    calls: BigInt,
    /// Their tokens.
    usage: TokenUsage,
    /// The part of the total that stands on estimated usage: the provider said none, or the call was lost.
    estimated_total: Money,
    /// How many calls that are.
    estimated_calls: BigInt,
    /// How many calls had no price, and so cost nothing.
    unpriced_calls: BigInt,
}

impl From<cost::CostTotals> for CostTotals {
    fn from(totals: cost::CostTotals) -> Self {
        Self {
            total: totals.cost.into(),
            calls: totals.calls.into(),
            usage: totals.usage.into(),
            estimated_total: totals.estimated_cost.into(),
            estimated_calls: totals.estimated_calls.into(),
            unpriced_calls: totals.unpriced_calls.into(),
        }
    }
}

/// What the lines of a summary stand for. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "cost::CostBy")]
pub enum CostBy {
    /// A model: provider and deployment.
    Model,
    /// An agent.
    Agent,
    /// A day in UTC, by the start of the call.
    Day,
}

/// Which calls are summed.
#[derive(InputObject)]
pub struct CostFilter {
    /// Those of this project.
    project_id: ID,
    /// Those that started at this moment or later.
    from: Option<DateTime>,
    /// Those that started before this moment.
    to: Option<DateTime>,
}

impl CostFilter {
    /// Reads the filter and asks whether the caller may see its project.
    pub async fn read(self, ctx: &Context<'_>) -> Result<cost::CostFilter, ApiError> {
        ctx.principal()?;
        let project_id = self.project_id.parse()?;
        let (from, to) = (self.from.map(|moment| moment.0), self.to.map(|moment| moment.0));
        if from.zip(to).is_some_and(|(from, to)| from >= to) {
            return Err(ApiError::bad_input(
                "filter.to must be later than filter.from, which is the first moment in it",
            ));
        }
        ctx.require(Action::View, project_id).await?;
        Ok(cost::CostFilter { project_id, from, to })
    }
}

/// What an execution cost.
pub struct ExecutionCost {
    pub execution: ExecutionRef,
    pub totals: cost::CostTotals,
}

/// What an execution cost so far: the exact sum of its stored model calls.
#[Object]
impl ExecutionCost {
    /// The execution.
    async fn execution_id(&self) -> ID {
        self.execution.id.to_string().into()
    }

    /// The sum of its calls.
    async fn totals(&self) -> CostTotals {
        self.totals.into()
    }

    /// What the same tokens would cost by another price version, which changes nothing that is stored; null when there
    /// is no such version that the caller may see.
    async fn recount(&self, ctx: &Context<'_>, price_version_id: ID) -> Result<Option<CostRecount>, ApiError> {
        let id: PriceVersionId = price_version_id.parse()?;
        recount_of(ctx, self.execution, id).await
    }
}

/// Costs by model, agent or day.
pub struct CostSummary {
    pub by: cost::CostBy,
    pub filter: cost::CostFilter,
}

/// The exact sum of a project's stored model calls, and the lines that it is made of.
#[Object]
impl CostSummary {
    /// What the lines stand for.
    async fn by(&self) -> CostBy {
        self.by.into()
    }

    /// The sum of all lines, also of those on other pages.
    async fn totals(&self, ctx: &Context<'_>) -> Result<CostTotals, ApiError> {
        let scope = ctx.principal()?.scope();
        Ok(ctx.services()?.costs.cost_totals(scope, &self.filter).await?.into())
    }

    /// The lines: models by provider and name, agents by id, days with the newest first.
    async fn lines(
        &self,
        ctx: &Context<'_>,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Listing<CostLine>, ApiError> {
        let (scope, request) = (ctx.principal()?.scope(), page_request(first, after.as_deref())?);
        let page = ctx.services()?.costs.cost_lines(scope, &self.filter, self.by, request.clone()).await?;
        Ok(listing(&request, page, CostLine::from))
    }
}

/// One model, agent or day of a summary.
#[derive(SimpleObject)]
#[graphql(complex)]
pub struct CostLine {
    /// Who runs the model; null when the line is no model.
    provider: Option<String>,
    /// The provider's name of the model; null when the line is no model.
    deployment: Option<String>,
    /// The first moment of the day in UTC; null when the line is no day.
    day: Option<DateTime>,
    /// The agent; null when the line is no agent.
    agent_id: Option<ID>,
    /// The sum.
    totals: CostTotals,
    #[graphql(skip)]
    agent: Option<domain::ids::ResourceId>,
}

#[ComplexObject]
impl CostLine {
    /// The agent; null also when the caller may not see it.
    async fn agent(&self, ctx: &Context<'_>) -> Result<Option<Agent>, ApiError> {
        match self.agent {
            Some(id) => Ok(visible(ctx, id).await?.map(Agent)),
            None => Ok(None),
        }
    }
}

impl From<cost::CostLine> for CostLine {
    fn from(line: cost::CostLine) -> Self {
        let totals = line.totals.into();
        let none = Self { provider: None, deployment: None, day: None, agent_id: None, totals, agent: None };
        match line.key {
            cost::CostKey::Model(name) => {
                Self { provider: Some(name.provider), deployment: Some(name.deployment), ..none }
            }
            cost::CostKey::Agent(id) => Self { agent_id: Some(id.to_string().into()), agent: Some(id), ..none },
            cost::CostKey::Day(day) => Self { day: Some(day.into()), ..none },
        }
    }
}

//! Recounts, as the API shows them: always marked as such, and always with the price version.

use async_graphql::{Context, ID, Object, SimpleObject};
use domain::cost::{PricedCall, Recount, RecountedCall, recount};
use domain::ctx::Page;
use domain::execution::ExecutionRef;
use domain::ids::PriceVersionId;
use domain::money::Price;

use crate::graphql::connection::{Listing, listing, page_request};
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::money::Money;

/// A recount.
pub struct CostRecount {
    version: PriceVersionId,
    recount: Recount,
}

/// What stored calls would cost by another price version. It is computed when it is asked for, and stored nowhere.
#[Object]
impl CostRecount {
    /// Always true: these are not the amounts that were charged.
    async fn recounted(&self) -> bool {
        true
    }

    /// The price version by which was counted.
    async fn price_version_id(&self) -> ID {
        self.version.to_string().into()
    }

    /// What the calls would cost.
    async fn total(&self) -> Money {
        self.recount.recounted().into()
    }

    /// What they cost; this stays.
    async fn stored_total(&self) -> Money {
        self.recount.stored().into()
    }

    /// Total less stored total; negative when the calls would have been cheaper.
    async fn difference(&self) -> Money {
        (self.recount.recounted() - self.recount.stored()).into()
    }

    /// Call by call, oldest first.
    #[expect(clippy::unused_async, reason = "a resolver is asynchronous")]
    async fn calls(&self, first: Option<i32>, after: Option<String>) -> Result<Listing<RecountedModelCall>, ApiError> {
        let request = page_request(first, after.as_deref())?;
        let (wanted, seen) = (request.first as usize, places_before(request.after.as_deref())?);
        let mut behind = self.recount.calls.iter().copied().enumerate().skip(seen);
        let rows = behind.by_ref().take(wanted).map(|(index, call)| ((index + 1).to_string(), call)).collect();
        let page = Page { rows, has_next: behind.next().is_some() };
        Ok(listing(&request, page, RecountedModelCall::from))
    }
}

fn places_before(after: Option<&str>) -> Result<usize, ApiError> {
    let malformed = |_| ApiError::bad_input("after is not a cursor of this list; pass an endCursor, or leave it out");
    after.map_or(Ok(0), str::parse).map_err(malformed)
}

/// A model call with what it cost, and what it would cost.
#[derive(SimpleObject)]
pub struct RecountedModelCall {
    /// The call.
    model_call_id: ID,
    /// What it cost; this stays.
    stored_cost: Money,
    /// What it would cost.
    cost: Money,
}

impl From<RecountedCall> for RecountedModelCall {
    fn from(call: RecountedCall) -> Self {
        Self { model_call_id: call.id.to_string().into(), stored_cost: call.stored.into(), cost: call.recounted.into() }
    }
}

/// Counts an execution's calls again by a version of its project's table, or by one that a call of it was settled with.
pub async fn recount_of(
    ctx: &Context<'_>,
    execution: ExecutionRef,
    version: PriceVersionId,
) -> Result<Option<CostRecount>, ApiError> {
    let calls = ctx.services()?.costs.priced_calls(execution).await?;
    let price = price_of(ctx, &calls, version).await?;
    Ok(price.map(|price| CostRecount { version, recount: recount(&calls, &price) }))
}

async fn price_of(ctx: &Context<'_>, calls: &[PricedCall], version: PriceVersionId) -> Result<Option<Price>, ApiError> {
    let own = calls.iter().filter_map(|call| call.price).find(|(id, _)| *id == version);
    if let Some((_, price)) = own {
        return Ok(Some(price));
    }
    let stored = ctx.services()?.prices.prices(ctx.principal()?.scope(), &[version]).await?.pop();
    let Some(stored) = stored else { return Ok(None) };
    Ok(ctx.may_view(stored.project_id, None).await?.then_some(stored.version.price))
}

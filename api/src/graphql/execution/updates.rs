//! `executionUpdates` watches many executions: a snapshot of each, then its changes.
//!
//! It holds what it sent last and what is due, and never a queue of changes. Access is asked again for every row that is
//! sent, so a role that was taken away stops the stream of its project.

use std::collections::VecDeque;
use std::time::Duration;

use async_graphql::{Context, Subscription};
use domain::access::{Action, Target, may};
use domain::ctx::{OpContext, PageRequest};
use domain::execution::{self, Execution as Row};
use domain::ids::ExecutionId;
use futures_util::StreamExt;
use futures_util::future::{Either, pending, select};
use futures_util::stream::{BoxStream, Stream, unfold};

use super::filter::{ExecutionFilter, matches, visible_page};
use super::object::Execution;
use super::update_pace::Pace;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::event::Changed;
use crate::graphql::services::Services;

/// Executions that a snapshot holds at most.
const SNAPSHOT: u32 = 100;

/// Executions, live.
#[derive(Default)]
pub struct UpdateSubscription;

#[Subscription]
impl UpdateSubscription {
    /// A snapshot of each of the newest 100 executions that match, then its changes and new ones that match; at most 5 a
    /// second for each, the last value wins. One that was sent is sent again also when it no longer matches, so that a
    /// list can drop it.
    async fn execution_updates(
        &self,
        ctx: &Context<'_>,
        filter: Option<ExecutionFilter>,
    ) -> Result<impl Stream<Item = Result<Execution, ApiError>> + use<>, ApiError> {
        ctx.principal()?;
        let watch = Watch::open(ctx, filter.unwrap_or_default()).await?;
        Ok(unfold(watch, Watch::next))
    }
}

struct Watch {
    op: OpContext,
    services: Services,
    filter: execution::ExecutionFilter,
    changes: BoxStream<'static, Changed>,
    pace: Pace,
    ready: VecDeque<Row>,
    is_done: bool,
}

impl Watch {
    async fn open(ctx: &Context<'_>, filter: ExecutionFilter) -> Result<Self, ApiError> {
        let (op, services) = (ctx.op()?, ctx.services()?.clone());
        let filter = filter.read(ctx).await?;
        // Listening starts before the snapshot is read, so that no change falls between them.
        let changes = services.follow.changes(op.principal.tenant_id);
        let page = visible_page(ctx, &filter, &PageRequest { first: SNAPSHOT, after: None }).await?;
        let mut pace = Pace::default();
        let now = services.clock.monotonic();
        let ready: VecDeque<_> = page.rows.into_iter().map(|(_, row)| row).collect();
        for row in &ready {
            pace.show(row, now);
        }
        Ok(Self { op, services, filter, changes, pace, ready, is_done: false })
    }

    async fn next(mut self) -> Option<(Result<Execution, ApiError>, Self)> {
        while !self.is_done {
            if let Some(row) = self.ready.pop_front() {
                return Some((Ok(Execution(row)), self));
            }
            if let Err(error) = self.step().await {
                self.is_done = true;
                return Some((Err(error), self));
            }
        }
        None
    }

    /// Waits for one change or for what is due.
    async fn step(&mut self) -> Result<(), ApiError> {
        let due = self.pace.next_due();
        let now = self.services.clock.monotonic();
        let clock = self.services.clock.clone();
        let timer = Box::pin(async move {
            match due {
                Some(due) => clock.sleep(due.saturating_sub(now)).await,
                None => pending().await,
            }
        });
        let woken = match select(self.changes.next(), timer).await {
            Either::Left((Some(change), _)) => Some(change),
            Either::Left((None, _)) => {
                self.is_done = true;
                return Ok(());
            }
            Either::Right(((), _)) => None,
        };
        let now = self.services.clock.monotonic();
        match woken {
            Some(Changed::Execution(execution)) if execution.tenant_id == self.op.principal.tenant_id => {
                self.pace.changed(execution.id, now);
            }
            Some(Changed::Execution(_)) => {}
            Some(Changed::Any) => self.look_at_all(now).await?,
            None => self.load(now).await?,
        }
        Ok(())
    }

    /// Nobody knows what changed: the newest that match, and those that were sent and go on, are looked at.
    async fn look_at_all(&mut self, now: Duration) -> Result<(), ApiError> {
        let request = PageRequest { first: SNAPSHOT, after: None };
        let page = self.services.executions.list(self.op.scope(), &self.filter, request).await?;
        let newest: Vec<_> =
            page.rows.iter().filter(|(_, row)| self.pace.is_news(row)).map(|(_, row)| row.id).collect();
        for id in newest.into_iter().chain(self.pace.live()) {
            self.pace.changed(id, now);
        }
        Ok(())
    }

    async fn load(&mut self, now: Duration) -> Result<(), ApiError> {
        let due: Vec<ExecutionId> = self.pace.take_due(now);
        if due.is_empty() {
            return Ok(());
        }
        for row in self.services.executions.executions(self.op.scope(), &due).await? {
            if !self.pace.is_news(&row) {
                continue;
            }
            let is_wanted = matches(&self.filter, &row) || self.pace.was_shown(row.id);
            if is_wanted && may_see(&self.op, &self.services, &row).await? {
                self.pace.show(&row, now);
                self.ready.push_back(row);
            } else {
                self.pace.pass_over(&row, now);
            }
        }
        Ok(())
    }
}

async fn may_see(op: &OpContext, services: &Services, row: &Row) -> Result<bool, ApiError> {
    let target = Target { tenant_id: row.tenant_id, project_id: row.project_id, resource_id: None };
    Ok(may(op, &services.authorizer, Action::View, &target).await?)
}

//! Setting accounts, and topping up what is used up.

use async_graphql::{Context, Object, SimpleObject};
use domain::budget::{ToppedUp, set_account, top_up};

use super::input::{BudgetAccountSetInput, BudgetTopUpInput};
use super::object::BudgetAccount;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::execution::Execution;
use crate::graphql::user_error::{UserError, outcome};

/// The account as it stands, or what is wrong.
#[derive(SimpleObject)]
pub struct BudgetAccountSetPayload {
    /// The account; null when there are user errors.
    budget_account: Option<BudgetAccount>,
    /// What the caller must mend; empty on success.
    user_errors: Vec<UserError>,
}

/// What was topped up, or what is wrong.
#[derive(SimpleObject)]
pub struct BudgetTopUpPayload {
    /// The account with its raised cap; null when an execution was topped up, or when there are user errors.
    budget_account: Option<BudgetAccount>,
    /// The execution; its worker raises its limits when it finds the command, as the event BudgetToppedUp tells.
    execution: Option<Execution>,
    /// True when the same key was used before; nothing was added again.
    replayed: bool,
    /// What the caller must mend; empty on success.
    user_errors: Vec<UserError>,
}

/// Budgets.
#[derive(Default)]
pub struct BudgetMutation;

#[Object]
impl BudgetMutation {
    /// Makes a budget account or alters it; what is used already stays used. Needs the role owner, in every project of
    /// the tenant for an account of the tenant. It is audited.
    async fn budget_account_set(
        &self,
        ctx: &Context<'_>,
        input: BudgetAccountSetInput,
    ) -> Result<BudgetAccountSetPayload, ApiError> {
        let (op, ports) = (ctx.op()?, ctx.services()?.budget_ports());
        let result = match input.read(op.principal.tenant_id).checked(|_| Vec::new()) {
            Ok(setting) => set_account(&op, &ports, setting).await,
            Err(refusal) => Err(refusal),
        };
        Ok(match outcome(result)? {
            Ok(state) => BudgetAccountSetPayload { budget_account: Some(state.into()), user_errors: Vec::new() },
            Err(user_errors) => BudgetAccountSetPayload { budget_account: None, user_errors },
        })
    }

    /// Adds to the running period of an account, or to the own limits of an execution that has not ended; needs the role
    /// owner. It is audited, and happens once for each idempotency key.
    async fn budget_top_up(&self, ctx: &Context<'_>, input: BudgetTopUpInput) -> Result<BudgetTopUpPayload, ApiError> {
        let (op, ports) = (ctx.op()?, ctx.services()?.budget_ports());
        let result = match input.read().checked(|_| Vec::new()) {
            Ok(request) => top_up(&op, &ports, request).await,
            Err(refusal) => Err(refusal),
        };
        Ok(match outcome(result)? {
            Ok((topped_up, replayed)) => BudgetTopUpPayload::new(topped_up, replayed),
            Err(user_errors) => {
                BudgetTopUpPayload { budget_account: None, execution: None, replayed: false, user_errors }
            }
        })
    }
}

impl BudgetTopUpPayload {
    fn new(topped_up: ToppedUp, replayed: bool) -> Self {
        let (budget_account, execution) = match topped_up {
            ToppedUp::Account(state) => (Some((*state).into()), None),
            ToppedUp::Execution(row) => (None, Some(Execution(*row))),
        };
        Self { budget_account, execution, replayed, user_errors: Vec::new() }
    }
}

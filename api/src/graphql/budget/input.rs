//! What a caller writes to set an account or to top something up.

use async_graphql::{ID, InputObject};
use domain::budget::{AccountOwner, AccountSetting, Amount, Caps, TopUpRequest, TopUpTarget, WarningLevels};
use domain::ids::{AccountId, ExecutionId, TenantId};
use domain::money::NanoUsd;

use super::object::BudgetPeriod;
use crate::graphql::money::usd;
use crate::graphql::scalar::{BigInt, Decimal};
use crate::graphql::user_error::{Faults, Parsed, Placeholder};

/// An account, named by its owner and its period: made when there is none, altered when there is. What is left out of
/// the caps is not limited.
#[derive(InputObject)]
pub struct BudgetAccountSetInput {
    /// The agent, for an account that applies to its executions.
    agent_id: Option<ID>,
    /// The project, for an account that applies to its executions.
    project_id: Option<ID>,
    /// True for an account that applies to every execution of the tenant. Exactly one of the three is given.
    #[graphql(default = false)]
    tenant: bool,
    /// When it begins anew.
    period: BudgetPeriod,
    /// US dollars that may be used in each period.
    max_cost_usd: Option<Decimal>,
    /// Input and output tokens together that may be used in each period.
    max_tokens: Option<BigInt>,
    /// Percentages of a cap at which each running execution is warned once; 50, 80 and 95 when left out.
    warning_levels: Option<Vec<i32>>,
    /// Why; the audit log keeps it.
    reason: String,
}

/// More for the running period of an account, or for an execution that runs.
#[derive(InputObject)]
pub struct BudgetTopUpInput {
    /// The account whose running period gets more.
    account_id: Option<ID>,
    /// The execution whose own limits are raised. Exactly one of both is given.
    execution_id: Option<ID>,
    /// US dollars more.
    cost_usd: Option<Decimal>,
    /// Tokens more.
    tokens: Option<BigInt>,
    /// Why; the audit log keeps it.
    reason: String,
    /// The same key with the same request tops up once.
    idempotency_key: String,
}

impl BudgetAccountSetInput {
    /// Reads the input into domain types.
    pub fn read(self, tenant: TenantId) -> Parsed<AccountSetting> {
        let mut faults = Faults::default();
        let owner = match (&self.agent_id, &self.project_id, self.tenant) {
            (Some(id), None, false) => AccountOwner::Agent(faults.id(&["agentId"], id)),
            (None, Some(id), false) => AccountOwner::Project(faults.id(&["projectId"], id)),
            (None, None, true) => AccountOwner::Tenant(tenant),
            (None, None, false) => {
                faults.add(&["projectId"], "MISSING", "must name one owner: agentId, projectId, or tenant: true");
                AccountOwner::Tenant(tenant)
            }
            _ => {
                faults.add(&["projectId"], "CONFLICTING", "names a second owner; an account has exactly one");
                AccountOwner::Tenant(tenant)
            }
        };
        let max_cost = self.max_cost_usd.as_ref().map(|text| usd(text, &[], "maxCostUsd", &mut faults));
        let setting = AccountSetting {
            owner,
            period: self.period.into(),
            caps: Caps { max_cost, max_tokens: self.max_tokens.map(BigInt::to_u64_or_zero) },
            warning_levels: warning_levels(self.warning_levels),
            reason: self.reason,
        };
        faults.with(setting)
    }
}

impl BudgetTopUpInput {
    /// Reads the input into domain types.
    pub fn read(self) -> Parsed<TopUpRequest> {
        let mut faults = Faults::default();
        let target = match (&self.account_id, &self.execution_id) {
            (Some(id), None) => TopUpTarget::Account(faults.id(&["accountId"], id)),
            (None, Some(id)) => TopUpTarget::Execution(faults.id::<ExecutionId>(&["executionId"], id)),
            (None, None) => {
                faults.add(&["accountId"], "MISSING", "must name an account here, or an execution in executionId");
                TopUpTarget::Account(AccountId::PLACEHOLDER)
            }
            (Some(_), Some(_)) => {
                faults.add(&["executionId"], "CONFLICTING", "is given beside accountId; name one of both");
                TopUpTarget::Account(AccountId::PLACEHOLDER)
            }
        };
        let cost = self.cost_usd.as_ref().map(|text| usd(text, &[], "costUsd", &mut faults));
        let tokens = self.tokens.map(BigInt::to_u64_or_zero);
        if tokens == Some(0) {
            faults.add(&["tokens"], "OUT_OF_RANGE", "must be greater than 0; leave it out to top up money alone");
        }
        let amount = Amount { cost: cost.unwrap_or(NanoUsd::ZERO), tokens: tokens.unwrap_or_default() };
        let request = TopUpRequest { target, amount, reason: self.reason, idempotency_key: self.idempotency_key };
        faults.with(request)
    }
}

/// Reads percentages; what is none becomes 0, and the domain's rule reports it.
pub fn warning_levels(percentages: Option<Vec<i32>>) -> WarningLevels {
    let level = |percentage: i32| u8::try_from(percentage).unwrap_or(0);
    percentages.map_or_else(WarningLevels::default, |list| WarningLevels::new(list.into_iter().map(level).collect()))
}

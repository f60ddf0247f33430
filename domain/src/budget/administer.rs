//! What people do to budgets: look at accounts, set them, and top up what is used up.
//!
//! Who may see a project sees its accounts and those of its agents. Setting and topping up is for owners. An account of
//! the tenant belongs to no project, and so only who owns every project of the tenant may see or set it.

use std::sync::Arc;

use super::account::{AccountOwner, AccountState, Amount, BudgetAccount, Caps};
use super::period::Period;
use super::ports::{AccountChange, BudgetAccounts, TopUp, TopUpOutcome, TopUpTarget};
use super::warning::WarningLevels;
use crate::access::{Action, Authorizer, IdentityStore, Refusal, Target, may, require};
use crate::artifact::sha256_hex;
use crate::audit::check_reason;
use crate::ctx::OpContext;
use crate::error::{InvalidInput, StoreError};
use crate::event::EventBus;
use crate::execution::{Execution, ExecutionReader};
use crate::ids::{AccountId, CommandId, ExecutionId, ProjectId, ResourceId};
use crate::money::NanoUsd;
use crate::resource::{ResourceKind, ResourceStore};

const MAX_KEY_BYTES: usize = 128;
/// A billion dollars, and a quadrillion tokens: sums of a few of them still fit everywhere.
const GREATEST: Caps =
    Caps { max_cost: Some(NanoUsd(1_000_000_000_000_000_000)), max_tokens: Some(1_000_000_000_000_000) };

/// What administering budgets needs.
#[derive(Clone)]
pub struct BudgetPorts {
    /// Keeps accounts.
    pub accounts: Arc<dyn BudgetAccounts>,
    /// Finds executions.
    pub executions: Arc<dyn ExecutionReader>,
    /// Finds agents.
    pub resources: Arc<dyn ResourceStore>,
    /// Knows the tenant's projects.
    pub identity: Arc<dyn IdentityStore>,
    /// Says who may.
    pub authorizer: Arc<Authorizer>,
    /// Wakes the lease holder.
    pub bus: Arc<dyn EventBus>,
}

/// How an account shall be.
#[derive(Debug, Clone)]
pub struct AccountSetting {
    /// Whose it is.
    pub owner: AccountOwner,
    /// When it begins anew.
    pub period: Period,
    /// What may be used in each period.
    pub caps: Caps,
    /// At which part of a cap running executions are warned.
    pub warning_levels: WarningLevels,
    /// Why.
    pub reason: String,
}

/// More for an account or an execution.
#[derive(Debug, Clone)]
pub struct TopUpRequest {
    /// What is topped up.
    pub target: TopUpTarget,
    /// By how much.
    pub amount: Amount,
    /// Why.
    pub reason: String,
    /// The same key with the same request tops up once.
    pub idempotency_key: String,
}

/// What was topped up, as it stands then.
#[derive(Debug, Clone)]
pub enum ToppedUp {
    /// An account; its caps are raised.
    Account(Box<AccountState>),
    /// An execution; its worker raises its limits when it finds the command, within a second or two.
    Execution(Box<Execution>),
}

/// The accounts of a project and of its agents; those of the tenant as well where the caller administers them.
pub async fn list_accounts(
    op: &OpContext,
    ports: &BudgetPorts,
    project: ProjectId,
) -> Result<Vec<AccountState>, StoreError> {
    let mut visible = Vec::new();
    for state in ports.accounts.accounts(op.scope(), None).await? {
        let is_of_project = match project_of(op, ports, state.account.owner).await? {
            Some(home) => home == project,
            None => matches!(state.account.owner, AccountOwner::Tenant(_)),
        };
        if is_of_project && sees(op, ports, state.account.owner).await? {
            visible.push(state);
        }
    }
    visible.sort_by_key(|state| std::cmp::Reverse(state.account.lock_rank()));
    Ok(visible)
}

/// The account with this id, if the caller may see it.
pub async fn visible_account(
    op: &OpContext,
    ports: &BudgetPorts,
    id: AccountId,
) -> Result<Option<AccountState>, StoreError> {
    let Some(state) = ports.accounts.account(op.scope(), id).await? else { return Ok(None) };
    Ok(if sees(op, ports, state.account.owner).await? { Some(state) } else { None })
}

/// Makes the account of an owner and a period, or alters it.
pub async fn set_account(
    op: &OpContext,
    ports: &BudgetPorts,
    setting: AccountSetting,
) -> Result<AccountState, Refusal> {
    let field = match setting.owner {
        AccountOwner::Agent(_) => "agentId",
        AccountOwner::Project(_) => "projectId",
        AccountOwner::Tenant(_) => "tenant",
    };
    let mut faults = Vec::from_iter(check_reason(&setting.reason));
    faults.extend(setting.warning_levels.validate(&["warningLevels"]));
    let Caps { max_cost, max_tokens } = setting.caps;
    if max_cost.is_some_and(|cap| cap < NanoUsd(1) || Some(cap) > GREATEST.max_cost) {
        let rule = "must be greater than 0 and at most a billion dollars; leave it out for no limit";
        faults.push(InvalidInput::new(["maxCostUsd"], "OUT_OF_RANGE", rule));
    }
    if max_tokens.is_some_and(|cap| cap < 1 || Some(cap) > GREATEST.max_tokens) {
        let rule = "must be from 1 to 10^15; leave it out for no limit";
        faults.push(InvalidInput::new(["maxTokens"], "OUT_OF_RANGE", rule));
    }
    if !faults.is_empty() {
        return Err(Refusal::Faults(faults));
    }
    administers(op, ports, setting.owner, field).await?;
    let now = op.clock.now();
    let change = AccountChange {
        account: BudgetAccount {
            id: AccountId::generate(&*op.clock, &*op.entropy),
            tenant_id: op.principal.tenant_id,
            owner: setting.owner,
            period: setting.period,
            caps: setting.caps,
            warning_levels: setting.warning_levels,
            created_at: now,
        },
        by: op.principal.id,
        at: now,
        reason: setting.reason,
    };
    Ok(ports.accounts.set(&change).await?)
}

/// Adds to an account's running period, or to an execution's own limits.
pub async fn top_up(op: &OpContext, ports: &BudgetPorts, request: TopUpRequest) -> Result<(ToppedUp, bool), Refusal> {
    let mut faults = Vec::from_iter(check_reason(&request.reason));
    if request.idempotency_key.is_empty() || request.idempotency_key.len() > MAX_KEY_BYTES {
        let rule = "must be 1 to 128 bytes; use a fresh UUID for each top-up, the same one for its retries";
        faults.push(InvalidInput::new(["idempotencyKey"], "OUT_OF_RANGE", rule));
    }
    if request.amount == Amount::default() {
        faults.push(InvalidInput::new(["costUsd"], "OUT_OF_RANGE", "must be greater than 0, or tokens must be"));
    }
    if !faults.is_empty() {
        return Err(Refusal::Faults(faults));
    }
    match request.target {
        TopUpTarget::Account(id) => top_up_account(op, ports, &request, id).await,
        TopUpTarget::Execution(id) => top_up_execution(op, ports, &request, id).await,
    }
}

async fn top_up_account(
    op: &OpContext,
    ports: &BudgetPorts,
    request: &TopUpRequest,
    id: AccountId,
) -> Result<(ToppedUp, bool), Refusal> {
    let missing = || Refusal::not_found(&["accountId"]);
    let state = visible_account(op, ports, id).await?.ok_or_else(missing)?;
    administers(op, ports, state.account.owner, "accountId").await?;
    if is_replay(op, ports, request).await? {
        return Ok((ToppedUp::Account(Box::new(state)), true));
    }
    check_amount(request.amount, state.caps)?;
    let is_replayed = write(op, ports, request).await?;
    let state = ports.accounts.account(op.scope(), id).await?.ok_or_else(missing)?;
    Ok((ToppedUp::Account(Box::new(state)), is_replayed))
}

async fn top_up_execution(
    op: &OpContext,
    ports: &BudgetPorts,
    request: &TopUpRequest,
    id: ExecutionId,
) -> Result<(ToppedUp, bool), Refusal> {
    let missing = || Refusal::not_found(&["executionId"]);
    let execution = ports.executions.executions(op.scope(), &[id]).await?.pop().ok_or_else(missing)?;
    let target = Target { tenant_id: execution.tenant_id, project_id: execution.project_id, resource_id: None };
    require(op, &ports.authorizer, Action::ManageBudgets, &target, &["executionId"]).await?;
    if is_replay(op, ports, request).await? {
        return Ok((ToppedUp::Execution(Box::new(execution)), true));
    }
    check_amount(
        request.amount,
        Caps { max_cost: execution.limits.max_cost, max_tokens: execution.limits.max_tokens },
    )?;
    if execution.progress.status.is_terminal() {
        let rule = "names an execution that has ended; start another one with higher limits";
        return Err(InvalidInput::new(["executionId"], "EXECUTION_ENDED", rule).into());
    }
    let is_replayed = write(op, ports, request).await?;
    ports.bus.command_arrived(execution.reference());
    let execution = ports.executions.executions(op.scope(), &[id]).await?.pop().ok_or_else(missing)?;
    Ok((ToppedUp::Execution(Box::new(execution)), is_replayed))
}

/// Writes the top-up; true when the same key had written it before.
async fn write(op: &OpContext, ports: &BudgetPorts, request: &TopUpRequest) -> Result<bool, Refusal> {
    let top_up = TopUp {
        id: CommandId::generate(&*op.clock, &*op.entropy),
        target: request.target,
        amount: request.amount,
        reason: request.reason.clone(),
        by: op.principal.id,
        at: op.clock.now(),
        idempotency_key: request.idempotency_key.clone(),
        request_hash: request_hash(request),
    };
    match ports.accounts.top_up(op.scope(), &top_up).await? {
        TopUpOutcome::Done => Ok(false),
        TopUpOutcome::Replayed => Ok(true),
        TopUpOutcome::KeyReused => Err(key_reused()),
    }
}

/// A late retry is answered as the first time, also when the execution has ended meanwhile.
async fn is_replay(op: &OpContext, ports: &BudgetPorts, request: &TopUpRequest) -> Result<bool, Refusal> {
    match ports.accounts.topped_up_before(op.scope(), &request.idempotency_key).await? {
        None => Ok(false),
        Some(known) if known == request_hash(request) => Ok(true),
        Some(_) => Err(key_reused()),
    }
}

/// What makes two requests the same: everything but the key.
fn request_hash(request: &TopUpRequest) -> String {
    let target = match request.target {
        TopUpTarget::Account(id) => id.to_string(),
        TopUpTarget::Execution(id) => id.to_string(),
    };
    sha256_hex(serde_json::json!([target, request.amount, request.reason]).to_string().as_bytes())
}

fn key_reused() -> Refusal {
    let rule = "was used for another top-up; use a fresh key for each";
    InvalidInput::new(["idempotencyKey"], "IDEMPOTENCY_CONFLICT", rule).into()
}

/// What has no bound cannot get a higher one; and the sum must stay below the greatest.
fn check_amount(amount: Amount, caps: Caps) -> Result<(), InvalidInput> {
    let raised = caps.raised_by(amount);
    let check = |is_wanted: bool, is_bounded: bool, is_too_much: bool, field: &'static str| match is_wanted {
        true if !is_bounded => Err(InvalidInput::new([field], "NOT_LIMITED", "has no limit here; leave it out")),
        true if is_too_much => Err(InvalidInput::new([field], "OUT_OF_RANGE", "raises the limit over the greatest")),
        true | false => Ok(()),
    };
    let Amount { cost, tokens } = amount;
    check(cost > NanoUsd::ZERO, caps.max_cost.is_some(), raised.max_cost > GREATEST.max_cost, "costUsd")?;
    check(tokens > 0, caps.max_tokens.is_some(), raised.max_tokens > GREATEST.max_tokens, "tokens")
}

/// The project that decides about an account; None for the tenant's, and for an agent that there is not.
async fn project_of(op: &OpContext, ports: &BudgetPorts, owner: AccountOwner) -> Result<Option<ProjectId>, StoreError> {
    match owner {
        AccountOwner::Tenant(_) => Ok(None),
        AccountOwner::Project(id) => Ok(Some(id)),
        AccountOwner::Agent(id) => agent_project(op, ports, id).await,
    }
}

async fn agent_project(op: &OpContext, ports: &BudgetPorts, id: ResourceId) -> Result<Option<ProjectId>, StoreError> {
    let agent = ports.resources.resources(op.scope(), &[id]).await?.pop();
    Ok(agent.filter(|agent| agent.kind == ResourceKind::Agent).map(|agent| agent.project_id))
}

async fn sees(op: &OpContext, ports: &BudgetPorts, owner: AccountOwner) -> Result<bool, StoreError> {
    match (owner, project_of(op, ports, owner).await?) {
        (AccountOwner::Tenant(_), _) => administers_tenant(op, ports).await,
        (AccountOwner::Agent(_) | AccountOwner::Project(_), Some(project)) => {
            may(op, &ports.authorizer, Action::View, &target(op, project)).await
        }
        (AccountOwner::Agent(_) | AccountOwner::Project(_), None) => Ok(false),
    }
}

async fn administers(op: &OpContext, ports: &BudgetPorts, owner: AccountOwner, field: &str) -> Result<(), Refusal> {
    match (owner, project_of(op, ports, owner).await?) {
        (AccountOwner::Tenant(_), _) if administers_tenant(op, ports).await? => Ok(()),
        (AccountOwner::Tenant(_), _) => Err(crate::access::forbidden(&[field]).into()),
        (AccountOwner::Agent(_) | AccountOwner::Project(_), Some(project)) => {
            require(op, &ports.authorizer, Action::ManageBudgets, &target(op, project), &[field]).await
        }
        (AccountOwner::Agent(_) | AccountOwner::Project(_), None) => Err(Refusal::not_found(&[field])),
    }
}

async fn administers_tenant(op: &OpContext, ports: &BudgetPorts) -> Result<bool, StoreError> {
    let projects = ports.identity.project_ids(op.scope()).await?;
    for project in &projects {
        if !may(op, &ports.authorizer, Action::ManageBudgets, &target(op, *project)).await? {
            return Ok(false);
        }
    }
    Ok(!projects.is_empty())
}

const fn target(op: &OpContext, project_id: ProjectId) -> Target {
    Target { tenant_id: op.principal.tenant_id, project_id, resource_id: None }
}

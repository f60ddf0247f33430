//! What accounts need from the store.
//!
//! The running period is the store's to tell: a day ends for every process at the same moment, whatever their own clocks
//! say. Holds and settlements are no methods here; they are changes of an execution's commit, so that a call and what it
//! holds are written together or not at all.

use async_trait::async_trait;

use super::account::{AccountOwner, AccountState, Amount, BudgetAccount, Caps};
use crate::audit::{AuditAction, AuditRecord};
use crate::clock::Timestamp;
use crate::ctx::Scope;
use crate::error::StoreError;
use crate::execution::{Command, CommandKind, ExecutionRef};
use crate::ids::{AccountId, CommandId, ExecutionId, ModelCallId, PrincipalId, ProjectId, ResourceId, TenantId};
use crate::money::NanoUsd;

/// Whose accounts apply to an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountSubjects {
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its project.
    pub project_id: ProjectId,
    /// Its agent.
    pub agent_id: ResourceId,
}

/// Names an account's period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountPeriod {
    /// The account.
    pub account: AccountId,
    /// The begin of the period.
    pub starts_at: Timestamp,
    /// The end of the period: a hold is refused from then on.
    pub ends_at: Option<Timestamp>,
}

/// What a commit holds for a model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountReservation {
    /// The call.
    pub call: ModelCallId,
    /// Whose accounts apply. The store refuses when their number is not that of `periods`.
    pub subjects: AccountSubjects,
    /// The accounts, in the order in which they are locked; empty when none applies.
    pub periods: Vec<AccountPeriod>,
    /// What is held on each.
    pub amount: Amount,
}

/// What somebody sets about an account: the owner and the period name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountChange {
    /// The account as it shall be. Its id and time of creation count only when it is new.
    pub account: BudgetAccount,
    /// Who sets it.
    pub by: PrincipalId,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
}

impl AccountChange {
    /// What the audit log keeps of it.
    pub fn audit_record(&self, account: AccountId) -> AuditRecord {
        let Caps { max_cost, max_tokens } = self.account.caps;
        let detail = [
            ("owner".to_owned(), self.account.owner.to_string().into()),
            ("period".to_owned(), self.account.period.name().into()),
            ("maxCostUsd".to_owned(), max_cost.map(NanoUsd::to_usd_text).into()),
            ("maxTokens".to_owned(), max_tokens.into()),
        ];
        AuditRecord {
            at: self.at,
            by: self.by,
            action: AuditAction::BudgetAccountSet,
            target: account.to_string(),
            reason: self.reason.clone(),
            detail: detail.into_iter().collect(),
        }
    }
}

/// What is topped up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopUpTarget {
    /// The running period of an account.
    Account(AccountId),
    /// The own limits of an execution, by a command in its inbox.
    Execution(ExecutionId),
}

/// More of a budget, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopUp {
    /// Its id; that of the command when an execution is topped up.
    pub id: CommandId,
    /// What is topped up.
    pub target: TopUpTarget,
    /// By how much.
    pub amount: Amount,
    /// Why.
    pub reason: String,
    /// Who does it.
    pub by: PrincipalId,
    /// When.
    pub at: Timestamp,
    /// The caller's key: the same key with the same request tops up once.
    pub idempotency_key: String,
    /// Hexadecimal SHA-256 of what the caller asked for.
    pub request_hash: String,
}

impl TopUp {
    /// What the audit log keeps of the top-up of an account. That of an execution is recorded with its command.
    pub fn audit_record(&self, account: AccountId) -> AuditRecord {
        AuditRecord {
            at: self.at,
            by: self.by,
            action: AuditAction::BudgetTopUp,
            target: account.to_string(),
            reason: self.reason.clone(),
            detail: self.amount.audit_detail().collect(),
        }
    }

    /// The command that an execution's inbox gets.
    pub fn command(&self) -> Command {
        let kind = CommandKind::TopUp { reason: self.reason.clone(), amount: self.amount };
        Command { id: self.id, kind, by: self.by, created_at: self.at }
    }
}

/// What became of a top-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopUpOutcome {
    /// It is written.
    Done,
    /// The same key came with the same request before; nothing changed.
    Replayed,
    /// The same key came with another request before.
    KeyReused,
}

/// Keeps accounts.
#[async_trait]
pub trait BudgetAccounts: Send + Sync {
    /// The accounts that apply to an execution, in their running periods and in the order in which they are locked; what
    /// the execution was warned of is filled in.
    async fn applying(
        &self,
        execution: ExecutionRef,
        subjects: AccountSubjects,
    ) -> Result<Vec<AccountState>, StoreError>;

    /// The accounts of these owners, or of every owner in the tenant, in their running periods.
    async fn accounts(&self, scope: Scope, owners: Option<&[AccountOwner]>) -> Result<Vec<AccountState>, StoreError>;

    /// The account with this id, in its running period.
    async fn account(&self, scope: Scope, id: AccountId) -> Result<Option<AccountState>, StoreError>;

    /// Makes the account of this owner and period, or alters its caps and levels; audited in the same transaction.
    async fn set(&self, change: &AccountChange) -> Result<AccountState, StoreError>;

    /// The hash of the request that this key topped up with.
    async fn topped_up_before(&self, scope: Scope, idempotency_key: &str) -> Result<Option<String>, StoreError>;

    /// Adds to an account's running period, or puts a command into an execution's inbox; audited in the same
    /// transaction. What is not bounded cannot be topped up: the caller sees to that.
    async fn top_up(&self, scope: Scope, top_up: &TopUp) -> Result<TopUpOutcome, StoreError>;
}

//! Budget accounts as they stand: read in the period that runs by the database's clock.

use std::collections::HashMap;

use async_trait::async_trait;
use sea_orm::{QueryResult, Value};

use super::fault::Fault;
use super::query::{all, marks, now, one};
use super::rows::{Row, id, name, time};
use super::{SqlStore, account_admin};
use domain::budget::{
    AccountChange, AccountOwner, AccountScope, AccountState, AccountSubjects, Amount, BudgetAccount, BudgetAccounts,
    Caps, TopUp, TopUpOutcome, Warned, WarningLevels,
};
use domain::clock::Timestamp;
use domain::ctx::Scope;
use domain::error::StoreError;
use domain::execution::ExecutionRef;
use domain::ids::AccountId;
use domain::money::NanoUsd;

#[async_trait]
impl BudgetAccounts for SqlStore {
    async fn applying(
        &self,
        execution: ExecutionRef,
        subjects: AccountSubjects,
    ) -> Result<Vec<AccountState>, StoreError> {
        Ok(applying(self, execution, subjects).await?)
    }

    async fn accounts(&self, scope: Scope, owners: Option<&[AccountOwner]>) -> Result<Vec<AccountState>, StoreError> {
        let owners: Option<Vec<Value>> = owners.map(|owners| owners.iter().map(id).collect());
        Ok(of_owners(self, scope, owners).await?)
    }

    async fn account(&self, scope: Scope, account: AccountId) -> Result<Option<AccountState>, StoreError> {
        Ok(by_id(self, scope, account).await?)
    }

    async fn set(&self, change: &AccountChange) -> Result<AccountState, StoreError> {
        let change = change.clone();
        let account = self
            .write(move |transaction| {
                let change = change.clone();
                Box::pin(async move { account_admin::set(transaction, &change).await })
            })
            .await?;
        let scope = Scope { tenant_id: account.tenant_id };
        let state = by_id(self, scope, account.id).await?;
        state.ok_or_else(|| StoreError::Corrupt { what: "budget_account.id".to_owned() })
    }

    async fn topped_up_before(&self, scope: Scope, idempotency_key: &str) -> Result<Option<String>, StoreError> {
        Ok(account_admin::hash_of_key(self.reader(), scope, idempotency_key).await?)
    }

    async fn top_up(&self, scope: Scope, top_up: &TopUp) -> Result<TopUpOutcome, StoreError> {
        let top_up = top_up.clone();
        self.write(move |transaction| {
            let top_up = top_up.clone();
            Box::pin(async move { account_admin::top_up(transaction, scope, &top_up).await })
        })
        .await
    }
}

pub(super) const COLUMNS: &str =
    "tenant_id, id, scope, subject_id, period, max_nano_usd, max_tokens, warning_levels, created_at";

async fn applying(
    store: &SqlStore,
    execution: ExecutionRef,
    subjects: AccountSubjects,
) -> Result<Vec<AccountState>, Fault> {
    let owners = vec![id(subjects.tenant_id), id(subjects.project_id), id(subjects.agent_id)];
    let mut states = of_owners(store, execution.scope(), Some(owners)).await?;
    if states.is_empty() {
        return Ok(states);
    }
    let sql = "SELECT account_id, starts_at, cost_level, token_level FROM budget_warned \
        WHERE tenant_id = ? AND execution_id = ?";
    for row in all(store.reader(), sql, [id(execution.tenant_id), id(execution.id)]).await? {
        let row = Row { table: "budget_warned", row: &row };
        let (account, starts_at): (AccountId, _) = (row.id("account_id")?, row.time("starts_at")?);
        let told = Warned { cost: row.int("cost_level")?, tokens: row.int("token_level")? };
        let of_it = |state: &&mut AccountState| state.account.id == account && state.starts_at == starts_at;
        if let Some(state) = states.iter_mut().find(of_it) {
            state.warned = told;
        }
    }
    Ok(states)
}

async fn of_owners(store: &SqlStore, scope: Scope, owners: Option<Vec<Value>>) -> Result<Vec<AccountState>, Fault> {
    let db = store.reader();
    let among = match &owners {
        Some(owners) if owners.is_empty() => return Ok(Vec::new()),
        Some(owners) => format!(" AND subject_id IN ({})", marks(owners.len())),
        None => String::new(),
    };
    let sql = format!("SELECT {COLUMNS}, {} AS now_us FROM budget_account WHERE tenant_id = ?{among}", now(db));
    let values = std::iter::once(id(scope.tenant_id)).chain(owners.into_iter().flatten());
    states(store, scope, &all(db, &sql, values).await?).await
}

async fn by_id(store: &SqlStore, scope: Scope, account: AccountId) -> Result<Option<AccountState>, Fault> {
    let db = store.reader();
    let sql = format!("SELECT {COLUMNS}, {} AS now_us FROM budget_account WHERE tenant_id = ? AND id = ?", now(db));
    let Some(row) = one(db, &sql, [id(scope.tenant_id), id(account)]).await? else { return Ok(None) };
    Ok(states(store, scope, &[row]).await?.pop())
}

async fn states(store: &SqlStore, scope: Scope, rows: &[QueryResult]) -> Result<Vec<AccountState>, Fault> {
    let mut states = rows.iter().map(read_fresh).collect::<Result<Vec<_>, _>>()?;
    states.sort_by_key(|state| state.account.lock_rank());
    if states.is_empty() {
        return Ok(states);
    }
    let sql = format!(
        "SELECT account_id, starts_at, spent_nano_usd, spent_tokens, reserved_nano_usd, reserved_tokens, \
         added_nano_usd, added_tokens FROM budget_period WHERE tenant_id = ? AND account_id IN ({}) \
         AND starts_at IN ({})",
        marks(states.len()),
        marks(states.len())
    );
    let values = std::iter::once(id(scope.tenant_id))
        .chain(states.iter().map(|state| id(state.account.id)))
        .chain(states.iter().map(|state| time(state.starts_at)))
        .collect::<Vec<_>>();
    let mut periods = HashMap::new();
    for row in all(store.reader(), &sql, values).await? {
        let row = Row { table: "budget_period", row: &row };
        periods.insert((row.id("account_id")?, row.time("starts_at")?), read_period(&row)?);
    }
    for state in &mut states {
        if let Some((spent, reserved, added)) = periods.get(&(state.account.id, state.starts_at)) {
            (state.spent, state.reserved) = (*spent, *reserved);
            state.caps.max_cost = state.caps.max_cost.map(|cap| cap + added.cost);
            state.caps.max_tokens = state.caps.max_tokens.map(|cap| cap.saturating_add(added.tokens));
        }
    }
    Ok(states)
}

fn read_period(row: &Row<'_>) -> Result<(Amount, Amount, Amount), Fault> {
    let amount = |cost: &str, tokens: &str| Ok::<_, Fault>(Amount { cost: row.money(cost)?, tokens: row.int(tokens)? });
    Ok((
        amount("spent_nano_usd", "spent_tokens")?,
        amount("reserved_nano_usd", "reserved_tokens")?,
        amount("added_nano_usd", "added_tokens")?,
    ))
}

/// An account in the running period, as if nothing was used in it.
fn read_fresh(row: &QueryResult) -> Result<AccountState, Fault> {
    let account = read(row)?;
    let now: Timestamp = Row { table: "budget_account", row }.time("now_us")?;
    Ok(AccountState {
        starts_at: account.period.starts_at(now),
        ends_at: account.period.ends_at(now),
        caps: account.caps,
        spent: Amount::default(),
        reserved: Amount::default(),
        warned: Warned::default(),
        account,
    })
}

pub(super) fn read(row: &QueryResult) -> Result<BudgetAccount, Fault> {
    let row = Row { table: "budget_account", row };
    let owner = match row.name::<AccountScope>("scope")? {
        AccountScope::Agent => AccountOwner::Agent(row.id("subject_id")?),
        AccountScope::Project => AccountOwner::Project(row.id("subject_id")?),
        AccountScope::Tenant => AccountOwner::Tenant(row.id("subject_id")?),
    };
    Ok(BudgetAccount {
        id: row.id("id")?,
        tenant_id: row.id("tenant_id")?,
        owner,
        period: row.name("period")?,
        caps: Caps {
            max_cost: row.optional_int("max_nano_usd")?.map(NanoUsd),
            max_tokens: row.optional_int("max_tokens")?,
        },
        warning_levels: row.json::<WarningLevels>("warning_levels")?,
        created_at: row.time("created_at")?,
    })
}

/// The columns that a change of an account sets.
pub(super) fn set_columns(account: &BudgetAccount) -> Result<[(&'static str, Value); 3], Fault> {
    Ok([
        ("max_nano_usd", account.caps.max_cost.map(|cap| cap.0).into()),
        ("max_tokens", super::rows::optional_int(account.caps.max_tokens)),
        ("warning_levels", super::rows::json(&account.warning_levels)?),
    ])
}

/// The columns that name an account.
pub(super) fn key_columns(account: &BudgetAccount) -> [(&'static str, Value); 3] {
    [("tenant_id", id(account.tenant_id)), ("subject_id", id(account.owner)), ("period", name(account.period))]
}

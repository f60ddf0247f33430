//! What people do to budget accounts: set them, and top them up. Each is one transaction with its audit record.

use sea_orm::{ConnectionTrait, DatabaseTransaction, Value};

use super::accounts::COLUMNS;
use super::fault::Fault;
use super::query::{execute, insert, now, one};
use super::rows::{Row, id, int, long_text, name, optional_id, optional_time, time};
use super::{account_moves, accounts, audit, inbox};
use domain::artifact::sha256_hex;
use domain::budget::{AccountChange, BudgetAccount, TopUp, TopUpOutcome, TopUpTarget};
use domain::clock::Timestamp;
use domain::ctx::Scope;
use domain::error::StoreError;
use domain::execution::ExecutionRef;
use domain::ids::AccountId;

/// Makes the account, or alters the one of this owner and period.
pub(super) async fn set(transaction: &DatabaseTransaction, change: &AccountChange) -> Result<BudgetAccount, Fault> {
    let (key, columns) = (accounts::key_columns(&change.account), accounts::set_columns(&change.account)?);
    let sql = format!("SELECT {COLUMNS} FROM budget_account WHERE tenant_id = ? AND subject_id = ? AND period = ?");
    let key_values = || key.iter().map(|(_, value)| value.clone());
    let account = match one(transaction, &sql, key_values()).await? {
        Some(row) => {
            let found = accounts::read(&row)?;
            let sql = "UPDATE budget_account SET max_nano_usd = ?, max_tokens = ?, warning_levels = ? \
                WHERE tenant_id = ? AND subject_id = ? AND period = ?";
            let values = columns.into_iter().map(|(_, value)| value).chain(key_values()).collect::<Vec<_>>();
            execute(transaction, sql, values).await?;
            BudgetAccount { id: found.id, created_at: found.created_at, ..change.account.clone() }
        }
        None => {
            let account = change.account.clone();
            let own = [
                ("id", id(account.id)),
                ("scope", name(account.owner.scope())),
                ("created_at", time(account.created_at)),
            ];
            let inserted = insert(transaction, "budget_account", key.iter().chain(&own).chain(&columns)).await;
            inserted.map_err(|fault| if fault.is_unique_violation() { Fault::Again } else { fault })?;
            account
        }
    };
    let scope = Scope { tenant_id: account.tenant_id };
    audit::append(transaction, scope, &change.audit_record(account.id)).await?;
    Ok(account)
}

/// Adds to an account's running period, or puts a command into an execution's inbox; once for each key.
pub(super) async fn top_up(
    transaction: &DatabaseTransaction,
    scope: Scope,
    top_up: &TopUp,
) -> Result<TopUpOutcome, Fault> {
    if let Some(known) = hash_of_key(transaction, scope, &top_up.idempotency_key).await? {
        return Ok(if known == top_up.request_hash { TopUpOutcome::Replayed } else { TopUpOutcome::KeyReused });
    }
    let (account, execution, starts_at) = match top_up.target {
        TopUpTarget::Account(account) => {
            let starts_at = running_period(transaction, scope, account).await?;
            add(transaction, scope, account, starts_at, top_up).await?;
            audit::append(transaction, scope, &top_up.audit_record(account)).await?;
            (Some(account), None, Some(starts_at))
        }
        TopUpTarget::Execution(execution) => {
            let execution = ExecutionRef { tenant_id: scope.tenant_id, id: execution };
            inbox::add(transaction, execution, &top_up.command()).await?;
            (None, Some(execution.id), None)
        }
    };
    let columns = [
        ("tenant_id", id(scope.tenant_id)),
        ("id", id(top_up.id)),
        ("account_id", optional_id(account)),
        ("execution_id", optional_id(execution)),
        ("starts_at", optional_time(starts_at)),
        ("nano_usd", top_up.amount.cost.0.into()),
        ("tokens", int(top_up.amount.tokens)),
        ("reason", long_text(&top_up.reason)),
        ("requested_by", id(top_up.by)),
        ("created_at", time(top_up.at)),
        ("key_hash", key_hash(&top_up.idempotency_key)),
        ("request_hash", top_up.request_hash.clone().into()),
    ];
    let inserted = insert(transaction, "budget_top_up", &columns).await;
    inserted.map_err(|fault| if fault.is_unique_violation() { Fault::Again } else { fault })?;
    Ok(TopUpOutcome::Done)
}

/// The hash of the request that a key came with.
pub(super) async fn hash_of_key<C: ConnectionTrait>(
    db: &C,
    scope: Scope,
    idempotency_key: &str,
) -> Result<Option<String>, Fault> {
    let sql = "SELECT request_hash FROM budget_top_up WHERE tenant_id = ? AND key_hash = ?";
    let row = one(db, sql, [id(scope.tenant_id), key_hash(idempotency_key)]).await?;
    row.map(|row| Row { table: "budget_top_up", row: &row }.text("request_hash")).transpose()
}

fn key_hash(idempotency_key: &str) -> Value {
    sha256_hex(idempotency_key.as_bytes()).into()
}

async fn running_period(
    transaction: &DatabaseTransaction,
    scope: Scope,
    account: AccountId,
) -> Result<Timestamp, Fault> {
    let now = now(transaction);
    let sql = format!("SELECT {COLUMNS}, {now} AS now_us FROM budget_account WHERE tenant_id = ? AND id = ?");
    let row = one(transaction, &sql, [id(scope.tenant_id), id(account)]).await?;
    let row = row.ok_or(StoreError::Conflict { what: "there is no such budget account" })?;
    let now = Row { table: "budget_account", row: &row }.time("now_us")?;
    Ok(accounts::read(&row)?.period.starts_at(now))
}

async fn add(
    transaction: &DatabaseTransaction,
    scope: Scope,
    account: AccountId,
    starts_at: Timestamp,
    top_up: &TopUp,
) -> Result<(), Fault> {
    account_moves::open_period(transaction, scope.tenant_id, account, starts_at).await?;
    let sql = "UPDATE budget_period SET added_nano_usd = added_nano_usd + ?, added_tokens = added_tokens + ? \
        WHERE tenant_id = ? AND account_id = ? AND starts_at = ?";
    let (cost, tokens) = (Value::from(top_up.amount.cost.0), int(top_up.amount.tokens));
    execute(transaction, sql, [cost, tokens, id(scope.tenant_id), id(account), time(starts_at)]).await.map(|_| ())
}

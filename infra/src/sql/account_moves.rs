//! What a commit does to budget accounts, behind its fence: it holds for a call that starts and settles for one that
//! ends.
//!
//! An account is one conditional update away from refusing. The rows are locked in the order that the domain gives,
//! behind the execution's row, so that no two commits wait for each other in a circle; one that is unlucky all the same
//! is run again by the writer.

use sea_orm::{DatabaseTransaction, Value};

use super::commits;
use super::fault::Fault;
use super::query::{all, execute, insert, now, one};
use super::rows::{Row, id, int, optional_time, time};
use domain::budget::{AccountPeriod, AccountReservation, Amount};
use domain::clock::Timestamp;
use domain::error::StoreError;
use domain::execution::{Change, Commit, ExecutionRef, Fence};
use domain::ids::{AccountId, ModelCallId, TenantId};

/// A further condition of the fence: the accounts that a hold knows are all that apply.
pub(super) const ARE_ALL: &str =
    " AND ? = (SELECT COUNT(*) FROM budget_account b WHERE b.tenant_id = ? AND b.subject_id IN (?, ?, ?))";

/// The values of [`ARE_ALL`].
pub(super) fn are_all(hold: &AccountReservation) -> [Value; 5] {
    let subjects = hold.subjects;
    let tenant = id(subjects.tenant_id);
    [int(hold.periods.len()), tenant.clone(), tenant, id(subjects.project_id), id(subjects.agent_id)]
}

pub(super) fn reservation_of(commit: &Commit) -> Option<&AccountReservation> {
    commit.changes.iter().find_map(|change| match change {
        Change::ReserveAccounts(hold) => Some(hold),
        _ => None,
    })
}

/// Why a fence with a hold did not match: the lease is lost, or other accounts apply.
pub(super) async fn tell_apart(
    transaction: &DatabaseTransaction,
    fence: &Fence,
    hold: Option<&AccountReservation>,
) -> Result<(), Fault> {
    if hold.is_some() && commits::fence(transaction, fence.execution).await? == Some(*fence) {
        let sql = "SELECT id FROM execution WHERE tenant_id = ? AND id = ? AND open_since IS NOT NULL";
        let values = [id(fence.execution.tenant_id), id(fence.execution.id)];
        if one(transaction, sql, values).await?.is_some() {
            return Err(StoreError::AccountRefused.into());
        }
    }
    Ok(())
}

/// Holds the amount on each account, or refuses the whole commit.
pub(super) async fn reserve(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    hold: &AccountReservation,
) -> Result<(), Fault> {
    for (ordinal, period) in hold.periods.iter().enumerate() {
        if !take(transaction, execution.tenant_id, period, hold.amount).await? {
            open_period(transaction, execution.tenant_id, period.account, period.starts_at).await?;
            if !take(transaction, execution.tenant_id, period, hold.amount).await? {
                return Err(StoreError::AccountRefused.into());
            }
        }
        let columns = [
            ("tenant_id", id(execution.tenant_id)),
            ("execution_id", id(execution.id)),
            ("model_call_id", id(hold.call)),
            ("ordinal", int(ordinal)),
            ("account_id", id(period.account)),
            ("starts_at", time(period.starts_at)),
            ("nano_usd", hold.amount.cost.0.into()),
            ("tokens", int(hold.amount.tokens)),
        ];
        let inserted = insert(transaction, "budget_reservation", &columns).await;
        inserted.map_err(|fault| fault.taken("the model call holds something already"))?;
    }
    Ok(())
}

/// The conditional update. The sum stands on the side of the cap, so that no amount can overflow it.
async fn take(
    transaction: &DatabaseTransaction,
    tenant: TenantId,
    period: &AccountPeriod,
    amount: Amount,
) -> Result<bool, Fault> {
    let sql = format!(
        "UPDATE budget_period SET reserved_nano_usd = reserved_nano_usd + ?, reserved_tokens = reserved_tokens + ? \
         WHERE tenant_id = ? AND account_id = ? AND starts_at = ? AND (? IS NULL OR {} < ?) AND EXISTS (\
         SELECT 1 FROM budget_account a WHERE a.tenant_id = ? AND a.id = ? \
         AND (a.max_nano_usd IS NULL OR ? <= a.max_nano_usd + added_nano_usd - spent_nano_usd - reserved_nano_usd) \
         AND (a.max_tokens IS NULL OR ? <= a.max_tokens + added_tokens - spent_tokens - reserved_tokens))",
        now(transaction)
    );
    let (cost, tokens) = (Value::from(amount.cost.0), int(amount.tokens));
    let values = [
        cost.clone(),
        tokens.clone(),
        id(tenant),
        id(period.account),
        time(period.starts_at),
        optional_time(period.ends_at),
        optional_time(period.ends_at),
        id(tenant),
        id(period.account),
        cost,
        tokens,
    ];
    Ok(execute(transaction, &sql, values).await? == 1)
}

/// Makes a period's row unless it is there. When another commit made it in between, the next try of the job finds it.
pub(super) async fn open_period(
    transaction: &DatabaseTransaction,
    tenant: TenantId,
    account: AccountId,
    starts_at: Timestamp,
) -> Result<(), Fault> {
    let sql = "SELECT starts_at FROM budget_period WHERE tenant_id = ? AND account_id = ? AND starts_at = ?";
    if one(transaction, sql, [id(tenant), id(account), time(starts_at)]).await?.is_some() {
        return Ok(());
    }
    let zero = || Value::from(0_i64);
    let columns = [
        ("tenant_id", id(tenant)),
        ("account_id", id(account)),
        ("starts_at", time(starts_at)),
        ("spent_nano_usd", zero()),
        ("spent_tokens", zero()),
        ("reserved_nano_usd", zero()),
        ("reserved_tokens", zero()),
        ("added_nano_usd", zero()),
        ("added_tokens", zero()),
    ];
    let inserted = insert(transaction, "budget_period", &columns).await;
    inserted.map_err(|fault| if fault.is_unique_violation() { Fault::Again } else { fault })
}

/// Ends what a call holds, in the periods in which it was taken, and spends what it used in the same ones.
pub(super) async fn settle(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    call: ModelCallId,
    used: Amount,
) -> Result<(), Fault> {
    let key = || [id(execution.tenant_id), id(execution.id), id(call)];
    let sql = "SELECT account_id, starts_at, nano_usd, tokens FROM budget_reservation \
        WHERE tenant_id = ? AND execution_id = ? AND model_call_id = ? ORDER BY ordinal";
    let rows = all(transaction, sql, key()).await?;
    for row in &rows {
        let row = Row { table: "budget_reservation", row };
        let (account, starts_at): (AccountId, _) = (row.id("account_id")?, row.time("starts_at")?);
        let (nano_usd, tokens) = (row.money("nano_usd")?.0, row.int::<i64>("tokens")?);
        let sql = "UPDATE budget_period SET \
             spent_nano_usd = CASE WHEN spent_nano_usd > ? THEN ? ELSE spent_nano_usd + ? END, \
             spent_tokens = CASE WHEN spent_tokens > ? THEN ? ELSE spent_tokens + ? END, \
             reserved_nano_usd = reserved_nano_usd - ?, reserved_tokens = reserved_tokens - ? \
             WHERE tenant_id = ? AND account_id = ? AND starts_at = ?";
        let values = bounded(used.cost.0)
            .into_iter()
            .chain(bounded(i64::try_from(used.tokens).unwrap_or(i64::MAX)))
            .chain([nano_usd.into(), tokens.into()])
            .chain([id(execution.tenant_id), id(account), time(starts_at)]);
        execute(transaction, sql, values).await?;
    }
    if !rows.is_empty() {
        let sql = "DELETE FROM budget_reservation WHERE tenant_id = ? AND execution_id = ? AND model_call_id = ?";
        execute(transaction, sql, key()).await?;
    }
    Ok(())
}

/// The values of `CASE WHEN x > ? THEN ? ELSE x + ? END`, which stops at the greatest amount instead of overflowing. It is
/// far below that of a BIGINT: the sum of what is spent and reserved must fit as well.
fn bounded(amount: i64) -> [Value; 3] {
    const GREATEST: i64 = i64::MAX / 4;
    let amount = amount.clamp(0, GREATEST);
    [(GREATEST - amount).into(), GREATEST.into(), amount.into()]
}

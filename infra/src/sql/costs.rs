//! Sums over stored model calls. Whole numbers are summed by the database, which is exact on both engines.

use async_trait::async_trait;
use sea_orm::{QueryResult, Value};

use super::fault::Fault;
use super::query::{all, one};
use super::rows::{Row, id, time};
use super::{SqlStore, page};
use domain::cost::{CostBy, CostFilter, CostKey, CostLine, CostReader, CostTotals, PricedCall};
use domain::ctx::{Page, PageRequest, Scope};
use domain::error::StoreError;
use domain::execution::ExecutionRef;
use domain::money::TokenUsage;
use domain::price_table::ModelName;

#[async_trait]
impl CostReader for SqlStore {
    async fn execution_cost(&self, execution: ExecutionRef) -> Result<CostTotals, StoreError> {
        let condition = "c.tenant_id = ? AND c.execution_id = ?".to_owned();
        Ok(totals(self, Calls { condition, values: of(execution) }).await?)
    }

    async fn cost_totals(&self, scope: Scope, filter: &CostFilter) -> Result<CostTotals, StoreError> {
        Ok(totals(self, Calls::of_filter(scope, filter)).await?)
    }

    async fn cost_lines(
        &self,
        scope: Scope,
        filter: &CostFilter,
        by: CostBy,
        page: PageRequest,
    ) -> Result<Page<CostLine>, StoreError> {
        Ok(lines(self, Calls::of_filter(scope, filter), by, page).await?)
    }

    async fn priced_calls(&self, execution: ExecutionRef) -> Result<Vec<PricedCall>, StoreError> {
        Ok(priced_calls(self, execution).await?)
    }
}

const JOINED: &str = "model_call c JOIN execution e ON e.tenant_id = c.tenant_id AND e.id = c.execution_id";

const ENDED: &str = "c.state <> 'STARTED'";

/// One engine's sums are decimals until they are cast.
const SUMS: &str = "COUNT(*) AS calls, \
    CAST(COALESCE(SUM(c.estimated), 0) AS SIGNED) AS estimated_calls, \
    CAST(COALESCE(SUM(CASE WHEN c.price IS NULL THEN 1 ELSE 0 END), 0) AS SIGNED) AS unpriced_calls, \
    CAST(COALESCE(SUM(c.input_tokens), 0) AS SIGNED) AS input_tokens, \
    CAST(COALESCE(SUM(c.cached_input_tokens), 0) AS SIGNED) AS cached_input_tokens, \
    CAST(COALESCE(SUM(c.output_tokens), 0) AS SIGNED) AS output_tokens, \
    CAST(COALESCE(SUM(c.reasoning_tokens), 0) AS SIGNED) AS reasoning_tokens, \
    CAST(COALESCE(SUM(c.cost_nano_usd), 0) AS SIGNED) AS cost_nano_usd, \
    CAST(COALESCE(SUM(CASE WHEN c.estimated = 1 THEN c.cost_nano_usd ELSE 0 END), 0) AS SIGNED) AS estimated_nano_usd";

/// Which calls are summed: a condition and its values.
struct Calls {
    condition: String,
    values: Vec<Value>,
}

impl Calls {
    fn of_filter(scope: Scope, filter: &CostFilter) -> Self {
        let mut calls = Self {
            condition: "e.tenant_id = ? AND e.project_id = ?".to_owned(),
            values: vec![id(scope.tenant_id), id(filter.project_id)],
        };
        if let Some(from) = filter.from {
            calls = calls.and(" AND c.started_at >= ?", [time(from)]);
        }
        if let Some(to) = filter.to {
            // No call starts before its execution: the index of executions by time cuts off the younger ones.
            calls = calls.and(" AND c.started_at < ? AND e.created_at < ?", [time(to), time(to)]);
        }
        calls
    }

    fn and(mut self, condition: &str, values: impl IntoIterator<Item = Value>) -> Self {
        self.condition.push_str(condition);
        self.values.extend(values);
        self
    }
}

async fn totals(store: &SqlStore, calls: Calls) -> Result<CostTotals, Fault> {
    let sql = format!("SELECT {SUMS} FROM {JOINED} WHERE {} AND {ENDED}", calls.condition);
    let row = one(store.reader(), &sql, calls.values).await?;
    row.as_ref().map_or_else(|| Ok(CostTotals::default()), read_totals)
}

/// How calls are grouped, in the words of both engines.
struct Grouping {
    columns: &'static str,
    group: &'static str,
    /// The rows behind a page: a condition with one mark for each part of the key.
    behind: &'static str,
    order: &'static str,
}

const fn grouping(by: CostBy) -> Grouping {
    match by {
        // By bytes, see the price table: names that differ in a space are two.
        CostBy::Model => Grouping {
            columns: "MIN(c.provider) AS provider, MIN(c.deployment) AS deployment, HEX(c.provider) AS provider_key, \
                      HEX(c.deployment) AS deployment_key",
            group: "HEX(c.provider), HEX(c.deployment)",
            behind: " AND (HEX(c.provider) > ? OR (HEX(c.provider) = ? AND HEX(c.deployment) > ?))",
            order: "HEX(c.provider), HEX(c.deployment)",
        },
        CostBy::Agent => Grouping {
            columns: "e.agent_id AS agent_id",
            group: "e.agent_id",
            behind: " AND e.agent_id > ?",
            order: "e.agent_id",
        },
        CostBy::Day => Grouping {
            columns: "c.started_at - c.started_at % 86400000000 AS day_at",
            group: "c.started_at - c.started_at % 86400000000",
            behind: " AND c.started_at < ?",
            order: "day_at DESC",
        },
    }
}

async fn lines(store: &SqlStore, calls: Calls, by: CostBy, request: PageRequest) -> Result<Page<CostLine>, Fault> {
    let Grouping { columns, group, behind, order } = grouping(by);
    let calls = match request.after.as_deref().map(|after| parse_key(by, after)) {
        None => calls,
        Some(Some(values)) => calls.and(behind, values),
        // A key that this store did not give has nothing behind it.
        Some(None) => return Ok(page::cut(&request, Vec::new())),
    };
    let sql = format!(
        "SELECT {columns}, {SUMS} FROM {JOINED} WHERE {} AND {ENDED} GROUP BY {group} ORDER BY {order} LIMIT ?",
        calls.condition
    );
    let values = calls.values.into_iter().chain([page::limit(&request).into()]);
    let rows = all(store.reader(), &sql, values).await?;
    let keyed = rows.iter().map(|row| read_line(by, row)).collect::<Result<_, _>>()?;
    Ok(page::cut(&request, keyed))
}

fn read_line(by: CostBy, row: &QueryResult) -> Result<(String, CostLine), Fault> {
    let totals = read_totals(row)?;
    let row = Row { table: "model_call", row };
    let (place, key) = match by {
        CostBy::Model => {
            let place = format!("{}.{}", row.text("provider_key")?, row.text("deployment_key")?);
            let name = ModelName { provider: row.text("provider")?, deployment: row.text("deployment")? };
            (place, CostKey::Model(name))
        }
        CostBy::Agent => (row.text("agent_id")?, CostKey::Agent(row.id("agent_id")?)),
        CostBy::Day => {
            let day = row.time("day_at")?;
            (day.as_micros().to_string(), CostKey::Day(day))
        }
    };
    Ok((place, CostLine { key, totals }))
}

fn parse_key(by: CostBy, after: &str) -> Option<Vec<Value>> {
    if !after.is_ascii() {
        return None;
    }
    Some(match by {
        CostBy::Model => {
            let (provider, deployment) = after.split_once('.')?;
            vec![provider.into(), provider.into(), deployment.into()]
        }
        CostBy::Agent => vec![after.into()],
        CostBy::Day => vec![after.parse::<i64>().ok()?.into()],
    })
}

fn read_totals(row: &QueryResult) -> Result<CostTotals, Fault> {
    let row = Row { table: "model_call", row };
    Ok(CostTotals {
        calls: row.int("calls")?,
        estimated_calls: row.int("estimated_calls")?,
        unpriced_calls: row.int("unpriced_calls")?,
        usage: usage(&row)?,
        cost: row.money("cost_nano_usd")?,
        estimated_cost: row.money("estimated_nano_usd")?,
    })
}

fn usage(row: &Row<'_>) -> Result<TokenUsage, Fault> {
    Ok(TokenUsage {
        input: row.int("input_tokens")?,
        cached_input: row.int("cached_input_tokens")?,
        output: row.int("output_tokens")?,
        reasoning: row.int("reasoning_tokens")?,
    })
}

async fn priced_calls(store: &SqlStore, execution: ExecutionRef) -> Result<Vec<PricedCall>, Fault> {
    let sql = format!(
        "SELECT c.id, c.state, c.input_tokens, c.cached_input_tokens, c.output_tokens, c.reasoning_tokens, \
         c.price_version, c.price, c.cost_nano_usd FROM model_call c \
         WHERE c.tenant_id = ? AND c.execution_id = ? AND {ENDED} ORDER BY c.started_at, c.id"
    );
    let read = |row: &QueryResult| {
        let row = Row { table: "model_call", row };
        let (version, price) = (row.optional_id("price_version")?, row.optional_json("price")?);
        Ok(PricedCall {
            id: row.id("id")?,
            state: row.name("state")?,
            usage: usage(&row)?,
            price: version.zip(price),
            cost: row.money("cost_nano_usd")?,
        })
    };
    all(store.reader(), &sql, of(execution)).await?.iter().map(read).collect()
}

fn of(execution: ExecutionRef) -> Vec<Value> {
    vec![id(execution.tenant_id), id(execution.id)]
}

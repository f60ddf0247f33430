//! Price versions: added, and read. There is no statement that changes one.

use std::sync::Arc;

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseTransaction, QueryResult, Value};

use super::fault::Fault;
use super::query::{all, insert, marks, one};
use super::rows::{Row, id, json, time};
use super::{SqlStore, audit, page};
use domain::artifact::sha256_hex;
use domain::clock::Timestamp;
use domain::ctx::{Page, PageRequest, Scope};
use domain::error::StoreError;
use domain::ids::{PriceVersionId, ProjectId};
use domain::price_table::{ModelName, ModelPrice, PriceLine, PriceStore, audit_record};
use domain::resource::PriceVersion;

#[async_trait]
impl PriceStore for SqlStore {
    async fn import_prices(&self, prices: &[ModelPrice]) -> Result<Result<Vec<ModelPrice>, Vec<usize>>, StoreError> {
        let prices: Arc<[ModelPrice]> = prices.into();
        self.write(move |transaction| {
            let prices = Arc::clone(&prices);
            Box::pin(async move { import(transaction, &prices).await })
        })
        .await
    }

    async fn price_in_force(
        &self,
        scope: Scope,
        project: ProjectId,
        model: &ModelName,
        at: Timestamp,
    ) -> Result<Option<ModelPrice>, StoreError> {
        Ok(in_force(self.reader(), scope, project, model, at).await?)
    }

    async fn prices(&self, scope: Scope, ids: &[PriceVersionId]) -> Result<Vec<ModelPrice>, StoreError> {
        Ok(by_ids(self, scope, ids).await?)
    }

    async fn list_prices(
        &self,
        scope: Scope,
        project: ProjectId,
        page: PageRequest,
    ) -> Result<Page<ModelPrice>, StoreError> {
        Ok(list(self, scope, project, page).await?)
    }
}

/// Looks at all before it writes the first, so that a refusal has written nothing.
async fn import(
    transaction: &DatabaseTransaction,
    prices: &[ModelPrice],
) -> Result<Result<Vec<ModelPrice>, Vec<usize>>, Fault> {
    let (mut stored, mut in_the_way) = (Vec::with_capacity(prices.len()), Vec::new());
    for (index, price) in prices.iter().enumerate() {
        let said = said(transaction, price).await?;
        let line =
            PriceLine { model: price.model.clone(), valid_from: price.version.valid_from, price: price.version.price };
        if said.as_ref().is_some_and(|said| !said.says(&line)) {
            in_the_way.push(index);
        }
        stored.push(said);
    }
    if !in_the_way.is_empty() {
        return Ok(Err(in_the_way));
    }
    let mut added = Vec::new();
    for (stored, price) in stored.iter_mut().zip(prices) {
        if stored.is_none() {
            add(transaction, price).await?;
            *stored = Some(price.clone());
            added.push(price);
        }
    }
    if let (Some(record), [first, ..]) = (audit_record(&added), prices) {
        audit::append(transaction, Scope { tenant_id: first.tenant_id }, &record).await?;
    }
    Ok(Ok(stored.into_iter().flatten().collect()))
}

/// The stored version of the same model from the same moment on.
async fn said(transaction: &DatabaseTransaction, price: &ModelPrice) -> Result<Option<ModelPrice>, Fault> {
    let sql = "SELECT * FROM price_version WHERE tenant_id = ? AND project_id = ? AND model_key = ? AND valid_from = ?";
    let valid_from = time(price.version.valid_from);
    let values = [id(price.tenant_id), id(price.project_id), model_key(&price.model), valid_from];
    one(transaction, sql, values).await?.as_ref().map(read).transpose()
}

async fn add(transaction: &DatabaseTransaction, price: &ModelPrice) -> Result<(), Fault> {
    let columns = [
        ("tenant_id", id(price.tenant_id)),
        ("id", id(price.version.id)),
        ("project_id", id(price.project_id)),
        ("model_key", model_key(&price.model)),
        ("provider", price.model.provider.clone().into()),
        ("deployment", price.model.deployment.clone().into()),
        ("valid_from", time(price.version.valid_from)),
        ("price", json(&price.version.price)?),
        ("imported_at", time(price.imported_at)),
        ("imported_by", id(price.imported_by)),
    ];
    let inserted = insert(transaction, "price_version", &columns).await;
    inserted.map_err(|fault| fault.taken("a price of this model from this moment on exists"))
}

async fn in_force<C: ConnectionTrait>(
    db: &C,
    scope: Scope,
    project: ProjectId,
    model: &ModelName,
    at: Timestamp,
) -> Result<Option<ModelPrice>, Fault> {
    let sql = "SELECT * FROM price_version WHERE tenant_id = ? AND project_id = ? AND model_key = ? \
        AND valid_from <= ? ORDER BY valid_from DESC LIMIT 1";
    let values = [id(scope.tenant_id), id(project), model_key(model), time(at)];
    one(db, sql, values).await?.as_ref().map(read).transpose()
}

async fn by_ids(store: &SqlStore, scope: Scope, ids: &[PriceVersionId]) -> Result<Vec<ModelPrice>, Fault> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT * FROM price_version WHERE tenant_id = ? AND id IN ({})", marks(ids.len()));
    let values = std::iter::once(id(scope.tenant_id)).chain(ids.iter().map(id));
    all(store.reader(), &sql, values).await?.iter().map(read).collect()
}

async fn list(
    store: &SqlStore,
    scope: Scope,
    project: ProjectId,
    request: PageRequest,
) -> Result<Page<ModelPrice>, Fault> {
    let mut sql = "SELECT * FROM price_version WHERE tenant_id = ? AND project_id = ?".to_owned();
    let mut values: Vec<Value> = vec![id(scope.tenant_id), id(project)];
    if let Some(after) = &request.after {
        let Some((provider, deployment, from)) = parse_key(after) else { return Ok(page::cut(&request, Vec::new())) };
        sql.push_str(
            " AND (HEX(provider) > ? OR (HEX(provider) = ? AND (HEX(deployment) > ? \
             OR (HEX(deployment) = ? AND valid_from < ?))))",
        );
        let [provider, deployment]: [Value; 2] = [provider.into(), deployment.into()];
        values.extend([provider.clone(), provider, deployment.clone(), deployment, from.into()]);
    }
    sql.push_str(" ORDER BY HEX(provider), HEX(deployment), valid_from DESC LIMIT ?");
    values.push(page::limit(&request).into());
    let rows = all(store.reader(), &sql, values).await?;
    let prices: Vec<ModelPrice> = rows.iter().map(read).collect::<Result<_, _>>()?;
    Ok(page::cut(&request, prices.into_iter().map(|price| (key(&price), price)).collect()))
}

/// Names are compared by their bytes: one engine would take a name with a space behind it for the one without.
fn key(price: &ModelPrice) -> String {
    let hex = |text: &str| data_encoding::HEXUPPER.encode(text.as_bytes());
    let ModelName { provider, deployment } = &price.model;
    format!("{}.{}.{}", hex(provider), hex(deployment), price.version.valid_from.as_micros())
}

fn parse_key(key: &str) -> Option<(&str, &str, i64)> {
    let (provider, rest) = key.split_once('.').filter(|_| key.is_ascii())?;
    let (deployment, from) = rest.split_once('.')?;
    Some((provider, deployment, from.parse().ok()?))
}

/// A model's names as one short key for the index.
fn model_key(model: &ModelName) -> Value {
    let names = serde_json::json!([model.provider, model.deployment]);
    sha256_hex(names.to_string().as_bytes()).into()
}

fn read(row: &QueryResult) -> Result<ModelPrice, Fault> {
    let row = Row { table: "price_version", row };
    Ok(ModelPrice {
        tenant_id: row.id("tenant_id")?,
        project_id: row.id("project_id")?,
        model: ModelName { provider: row.text("provider")?, deployment: row.text("deployment")? },
        version: PriceVersion { id: row.id("id")?, valid_from: row.time("valid_from")?, price: row.json("price")? },
        imported_at: row.time("imported_at")?,
        imported_by: row.id("imported_by")?,
    })
}

//! Import a price file into a project's table: all of it, or nothing.

use std::sync::Arc;

use super::model::{ModelPrice, PriceLine};
use super::ports::PriceStore;
use crate::access::{Action, Authorizer, Refusal, Target, fault, require};
use crate::ctx::OpContext;
use crate::ids::{PriceVersionId, ProjectId};
use crate::resource::PriceVersion;

/// What importing needs.
pub struct ImportPorts {
    /// Keeps the versions.
    pub prices: Arc<dyn PriceStore>,
    /// Says who may.
    pub authorizer: Arc<Authorizer>,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The version of each line, in the order of the file.
    pub versions: Vec<ModelPrice>,
    /// How many of them are new; the others said the same before.
    pub added: usize,
}

/// Imports lines; needs `manage` on the project. `at` is where the lines stand in the caller's input.
pub async fn import(
    op: &OpContext,
    ports: &ImportPorts,
    project_id: ProjectId,
    lines: &[PriceLine],
    at: &[&str],
) -> Result<Imported, Refusal> {
    let target = Target { tenant_id: op.principal.tenant_id, project_id, resource_id: None };
    require(op, &ports.authorizer, Action::Manage, &target, &["projectId"]).await?;
    let versions: Vec<_> = lines.iter().map(|line| version_of(op, project_id, line)).collect();
    let stored = match ports.prices.import_prices(&versions).await? {
        Ok(stored) => stored,
        Err(in_the_way) => return Err(Refusal::Faults(in_the_way.into_iter().map(|index| taken(at, index)).collect())),
    };
    let is_new = |(stored, wanted): (&ModelPrice, &ModelPrice)| stored.id() == wanted.id();
    let added = stored.iter().zip(&versions).filter(|pair| is_new(*pair)).count();
    tracing::info!(principal.id = %op.principal.id, project.id = %project_id, price.added = added, "prices imported");
    Ok(Imported { versions: stored, added })
}

fn version_of(op: &OpContext, project_id: ProjectId, line: &PriceLine) -> ModelPrice {
    let id = PriceVersionId::generate(op.clock.as_ref(), op.entropy.as_ref());
    ModelPrice {
        tenant_id: op.principal.tenant_id,
        project_id,
        model: line.model.clone(),
        version: PriceVersion { id, valid_from: line.valid_from, price: line.price },
        imported_at: op.clock.now(),
        imported_by: op.principal.id,
    }
}

fn taken(at: &[&str], index: usize) -> crate::error::InvalidInput {
    let place = index.to_string();
    let path: Vec<_> = at.iter().copied().chain(["prices", &place, "validFrom"]).collect();
    fault(&path, "PRICE_EXISTS", "other prices hold from this moment on and never change; give a later moment")
}

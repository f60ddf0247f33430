//! Services: every port that resolvers use, in one struct. Nothing here is a concrete adapter.

use std::sync::Arc;

use domain::access::{AccessStore, ApiKeyPorts, Authorizer, GrantPorts, IdentityStore};
use domain::artifact::{Artifact, ArtifactStore};
use domain::audit::AuditLog;
use domain::budget::{BudgetAccounts, BudgetPorts};
use domain::clock::{Clock, Entropy, Timestamp};
use domain::cost::CostReader;
use domain::event::{EventBus, EventLog};
use domain::execution::{ExecutionReader, ExecutionStore, RetentionStore};
use domain::price_table::{ImportPorts, PriceStore};
use domain::resource::{ResourcePorts, ResourceStore, SecretError, SecretStore};
use domain::sandbox::{MetricsPorts, RedactingRuntime};
use tokio_util::task::TaskTracker;

use super::event::Follow;
use domain::ids::TenantId;

/// Makes links to files, which open without further credentials until they expire.
pub trait ArtifactLinks: Send + Sync {
    /// A URL of the file's bytes that works until `expires_at`.
    fn link(&self, tenant: TenantId, artifact: &Artifact, expires_at: Timestamp) -> Result<String, SecretError>;
}

/// Every port that resolvers use.
#[derive(Clone)]
pub struct Services {
    /// Resources and versions.
    pub resources: Arc<dyn ResourceStore>,
    /// Budget accounts.
    pub accounts: Arc<dyn BudgetAccounts>,
    /// Reads executions.
    pub executions: Arc<dyn ExecutionReader>,
    /// Starts executions, and takes commands for them.
    pub execution_store: Arc<dyn ExecutionStore>,
    /// Knows of executions that were removed.
    pub retention: Arc<dyn RetentionStore>,
    /// Reads the event log.
    pub events: Arc<dyn EventLog>,
    /// Says when there is more to read.
    pub follow: Arc<dyn Follow>,
    /// Grants and service identities.
    pub access: Arc<dyn AccessStore>,
    /// Tenants, projects, people and keys.
    pub identity: Arc<dyn IdentityStore>,
    /// Reads what people decided.
    pub audit: Arc<dyn AuditLog>,
    /// Long texts and files.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Prices of models.
    pub prices: Arc<dyn PriceStore>,
    /// Sums of what calls cost.
    pub costs: Arc<dyn CostReader>,
    /// Seals secrets.
    pub secrets: Arc<dyn SecretStore>,
    /// Says who may do what.
    pub authorizer: Arc<Authorizer>,
    /// Asks servers what their sandboxes use.
    pub sandboxes: RedactingRuntime,
    /// Wakes workers and followers.
    pub bus: Arc<dyn EventBus>,
    /// Links to files.
    pub links: Arc<dyn ArtifactLinks>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Where loaders run.
    pub tasks: TaskTracker,
}

impl Services {
    /// For the use cases of resources.
    pub fn resource_ports(&self) -> ResourcePorts {
        ResourcePorts {
            resources: self.resources.clone(),
            access: self.access.clone(),
            secrets: self.secrets.clone(),
            authorizer: self.authorizer.clone(),
        }
    }

    /// For looking at what a sandbox uses.
    pub fn metrics_ports(&self) -> MetricsPorts<'_> {
        MetricsPorts {
            resources: &*self.resources,
            secrets: &*self.secrets,
            sandboxes: &*self.sandboxes,
            clock: &*self.clock,
        }
    }

    /// For importing prices.
    pub fn price_import_ports(&self) -> ImportPorts {
        ImportPorts { prices: self.prices.clone(), authorizer: self.authorizer.clone() }
    }

    /// For the use cases of grants.
    pub fn grant_ports(&self) -> GrantPorts {
        GrantPorts {
            resources: self.resources.clone(),
            access: self.access.clone(),
            authorizer: self.authorizer.clone(),
        }
    }

    /// For the use cases of budgets.
    pub fn budget_ports(&self) -> BudgetPorts {
        BudgetPorts {
            accounts: self.accounts.clone(),
            executions: self.executions.clone(),
            resources: self.resources.clone(),
            identity: self.identity.clone(),
            authorizer: self.authorizer.clone(),
            bus: self.bus.clone(),
        }
    }

    /// For the use cases of API keys.
    pub fn api_key_ports(&self) -> ApiKeyPorts {
        ApiKeyPorts { identity: self.identity.clone(), authorizer: self.authorizer.clone() }
    }
}

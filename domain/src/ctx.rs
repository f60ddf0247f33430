//! The context of an operation: who does it, for which tenant, with which clock and randomness.

use std::sync::Arc;

use crate::clock::{Clock, Entropy};
use crate::ids::{PrincipalId, ProjectId, TenantId};

/// The tenant that a finder looks in. Nothing crosses a tenant: there is no finder without a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The tenant.
    pub tenant_id: TenantId,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Principal {
    /// The principal's id.
    pub id: PrincipalId,
    /// The tenant that it belongs to.
    pub tenant_id: TenantId,
    /// The project that an API key is bound to.
    pub project_id: Option<ProjectId>,
}

impl Principal {
    /// The principal's tenant, as a finder takes it.
    pub const fn scope(&self) -> Scope {
        Scope { tenant_id: self.tenant_id }
    }
}

/// What every use case gets: the principal, the clock and randomness.
#[derive(Clone)]
pub struct OpContext {
    /// Who asks.
    pub principal: Principal,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub entropy: Arc<dyn Entropy>,
}

impl OpContext {
    /// The principal's tenant, as a finder takes it.
    pub fn scope(&self) -> Scope {
        self.principal.scope()
    }
}

/// Which page of a list is wanted: keyset paging, stable under insertions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Rows at most; 1 to 100.
    pub first: u32,
    /// The sort key behind which to go on, as a [`Page`] gave it.
    pub after: Option<String>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows, each with its sort key.
    pub rows: Vec<(String, T)>,
    /// Whether there are more behind the last one.
    pub has_next: bool,
}

//! A manager in front of a real runtime, with one sandbox.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::ctx::Principal;
use domain::execution::{CallContext, ExecutionRef};
use domain::ids::{ExecutionId, PrincipalId, ResourceId, SandboxId, TenantId};
use domain::resource::{SandboxProfileSpec, SandboxTier};
use domain::sandbox::{LiveSandbox, SandboxRequest, SandboxRuntime as _};
use domain::testing::{plain_profile, plain_target};
use sandbox::manager::{LocalTier, SandboxManager};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::local_support::{Host, KEY};

/// The runtime of a test, as the one of this installation.
struct Tier(Url, String);

#[async_trait]
impl LocalTier for Tier {
    async fn connection(&self) -> Result<(Url, SecretString), String> {
        Ok((self.0.clone(), self.1.clone().into()))
    }

    fn refusal(&self, _: TenantId) -> Option<String> {
        None
    }
}

pub struct Stage {
    pub manager: SandboxManager,
    pub live: LiveSandbox,
    pub context: CallContext,
}

impl Stage {
    pub async fn new(host: &Host, change: impl FnOnce(&mut SandboxProfileSpec)) -> Self {
        let manager = manager_of(host);
        let mut profile = profile();
        change(&mut profile);
        let target = plain_target(SandboxTier::Local, "local:");
        let context = context();
        let request = SandboxRequest { id: SandboxId::from_bits(7), target, profile };
        let live = manager.create(&context, &request).await.unwrap();
        Self { manager, live, context }
    }
}

/// Another manager of the same runtime is what a process that was started anew has.
pub fn manager_of(host: &Host) -> SandboxManager {
    manager_at(&host.url, KEY)
}

/// A manager of whatever is at this address.
pub fn manager_at(url: &str, key: &str) -> SandboxManager {
    SandboxManager::new(Arc::new(Tier(url.parse().unwrap(), key.to_owned())))
}

pub fn profile() -> SandboxProfileSpec {
    SandboxProfileSpec { command_timeout_ms: 600_000, ..plain_profile(ResourceId::from_bits(1)) }
}

pub fn context() -> CallContext {
    let tenant_id = TenantId::from_bits(1);
    CallContext {
        principal: Principal { id: PrincipalId::from_bits(1), tenant_id, project_id: None },
        execution: ExecutionRef { tenant_id, id: ExecutionId::from_bits(1) },
        attempt: 1,
        time_left: Duration::from_secs(600),
        cancel: CancellationToken::new(),
    }
}

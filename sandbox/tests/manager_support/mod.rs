//! A manager in front of a real runtime, with one sandbox.

use std::sync::Arc;

use async_trait::async_trait;
use domain::execution::CallContext;
use domain::ids::{ResourceId, SandboxId, TenantId};
use domain::resource::{SandboxProfileSpec, SandboxTier};
use domain::sandbox::{LiveSandbox, SandboxRequest, SandboxRuntime as _};
use domain::testing::{plain_context, plain_profile, plain_target};
use sandbox::manager::{LocalTier, SandboxManager};
use secrecy::SecretString;
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
        let context = plain_context();
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

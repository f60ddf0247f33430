//! From a profile to the create call, and from the server's answer to what is enforced.

use std::time::Duration;

use domain::clock::Timestamp;
use domain::resource::SandboxTier;
use domain::sandbox::{LiveSandbox, SandboxError, SandboxRequest, Setting};

use super::network;
use crate::opensandbox::{CreateSandbox, SandboxInfo, SandboxLabel};

/// The local runtime refuses to make a sandbox in which one of these is not enforced.
const REQUIRED: &str = "memory,pids,disk,network";
const REQUIRE_EXTENSION: &str = "vitrine.require";
const ENFORCED_EXTENSION: &str = "vitrine.enforced";

pub(super) fn create(request: &SandboxRequest, label: SandboxLabel) -> Result<CreateSandbox, SandboxError> {
    let profile = &request.profile;
    let mut create = CreateSandbox::new(label, profile.image.clone());
    create.time_to_live = Some(Duration::from_secs(profile.ttl_seconds.into()));
    create.resource_limits = [
        ("cpu".to_owned(), format!("{}m", profile.cpu_millis)),
        ("memory".to_owned(), quantity(profile.memory_bytes)),
        ("disk".to_owned(), quantity(profile.disk_bytes)),
        ("pids".to_owned(), profile.pids.to_string()),
    ]
    .into();
    if request.target.tier == SandboxTier::Local {
        create.extensions.insert(REQUIRE_EXTENSION.to_owned(), REQUIRED.to_owned());
    }
    create.network_policy = network::policy(&request.target, profile)?;
    create.secure_access = request.target.secure_access;
    Ok(create)
}

/// Bytes in Kubernetes notation, without loss.
fn quantity(bytes: u64) -> String {
    const MEBIBYTE: u64 = 1024 * 1024;
    if bytes.is_multiple_of(MEBIBYTE) { format!("{}Mi", bytes / MEBIBYTE) } else { bytes.to_string() }
}

pub(super) fn live(request: &SandboxRequest, info: &SandboxInfo) -> LiveSandbox {
    let enforced = info.extensions.get(ENFORCED_EXTENSION).map(String::as_str).unwrap_or_default();
    LiveSandbox {
        id: request.id,
        target: request.target.clone(),
        remote_id: info.id.clone(),
        enforced: enforced.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        expires_at: info
            .expires_at
            .and_then(|at| i64::try_from(at.unix_timestamp_nanos() / 1000).ok().map(Timestamp::from_micros)),
        setting: Setting::default(),
    }
}

/// The answer to the create was lost and no sandbox carries the label.
pub(super) fn lost() -> SandboxError {
    SandboxError {
        code: "SANDBOX_OUTCOME_UNKNOWN",
        message: "the answer to the create was lost, and the server has no sandbox with its label".to_owned(),
        sandbox_lost: true,
    }
}

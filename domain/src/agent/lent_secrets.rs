//! What earlier claims lent to programs, so that it does not come back in this one either: a sandbox that is taken over
//! still tells its output, from the first byte on.

use super::claim::Claim;
use super::halt::Halt;
use crate::resource::Spec;

/// Lets the redactor of this claim know every secret that was ever lent in the execution, in the version that was lent.
pub(super) async fn recall(claim: &Claim) -> Result<(), Halt> {
    let pinned = claim.pinned()?.sandbox.as_ref();
    if pinned.is_none_or(|pinned| pinned.profile.credentials.is_empty()) {
        return Ok(());
    }
    let issued = claim.ports.reader.issued_credentials(claim.execution.reference()).await?;
    let mut wanted: Vec<_> = issued.iter().map(|issued| issued.version).collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(());
    }
    let versions = claim.ports.resources.versions(claim.scope(), &wanted).await?;
    for issued in issued {
        let Some(version) = versions.iter().find(|version| version.id == issued.version) else { continue };
        let Spec::Credential(spec) = &version.spec else { continue };
        // One that can be opened no more cannot have been lent by this key, and is nowhere in the clear.
        if let Ok(secret) = claim.ports.secrets.open(&version.id.to_string(), &spec.sealed) {
            claim.sandbox.secrets.add(&issued.name, &secret);
        }
    }
    Ok(())
}

//! Lends the credentials of the profile to the programs of one tool call.
//!
//! 1. The Authorizer is asked again, for each credential and each call: what was revoked meanwhile is not lent.
//! 2. The record is written, then the file.
//! 3. The file goes when its time is over or the call ends, whichever comes first. A sandbox in which one cannot be
//!    removed is given up.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::beside::beside;
use super::model::ToolCall;
use crate::access::AccessError;
use crate::agent::Claim;
use crate::event::Event;
use crate::execution::{Change, StopCause};
use crate::resource::{ResourceVersion, SandboxCredential, Spec};
use crate::sandbox::{IssuedCredential, LiveSandbox, RevokedBecause, SandboxError, Setting, unfit};

/// What a call was lent.
pub(super) struct Lent<'a> {
    claim: &'a Claim,
    /// The sandbox as the programs of this call see it.
    pub sandbox: LiveSandbox,
    /// What lies there, with the moment at which it goes.
    issued: Vec<(IssuedCredential, Duration)>,
}

impl<'a> Lent<'a> {
    /// Puts the credentials of the profile into the sandbox. When one cannot be had, none stays.
    pub async fn to(claim: &'a Claim, call: &ToolCall, sandbox: &LiveSandbox) -> Result<Self, SandboxError> {
        let setting = Setting { call: Some(call.id), ..sandbox.setting.clone() };
        let mut lent = Self { claim, sandbox: LiveSandbox { setting, ..sandbox.clone() }, issued: Vec::new() };
        for credential in named(claim) {
            if let Err(error) = lent.put(call, credential).await {
                lent.give_back(RevokedBecause::Failed).await;
                return Err(error);
            }
        }
        Ok(lent)
    }

    async fn put(&mut self, call: &ToolCall, credential: &SandboxCredential) -> Result<(), SandboxError> {
        let claim = self.claim;
        let (version, secret) = open(claim, credential).await?;
        let lifetime = Duration::from_secs(credential.ttl_seconds.into());
        let issued_at = claim.ports.clock.now();
        let issued = IssuedCredential {
            call: call.id,
            name: credential.name.clone(),
            sandbox: self.sandbox.id,
            credential: credential.credential_id,
            version: version.id,
            issued_at,
            expires_at: issued_at.plus(lifetime),
            revoked: None,
        };
        let goes_at = claim.ports.clock.monotonic() + lifetime;
        self.issued.push((issued.clone(), goes_at));
        record(claim, vec![(issued.clone(), issued_event(&issued))]).await;
        let context = claim.call_context();
        let path = claim.ports.sandboxes.put_credential(&context, &self.sandbox, &credential.name, &secret).await?;
        self.sandbox.setting.environment.insert(credential.variable(), path);
        Ok(())
    }

    /// Does the work of the call, and takes away meanwhile what has been there for its time.
    pub async fn during<T>(&mut self, work: impl Future<Output = T> + Send) -> T {
        let over = CancellationToken::new();
        beside(work, &over, self.take_away_in_time(&over)).await
    }

    async fn take_away_in_time(&mut self, over: &CancellationToken) {
        while let Some(goes_at) = self.issued.iter().map(|(_, goes_at)| *goes_at).min() {
            let left = goes_at.saturating_sub(self.claim.ports.clock.monotonic());
            if over.run_until_cancelled(self.claim.ports.clock.sleep(left)).await.is_none() {
                return;
            }
            let now = self.claim.ports.clock.monotonic();
            let gone = self.issued.extract_if(.., |(_, goes_at)| *goes_at <= now).map(|(issued, _)| issued);
            let gone = gone.collect();
            self.take_away(gone, RevokedBecause::Expired).await;
        }
    }

    /// Takes away what is left.
    pub async fn give_back(&mut self, because: RevokedBecause) {
        let left = self.issued.drain(..).map(|(issued, _)| issued).collect();
        self.take_away(left, because).await;
    }

    async fn take_away(&self, issued: Vec<IssuedCredential>, because: RevokedBecause) {
        if issued.is_empty() {
            return;
        }
        let names: Vec<&str> = issued.iter().map(|issued| issued.name.as_str()).collect();
        let because = match self.claim.ports.sandboxes.remove_credentials(&self.sandbox, &names).await {
            Ok(()) => because,
            Err(error) => {
                tracing::warn!(sandbox.id = %self.sandbox.id, error.code = error.code, "credentials were not removed");
                // Nothing else may run where they still lie. What the call left is read first: the redactor knows them.
                self.claim.sandbox.spoil(self.sandbox.id);
                RevokedBecause::Failed
            }
        };
        let now = self.claim.ports.clock.now();
        let revoked = issued.into_iter().map(|issued| {
            let event = revoked_event(&issued, because);
            (IssuedCredential { revoked: Some((now, because)), ..issued }, event)
        });
        record(self.claim, revoked.collect()).await;
    }
}

/// The credentials that the profile names.
fn named(claim: &Claim) -> &[SandboxCredential] {
    let pinned = claim.pinned.get().and_then(|pinned| pinned.sandbox.as_ref());
    pinned.map_or(&[], |pinned| &pinned.profile.credentials)
}

/// The secret as it is at this moment, if the service identity may use it.
async fn open(claim: &Claim, credential: &SandboxCredential) -> Result<(ResourceVersion, String), SandboxError> {
    let refused = |code, why: &str| SandboxError {
        code,
        message: format!("the credential {} {why}", credential.name),
        sandbox_lost: false,
    };
    let unreadable = || refused("CREDENTIAL_UNAVAILABLE", "could not be read");
    match claim.authorize_use(credential.credential_id).await {
        Ok(()) => {}
        Err(AccessError::Denied) => return Err(refused("ACCESS_DENIED", "may not be used: the agent has no grant")),
        Err(AccessError::Store(_)) => return Err(unreadable()),
    }
    let found = claim.ports.resources.latest_published(claim.scope(), &[credential.credential_id]).await;
    let version = found.map_err(|_| unreadable())?.pop();
    let Some(version) = version else { return Err(refused("CREDENTIAL_UNAVAILABLE", "has no published version")) };
    let Spec::Credential(spec) = &version.spec else { return Err(unreadable()) };
    let secret = claim.ports.secrets.open(&version.id.to_string(), &spec.sealed).map_err(|_| unreadable())?;
    if let Some(rule) = unfit(&secret) {
        let why = format!(
            "has a secret that could not be kept out of the output; it needs {rule}. Publish a version with another one."
        );
        return Err(refused("CREDENTIAL_UNFIT", &why));
    }
    Ok((version, secret))
}

async fn record(claim: &Claim, written: Vec<(IssuedCredential, Event)>) {
    let (rows, events): (Vec<_>, Vec<_>) = written.into_iter().unzip();
    let changes = rows.into_iter().map(|row| Change::SaveIssuedCredential(Box::new(row))).collect();
    if claim.record(|_| (changes, events)).await.is_err() {
        claim.signal.trip(StopCause::LeaseLost);
    }
}

fn issued_event(issued: &IssuedCredential) -> Event {
    Event::CredentialIssued {
        tool_call_id: issued.call,
        sandbox_id: issued.sandbox,
        credential_id: issued.credential,
        name: issued.name.clone(),
        expires_at_micros: issued.expires_at,
    }
}

pub(crate) fn revoked_event(issued: &IssuedCredential, because: RevokedBecause) -> Event {
    Event::CredentialRevoked {
        tool_call_id: issued.call,
        sandbox_id: issued.sandbox,
        credential_id: issued.credential,
        name: issued.name.clone(),
        because,
    }
}

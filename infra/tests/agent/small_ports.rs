//! The ports that play no part in what is tested, as small as they can be.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use domain::artifact::{ArtifactDraft, ArtifactStore, Blob, sha256_hex};
use domain::budget::{AccountChange, AccountOwner, AccountState, AccountSubjects, BudgetAccounts, TopUp, TopUpOutcome};
use domain::clock::{Clock, Timestamp};
use domain::ctx::Scope;
use domain::error::StoreError;
use domain::event::{CommandWakeUps, EventBus, Segment};
use domain::execution::ExecutionRef;
use domain::ids::AccountId;
use domain::resource::{SealedSecret, SecretError, SecretStore};
use infra::clock::SystemClock;
use tokio::sync::Notify;

/// How much shorter its pauses are.
pub const HASTE: u32 = 20;

/// The system's clock with short pauses: heartbeats and retries come sooner.
pub struct HastyClock(pub SystemClock);

#[async_trait]
impl Clock for HastyClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }

    async fn sleep(&self, duration: Duration) {
        self.0.sleep(duration / HASTE).await;
    }
}

#[derive(Default)]
pub struct InMemoryArtifacts(Arc<Mutex<BTreeMap<String, Bytes>>>);

struct InMemoryDraft {
    written: Vec<u8>,
    blobs: Arc<Mutex<BTreeMap<String, Bytes>>>,
}

#[async_trait]
impl ArtifactDraft for InMemoryDraft {
    async fn write(&mut self, piece: Bytes) -> Result<(), StoreError> {
        self.written.extend_from_slice(&piece);
        Ok(())
    }

    async fn keep(self: Box<Self>) -> Result<Blob, StoreError> {
        let (sha256, byte_size) = (sha256_hex(&self.written), self.written.len() as u64);
        self.blobs.lock().unwrap().insert(sha256.clone(), self.written.into());
        Ok(Blob { sha256, byte_size })
    }
}

impl InMemoryArtifacts {
    /// Everything that is stored, as text.
    pub fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }
}

#[async_trait]
impl ArtifactStore for InMemoryArtifacts {
    async fn put(&self, _: Scope, bytes: Bytes) -> Result<String, StoreError> {
        let sha256 = sha256_hex(&bytes);
        self.0.lock().unwrap().insert(sha256.clone(), bytes);
        Ok(sha256)
    }

    async fn begin(&self, _: Scope) -> Result<Box<dyn ArtifactDraft>, StoreError> {
        Ok(Box::new(InMemoryDraft { written: Vec::new(), blobs: self.0.clone() }))
    }

    async fn remove_unused(&self, _: Scope, _: Timestamp) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn get(&self, _: Scope, sha256: &str) -> Result<Option<Bytes>, StoreError> {
        Ok(self.0.lock().unwrap().get(sha256).cloned())
    }
}

/// There are no secrets.
/// Seals nothing.
pub struct OpenSecrets;

impl SecretStore for OpenSecrets {
    fn seal(&self, _: &str, secret: &str) -> Result<SealedSecret, SecretError> {
        Ok(SealedSecret(secret.to_owned()))
    }

    fn open(&self, _: &str, sealed: &SealedSecret) -> Result<String, SecretError> {
        Ok(sealed.0.clone())
    }
}

/// Wakes every heartbeat when a command arrives.
#[derive(Default)]
pub struct Bell(Arc<Notify>);

impl EventBus for Bell {
    fn committed(&self, _: ExecutionRef, _: &Segment) {}

    fn command_arrived(&self, _: ExecutionRef) {
        self.0.notify_waiters();
    }
}

#[async_trait]
impl CommandWakeUps for Bell {
    async fn command(&self, _: ExecutionRef) {
        self.0.notified().await;
    }
}

/// Real accounts that count how often a run looks at them.
pub struct CountedAccounts {
    inner: Arc<dyn BudgetAccounts>,
    looks: AtomicU32,
}

impl CountedAccounts {
    pub fn new(inner: Arc<dyn BudgetAccounts>) -> Self {
        Self { inner, looks: AtomicU32::new(0) }
    }

    pub fn looks(&self) -> u32 {
        self.looks.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl BudgetAccounts for CountedAccounts {
    async fn applying(
        &self,
        execution: ExecutionRef,
        subjects: AccountSubjects,
    ) -> Result<Vec<AccountState>, StoreError> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.inner.applying(execution, subjects).await
    }

    async fn accounts(&self, scope: Scope, owners: Option<&[AccountOwner]>) -> Result<Vec<AccountState>, StoreError> {
        self.inner.accounts(scope, owners).await
    }

    async fn account(&self, scope: Scope, id: AccountId) -> Result<Option<AccountState>, StoreError> {
        self.inner.account(scope, id).await
    }

    async fn set(&self, change: &AccountChange) -> Result<AccountState, StoreError> {
        self.inner.set(change).await
    }

    async fn topped_up_before(&self, scope: Scope, idempotency_key: &str) -> Result<Option<String>, StoreError> {
        self.inner.topped_up_before(scope, idempotency_key).await
    }

    async fn top_up(&self, scope: Scope, top_up: &TopUp) -> Result<TopUpOutcome, StoreError> {
        self.inner.top_up(scope, top_up).await
    }
}

//! What the rules of executions need from the store.
//!
//! Each method is one transaction. [`StoreError::Unavailable`] means that nobody knows whether it happened; the caller
//! looks before it tries again.

use std::time::Duration;

use async_trait::async_trait;

use super::model::{
    Claimed, Command, Commit, Execution, ExecutionFilter, ExecutionRef, Fence, IterationRecord, LoopOverride,
    NewExecution, Renewal, StartOutcome,
};
use crate::artifact::Artifact;
use crate::clock::Timestamp;
use crate::ctx::{Page, PageRequest, Scope};
use crate::error::StoreError;
use crate::ids::{ArtifactId, ExecutionId, ModelCallId, SandboxId, ToolCallId};
use crate::model_call::ModelCall;
use crate::sandbox::{IssuedCredential, Sandbox};
use crate::tool_call::ToolCall;

/// Writes executions. Lease times come from the store's clock.
#[async_trait]
pub trait ExecutionStore: Send + Sync {
    /// Stores a queued execution with its inputs, its first event and its idempotency key, or finds the key taken.
    async fn start(&self, new: &NewExecution) -> Result<StartOutcome, StoreError>;

    /// Claims the oldest execution that is not terminal and that nobody holds: epoch + 1, this owner, this lease.
    async fn claim_next(&self, owner: &str, lease: Duration) -> Result<Option<Claimed>, StoreError>;

    /// Claims this execution if it is not terminal and nobody holds it.
    async fn claim(&self, execution: ExecutionRef, owner: &str, lease: Duration)
    -> Result<Option<Claimed>, StoreError>;

    /// Prolongs the lease with this epoch and reads the inbox. `LeaseLost` when the epoch is no longer the stored one or
    /// the execution has ended.
    async fn renew(&self, execution: ExecutionRef, epoch: u64, lease: Duration) -> Result<Renewal, StoreError>;

    /// Writes totals, rows and a segment if the fence matches; else `LeaseLost`, and nothing is written.
    async fn commit(&self, commit: &Commit) -> Result<(), StoreError>;

    /// Writes the segments of several executions in one transaction. Each is written if its own fence matches; the
    /// answer says for each whether it was.
    async fn append(&self, commits: &[Commit]) -> Result<Vec<bool>, StoreError>;

    /// The stored fence; None when there is no such execution.
    async fn fence(&self, execution: ExecutionRef) -> Result<Option<Fence>, StoreError>;

    /// Puts a command into the inbox.
    async fn add_command(&self, execution: ExecutionRef, command: &Command) -> Result<(), StoreError>;

    /// Sandboxes that are not gone although their execution has ended, or its newest claim has begun its attempt without
    /// taking them over.
    async fn stray_sandboxes(
        &self,
        after: Option<SandboxId>,
        limit: u32,
    ) -> Result<Vec<(ExecutionRef, Sandbox)>, StoreError>;

    /// Notes that a sandbox was seen to be gone. Needs no lease: nothing comes after it.
    async fn sandbox_gone(&self, execution: ExecutionRef, id: SandboxId) -> Result<(), StoreError>;
}

/// Reads executions. Every finder takes a tenant's scope.
#[async_trait]
pub trait ExecutionReader: Send + Sync {
    /// The executions with these ids, in no order; missing ones are left out.
    async fn executions(&self, scope: Scope, ids: &[ExecutionId]) -> Result<Vec<Execution>, StoreError>;

    /// The execution that this key and request started, if the key still holds at `now`.
    async fn started_before(
        &self,
        scope: Scope,
        key: &str,
        request_hash: &str,
        now: Timestamp,
    ) -> Result<Option<Execution>, StoreError>;

    /// A page of executions, newest first.
    async fn list(
        &self,
        scope: Scope,
        filter: &ExecutionFilter,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError>;

    /// All iterations of an execution with their calls, oldest first.
    async fn transcript(&self, execution: ExecutionRef) -> Result<Vec<IterationRecord>, StoreError>;

    /// The overrides of the loop guard that were applied to an execution, in the order of their places.
    async fn loop_overrides(&self, execution: ExecutionRef) -> Result<Vec<LoopOverride>, StoreError>;

    /// The model call with this id, and whose it is.
    async fn model_call(&self, scope: Scope, id: ModelCallId) -> Result<Option<(ExecutionId, ModelCall)>, StoreError>;

    /// The tool call with this id, and whose it is.
    async fn tool_call(&self, scope: Scope, id: ToolCallId) -> Result<Option<(ExecutionId, ToolCall)>, StoreError>;

    /// The files of these executions, oldest first.
    async fn artifacts(&self, scope: Scope, executions: &[ExecutionId]) -> Result<Vec<Artifact>, StoreError>;

    /// The file with this id.
    async fn artifact(&self, scope: Scope, id: ArtifactId) -> Result<Option<Artifact>, StoreError>;

    /// The sandbox with this id, and whose it is.
    async fn sandbox(&self, scope: Scope, id: SandboxId) -> Result<Option<(ExecutionId, Sandbox)>, StoreError>;

    /// The credentials that were lent to the tool calls of an execution, by call and name.
    async fn issued_credentials(&self, execution: ExecutionRef) -> Result<Vec<IssuedCredential>, StoreError>;

    /// The sandboxes of these executions, oldest first.
    async fn sandboxes(
        &self,
        scope: Scope,
        executions: &[ExecutionId],
    ) -> Result<Vec<(ExecutionId, Sandbox)>, StoreError>;
}

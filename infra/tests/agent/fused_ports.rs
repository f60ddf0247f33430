//! The ports of a worker behind a Fuse: each call tells which step of the loop it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use domain::access::{AccessFacts, AccessStore, Action, Grant, ServiceIdentity, Target};
use domain::artifact::{ArtifactDraft, ArtifactStore};
use domain::clock::Timestamp;
use domain::ctx::Scope;
use domain::error::StoreError;
use domain::event::Segment;
use domain::execution::{
    CallContext, Claimed, Command, Commit, ExecutionRef, ExecutionStore, Fence, NewExecution, Renewal, StartOutcome,
};
use domain::ids::{PrincipalId, ResourceId, SandboxId};
use domain::model_call::{DeltaSink, ModelOutcome, ModelRequest, ModelRuntime};
use domain::sandbox::{
    BackgroundCommand, Collected, EgressAttempts, Followed, KeptDirectory, KeptFile, Listing, LiveSandbox, NotCreated,
    OutputSink, OutputStream, Program, ProgramEnd, Sandbox, SandboxError, SandboxMetrics, SandboxRequest,
    SandboxRuntime, SandboxTarget, Start, WorkspaceEntry,
};
use tokio_util::sync::CancellationToken;

use crate::step::{Fuse, Step};

/// A port behind a fuse.
pub struct Fused<T: ?Sized> {
    pub inner: Arc<T>,
    pub fuse: Arc<Fuse>,
}

/// Calls that are no step of the loop.
macro_rules! pass {
    ($self:ident, $method:ident($($name:expr),*)) => {{
        $self.fuse.pass().await;
        let answer = $self.inner.$method($($name),*).await;
        $self.fuse.pass().await;
        answer
    }};
}

/// What a commit does, as its events tell it.
fn steps_of(segment: Option<&Segment>) -> Vec<(Step, Step)> {
    let text = segment.map(|segment| String::from_utf8_lossy(&segment.bytes).into_owned()).unwrap_or_default();
    let has = |kind: &str| text.contains(&format!("\"kind\":\"{kind}\""));
    let is_end = has("ExecutionFinished");
    let all = [
        (has("ModelCallStarted"), Step::BeforeReserve, Step::AfterReserve),
        (has("ModelCallFinished"), Step::BeforeSettle, Step::AfterSettle),
        (has("ToolCallFinished"), Step::BeforeToolReply, Step::AfterToolReply),
        (has("IterationFinished") && !is_end, Step::BeforeCheckpoint, Step::AfterCheckpoint),
        (is_end, Step::BeforeFinish, Step::AfterFinish),
    ];
    all.into_iter().filter(|(is_so, ..)| *is_so).map(|(_, before, after)| (before, after)).collect()
}

#[async_trait]
impl ExecutionStore for Fused<dyn ExecutionStore> {
    async fn start(&self, new: &NewExecution) -> Result<StartOutcome, StoreError> {
        pass!(self, start(new))
    }

    async fn claim_next(&self, owner: &str, lease: Duration) -> Result<Option<Claimed>, StoreError> {
        pass!(self, claim_next(owner, lease))
    }

    async fn claim(
        &self,
        execution: ExecutionRef,
        owner: &str,
        lease: Duration,
    ) -> Result<Option<Claimed>, StoreError> {
        self.fuse.reach(Step::BeforeClaim).await;
        let claimed = self.inner.claim(execution, owner, lease).await;
        self.fuse.reach(Step::AfterClaim).await;
        claimed
    }

    async fn renew(&self, execution: ExecutionRef, epoch: u64, lease: Duration) -> Result<Renewal, StoreError> {
        pass!(self, renew(execution, epoch, lease))
    }

    async fn commit(&self, commit: &Commit) -> Result<(), StoreError> {
        self.fuse.pass().await;
        let steps = steps_of(commit.segment.as_ref());
        for (before, _) in &steps {
            self.fuse.reach(*before).await;
        }
        let outcome = self.inner.commit(commit).await;
        for (_, after) in &steps {
            self.fuse.reach(*after).await;
        }
        self.fuse.pass().await;
        outcome
    }

    async fn append(&self, commits: &[Commit]) -> Result<Vec<bool>, StoreError> {
        self.fuse.reach(Step::BeforeAppend).await;
        let outcome = self.inner.append(commits).await;
        self.fuse.reach(Step::AfterAppend).await;
        outcome
    }

    async fn fence(&self, execution: ExecutionRef) -> Result<Option<Fence>, StoreError> {
        pass!(self, fence(execution))
    }

    async fn add_command(&self, execution: ExecutionRef, command: &Command) -> Result<(), StoreError> {
        pass!(self, add_command(execution, command))
    }

    async fn stray_sandboxes(
        &self,
        after: Option<SandboxId>,
        limit: u32,
    ) -> Result<Vec<(ExecutionRef, Sandbox)>, StoreError> {
        pass!(self, stray_sandboxes(after, limit))
    }

    async fn sandbox_gone(&self, execution: ExecutionRef, id: SandboxId) -> Result<(), StoreError> {
        pass!(self, sandbox_gone(execution, id))
    }
}

#[async_trait]
impl AccessStore for Fused<dyn AccessStore> {
    async fn facts(
        &self,
        principal: PrincipalId,
        action: Action,
        target: &Target,
    ) -> Result<Option<AccessFacts>, StoreError> {
        self.fuse.reach(Step::BeforeAuthorise).await;
        let facts = self.inner.facts(principal, action, target).await;
        self.fuse.reach(Step::AfterAuthorise).await;
        facts
    }

    async fn grant(&self, grant: Grant) -> Result<(), StoreError> {
        pass!(self, grant(grant))
    }

    async fn revoke(&self, grant: Grant) -> Result<bool, StoreError> {
        pass!(self, revoke(grant))
    }

    async fn ensure_service_identity(
        &self,
        scope: Scope,
        identity: ServiceIdentity,
    ) -> Result<ServiceIdentity, StoreError> {
        pass!(self, ensure_service_identity(scope, identity))
    }

    async fn service_identity(&self, scope: Scope, agent: ResourceId) -> Result<Option<ServiceIdentity>, StoreError> {
        pass!(self, service_identity(scope, agent))
    }
}

#[async_trait]
impl ArtifactStore for Fused<dyn ArtifactStore> {
    async fn put(&self, scope: Scope, bytes: Bytes) -> Result<String, StoreError> {
        self.fuse.reach(Step::BeforeStateWrite).await;
        let name = self.inner.put(scope, bytes).await;
        self.fuse.reach(Step::AfterStateWrite).await;
        name
    }

    async fn begin(&self, scope: Scope) -> Result<Box<dyn ArtifactDraft>, StoreError> {
        pass!(self, begin(scope))
    }

    async fn remove_unused(&self, scope: Scope, since: Timestamp) -> Result<u64, StoreError> {
        pass!(self, remove_unused(scope, since))
    }

    async fn get(&self, scope: Scope, sha256: &str) -> Result<Option<Bytes>, StoreError> {
        pass!(self, get(scope, sha256))
    }
}

/// Words of each text that a played model says here.
pub const WORDS: usize = 3;

#[async_trait]
impl ModelRuntime for Fused<dyn ModelRuntime> {
    async fn call(&self, context: &CallContext, request: &ModelRequest, deltas: &dyn DeltaSink) -> ModelOutcome {
        self.fuse.reach(Step::BeforeSend).await;
        let deltas = FusedDeltas { inner: deltas, fuse: &self.fuse, count: AtomicUsize::new(0) };
        let outcome = self.inner.call(context, request, &deltas).await;
        self.fuse.pass().await;
        outcome
    }
}

struct FusedDeltas<'a> {
    inner: &'a dyn DeltaSink,
    fuse: &'a Fuse,
    count: AtomicUsize,
}

#[async_trait]
impl DeltaSink for FusedDeltas<'_> {
    async fn text(&self, piece: &str) {
        self.fuse.pass().await;
        let steps = match self.count.fetch_add(1, Ordering::Relaxed) + 1 {
            1 => Some((Step::BeforeFirstDelta, Step::AfterFirstDelta)),
            WORDS => Some((Step::BeforeLastDelta, Step::AfterLastDelta)),
            _ => None,
        };
        if let Some((before, _)) = steps {
            self.fuse.reach(before).await;
        }
        self.inner.text(piece).await;
        if let Some((_, after)) = steps {
            self.fuse.reach(after).await;
        }
    }
}

struct FusedOutput<'a> {
    inner: &'a dyn OutputSink,
    fuse: &'a Fuse,
}

#[async_trait]
impl OutputSink for FusedOutput<'_> {
    async fn output(&self, stream: OutputStream, text: &str) {
        self.fuse.reach(Step::AfterToolSend).await;
        self.inner.output(stream, text).await;
    }
}

#[async_trait]
impl SandboxRuntime for Fused<dyn SandboxRuntime> {
    async fn create(&self, context: &CallContext, request: &SandboxRequest) -> Result<LiveSandbox, NotCreated> {
        pass!(self, create(context, request))
    }

    async fn execute(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        program: &Program,
        timeout: Duration,
        output: &dyn OutputSink,
    ) -> Result<ProgramEnd, SandboxError> {
        self.fuse.reach(Step::BeforeToolSend).await;
        let output = FusedOutput { inner: output, fuse: &self.fuse };
        pass!(self, execute(context, sandbox, program, timeout, &output))
    }

    async fn is_usable(&self, context: &CallContext, sandbox: &LiveSandbox) -> Result<bool, SandboxError> {
        pass!(self, is_usable(context, sandbox))
    }

    async fn start(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        program: &Program,
        limit: Duration,
    ) -> Result<Start, SandboxError> {
        self.fuse.reach(Step::BeforeToolSend).await;
        pass!(self, start(context, sandbox, program, limit))
    }

    async fn follow(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        command: &BackgroundCommand,
        let_go: &CancellationToken,
        output: &dyn OutputSink,
    ) -> Result<Followed, SandboxError> {
        let output = FusedOutput { inner: output, fuse: &self.fuse };
        pass!(self, follow(context, sandbox, command, let_go, &output))
    }

    async fn upload(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        bytes: Bytes,
    ) -> Result<(), SandboxError> {
        pass!(self, upload(context, sandbox, path, bytes))
    }

    async fn download(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        offset: u64,
        limit: u64,
    ) -> Result<Option<Bytes>, SandboxError> {
        pass!(self, download(context, sandbox, path, offset, limit))
    }

    async fn collect(&self, context: &CallContext, sandbox: &LiveSandbox) -> Result<Collected, SandboxError> {
        pass!(self, collect(context, sandbox))
    }

    async fn put_credential(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        name: &str,
        secret: &str,
    ) -> Result<String, SandboxError> {
        pass!(self, put_credential(context, sandbox, name, secret))
    }

    async fn metrics(&self, target: &SandboxTarget, remote_id: &str) -> Result<SandboxMetrics, SandboxError> {
        pass!(self, metrics(target, remote_id))
    }

    async fn list(&self, target: &SandboxTarget) -> Result<Vec<SandboxId>, SandboxError> {
        pass!(self, list(target))
    }

    async fn remove_credentials(&self, sandbox: &LiveSandbox, names: &[&str]) -> Result<(), SandboxError> {
        pass!(self, remove_credentials(sandbox, names))
    }

    async fn egress_attempts(&self, sandbox: &LiveSandbox, after: u64) -> Result<EgressAttempts, SandboxError> {
        pass!(self, egress_attempts(sandbox, after))
    }

    async fn list_workspace(&self, context: &CallContext, sandbox: &LiveSandbox) -> Result<Listing, SandboxError> {
        pass!(self, list_workspace(context, sandbox))
    }

    async fn list_directory(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        depth: u32,
    ) -> Result<Option<Listing>, SandboxError> {
        pass!(self, list_directory(context, sandbox, path, depth))
    }

    async fn entry(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
    ) -> Result<Option<WorkspaceEntry>, SandboxError> {
        pass!(self, entry(context, sandbox, path))
    }

    async fn read_file(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        limit: u64,
    ) -> Result<Option<Bytes>, SandboxError> {
        pass!(self, read_file(context, sandbox, path, limit))
    }

    async fn restore_directory(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        directory: &KeptDirectory,
    ) -> Result<(), SandboxError> {
        pass!(self, restore_directory(context, sandbox, directory))
    }

    async fn restore_file(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        file: &KeptFile,
        bytes: Bytes,
    ) -> Result<(), SandboxError> {
        pass!(self, restore_file(context, sandbox, file, bytes))
    }

    async fn terminate(
        &self,
        target: &SandboxTarget,
        id: SandboxId,
        remote_id: Option<&str>,
    ) -> Result<(), SandboxError> {
        pass!(self, terminate(target, id, remote_id))
    }
}

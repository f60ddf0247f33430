//! What the tools that run code need from outside.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::background::{BackgroundCommand, Followed, Start};
use super::egress::EgressAttempts;
use super::metrics::SandboxMetrics;
use super::model::{
    Collected, LiveSandbox, NotCreated, OutputStream, Program, ProgramEnd, SandboxError, SandboxRequest, SandboxTarget,
};
use super::workspace::{KeptDirectory, KeptFile, Listing, WorkspaceEntry};
use crate::clock::Timestamp;
use crate::ctx::Scope;
use crate::error::StoreError;
use crate::execution::CallContext;
use crate::ids::{SandboxId, VersionId};

/// Takes a program's output while it is printed.
#[async_trait]
pub trait OutputSink: Send + Sync {
    /// A piece of output. Waiting here holds the program back.
    async fn output(&self, stream: OutputStream, text: &str);
}

/// What was recorded of sandboxes, of every tenant: with it servers are compared.
#[async_trait]
pub trait SandboxRecords: Send + Sync {
    /// The versions of connections on which a sandbox was asked for since then, each once.
    async fn connections_used(&self, since: Timestamp) -> Result<Vec<(Scope, VersionId)>, StoreError>;

    /// Those of these sandboxes that are recorded as gone. One that is not known here is another installation's.
    async fn gone_among(&self, ids: &[SandboxId]) -> Result<Vec<SandboxId>, StoreError>;
}

/// The Sandbox Manager as the domain sees it: keys, tokens, endpoints and vendor shapes stay behind it.
///
/// A call for a path that the server does not do, whatever words it has for it, is
/// [`SandboxError::PATH_NOT_ACCESSIBLE`].
#[async_trait]
pub trait SandboxRuntime: Send + Sync {
    /// Makes a sandbox and waits until it can run programs. A create whose answer was lost is looked up, not sent again.
    async fn create(&self, context: &CallContext, request: &SandboxRequest) -> Result<LiveSandbox, NotCreated>;

    /// Runs a program to its end. On cancellation it is interrupted, then killed, and what it printed is kept.
    async fn execute(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        program: &Program,
        timeout: Duration,
        output: &dyn OutputSink,
    ) -> Result<ProgramEnd, SandboxError>;

    /// Whether a sandbox that an earlier claim made is there and can be used.
    async fn is_usable(&self, context: &CallContext, sandbox: &LiveSandbox) -> Result<bool, SandboxError>;

    /// Starts a program in the background, where the server stops it after `limit`. It goes on when nobody follows it.
    async fn start(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        program: &Program,
        limit: Duration,
    ) -> Result<Start, SandboxError>;

    /// Follows a background command to its end, over cut connections, from the first byte of its output on. Standard output
    /// and error are one text, in the order of their bytes. Cancellation of the context stops the command; `let_go` ends
    /// the following and leaves the command as it is.
    async fn follow(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        command: &BackgroundCommand,
        let_go: &CancellationToken,
        output: &dyn OutputSink,
    ) -> Result<Followed, SandboxError>;

    /// Writes a file below `/workspace`; parents are made.
    async fn upload(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        bytes: Bytes,
    ) -> Result<(), SandboxError>;

    /// Reads at most `limit` bytes of a file below `/workspace`, from `offset` on; None when there is no such file.
    async fn download(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        offset: u64,
        limit: u64,
    ) -> Result<Option<Bytes>, SandboxError>;

    /// The files in `outputs/` that this claim has not got, or that have changed since. Links are never followed; number
    /// and sizes are bounded, and what does not fit is left out and counted. An entry that cannot be had keeps nobody
    /// from the others. A failure is one of the sandbox, and leaves all of it to the next collection.
    async fn collect(&self, context: &CallContext, sandbox: &LiveSandbox) -> Result<Collected, SandboxError>;

    /// What lies below `/workspace`, as [`Self::list_directory`] lists it; nothing when there is none.
    async fn list_workspace(&self, context: &CallContext, sandbox: &LiveSandbox) -> Result<Listing, SandboxError>;

    /// What lies below a directory of `/workspace` down to `depth` levels; an empty path is `/workspace` itself. Links are
    /// listed and not followed. Where the server cannot list all of it, as much as it can. None when there is no such
    /// directory.
    async fn list_directory(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        depth: u32,
    ) -> Result<Option<Listing>, SandboxError>;

    /// What is at a path below `/workspace`, a link not followed; None when there is nothing.
    async fn entry(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
    ) -> Result<Option<WorkspaceEntry>, SandboxError>;

    /// A whole file below `/workspace`; None when there is no such file, or more than `limit` bytes of it.
    async fn read_file(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        limit: u64,
    ) -> Result<Option<Bytes>, SandboxError>;

    /// Makes a directory below `/workspace`, or gives one that is there these permission bits.
    async fn restore_directory(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        directory: &KeptDirectory,
    ) -> Result<(), SandboxError>;

    /// Writes a file below `/workspace` with its permission bits.
    async fn restore_file(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        file: &KeptFile,
        bytes: Bytes,
    ) -> Result<(), SandboxError>;

    /// Writes a credential into a file that only programs of the sandbox can read: mode 0400, on a tmpfs, in a directory of
    /// the setting's tool call and outside of `/workspace`. Returns its path. `credential_tmpfs_missing` where there is no
    /// tmpfs. The secret is in no command line and no variable.
    async fn put_credential(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        name: &str,
        secret: &str,
    ) -> Result<String, SandboxError>;

    /// Removes these credentials of the setting's tool call. One that is not there is a success.
    async fn remove_credentials(&self, sandbox: &LiveSandbox, names: &[&str]) -> Result<(), SandboxError>;

    /// What programs tried to reach behind a place in the sandbox's list; nothing where the server does not tell.
    async fn egress_attempts(&self, sandbox: &LiveSandbox, after: u64) -> Result<EgressAttempts, SandboxError>;

    /// What a sandbox has and uses at this moment. Whoever looks need not have made it.
    async fn metrics(&self, target: &SandboxTarget, remote_id: &str) -> Result<SandboxMetrics, SandboxError>;

    /// The sandboxes of a server that carry one of our labels, whoever made them.
    async fn list(&self, target: &SandboxTarget) -> Result<Vec<SandboxId>, SandboxError>;

    /// Removes a sandbox and confirms that it is gone. One that is gone already is a success. Without a remote id it is
    /// looked up by its label.
    async fn terminate(
        &self,
        target: &SandboxTarget,
        id: SandboxId,
        remote_id: Option<&str>,
    ) -> Result<(), SandboxError>;
}

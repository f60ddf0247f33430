//! Takes secrets out of everything that comes back from a sandbox: the one way by which the domain reaches a runtime.
//!
//! Output is redacted while it is printed, texts and parts of files when they are read. A file that holds a secret is not
//! handed out as a whole: neither an artifact nor a checkpoint ever has one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::background::{BackgroundCommand, Followed, Start};
use super::egress::EgressAttempts;
use super::metrics::SandboxMetrics;
use super::model::{
    Collected, Exit, LiveSandbox, NotCreated, OutputStream, Program, ProgramEnd, SandboxError, SandboxRequest,
    SandboxTarget,
};
use super::ports::{OutputSink, SandboxRuntime};
use super::redact::{RedactedOutput, Redactor};
use super::setting::Secrets;
use super::workspace::{EntryKind, KeptDirectory, KeptFile, Listing, WorkspaceEntry};
use crate::execution::CallContext;
use crate::ids::SandboxId;

/// A runtime from which no secret comes back: there is no way around it to the one behind. Cheap to clone.
#[derive(Clone)]
pub struct RedactingRuntime(Arc<dyn SandboxRuntime>);

impl RedactingRuntime {
    /// Stands before a runtime.
    pub fn new(runtime: Arc<dyn SandboxRuntime>) -> Self {
        Self(Arc::new(Redacting(runtime)))
    }
}

impl std::ops::Deref for RedactingRuntime {
    type Target = dyn SandboxRuntime;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

struct Redacting(Arc<dyn SandboxRuntime>);

#[async_trait]
impl SandboxRuntime for Redacting {
    async fn create(&self, context: &CallContext, request: &SandboxRequest) -> Result<LiveSandbox, NotCreated> {
        self.0.create(context, request).await
    }

    async fn execute(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        program: &Program,
        timeout: Duration,
        output: &dyn OutputSink,
    ) -> Result<ProgramEnd, SandboxError> {
        let sink = RedactingSink::new(output, &sandbox.setting.secrets);
        let ended = self.0.execute(context, sandbox, program, timeout, &sink).await;
        sink.finish().await;
        let mut end = clean(sandbox, ended)?;
        let redactor = redactor(sandbox);
        if let Exit::NotStarted(why) = &mut end.exit {
            *why = redactor.text(why).into_owned();
        }
        // Bytes as they were are handed out as a whole or not at all.
        if let Some(raw) = &mut end.raw {
            for (stream, bytes) in [(OutputStream::Stdout, &mut raw.stdout), (OutputStream::Stderr, &mut raw.stderr)] {
                if redactor.is_in(bytes) {
                    bytes.clear();
                    end.raw_withheld.push(stream);
                }
            }
        }
        Ok(end)
    }

    async fn is_usable(&self, context: &CallContext, sandbox: &LiveSandbox) -> Result<bool, SandboxError> {
        clean(sandbox, self.0.is_usable(context, sandbox).await)
    }

    async fn start(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        program: &Program,
        limit: Duration,
    ) -> Result<Start, SandboxError> {
        match clean(sandbox, self.0.start(context, sandbox, program, limit).await)? {
            Start::NotStarted(why) => Ok(Start::NotStarted(redactor(sandbox).text(&why).into_owned())),
            started @ Start::Started(_) => Ok(started),
        }
    }

    async fn follow(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        command: &BackgroundCommand,
        let_go: &CancellationToken,
        output: &dyn OutputSink,
    ) -> Result<Followed, SandboxError> {
        let sink = RedactingSink::new(output, &sandbox.setting.secrets);
        let followed = self.0.follow(context, sandbox, command, let_go, &sink).await;
        // What is held back by a follower that lets go comes again with the next one.
        if !matches!(followed, Ok(Followed::LetGo)) {
            sink.finish().await;
        }
        clean(sandbox, followed)
    }

    async fn upload(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        bytes: Bytes,
    ) -> Result<(), SandboxError> {
        clean(sandbox, self.0.upload(context, sandbox, path, bytes).await)
    }

    async fn download(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        offset: u64,
        limit: u64,
    ) -> Result<Option<Bytes>, SandboxError> {
        let redactor = redactor(sandbox);
        // What lies across an edge of the part is seen only with what lies around it.
        let around = redactor.reach() as u64;
        let before = offset.min(around);
        let wanted = limit.saturating_add(before).saturating_add(around);
        let read = self.0.download(context, sandbox, path, offset - before, wanted).await;
        let Some(bytes) = clean(sandbox, read)? else { return Ok(None) };
        if redactor.is_empty() {
            return Ok(Some(bytes));
        }
        let start = usize::try_from(before).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(Some(redactor.part(&bytes, start..end).into()))
    }

    async fn collect(&self, context: &CallContext, sandbox: &LiveSandbox) -> Result<Collected, SandboxError> {
        let mut collected = clean(sandbox, self.0.collect(context, sandbox).await)?;
        let redactor = redactor(sandbox);
        let found = collected.files.len();
        collected.files.retain(|file| !redactor.is_in(file.name.as_bytes()) && !redactor.is_in(&file.bytes));
        collected.withheld += found - collected.files.len();
        for refused in &mut collected.refused {
            refused.name = redactor.text(&refused.name).into_owned();
        }
        Ok(collected)
    }

    async fn list_workspace(&self, context: &CallContext, sandbox: &LiveSandbox) -> Result<Listing, SandboxError> {
        let mut listing = clean(sandbox, self.0.list_workspace(context, sandbox).await)?;
        hide_names(sandbox, &mut listing);
        Ok(listing)
    }

    async fn list_directory(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        depth: u32,
    ) -> Result<Option<Listing>, SandboxError> {
        let mut listing = clean(sandbox, self.0.list_directory(context, sandbox, path, depth).await)?;
        if let Some(listing) = &mut listing {
            hide_names(sandbox, listing);
        }
        Ok(listing)
    }

    async fn entry(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
    ) -> Result<Option<WorkspaceEntry>, SandboxError> {
        clean(sandbox, self.0.entry(context, sandbox, path).await)
    }

    async fn read_file(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        limit: u64,
    ) -> Result<Option<Bytes>, SandboxError> {
        let read = clean(sandbox, self.0.read_file(context, sandbox, path, limit).await)?;
        match read {
            Some(bytes) if redactor(sandbox).is_in(&bytes) => Err(SandboxError {
                code: SandboxError::SECRET_IN_FILE,
                message: "the file holds a secret that was lent to a program; work with a copy without it".to_owned(),
                sandbox_lost: false,
            }),
            read => Ok(read),
        }
    }

    async fn restore_directory(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        directory: &KeptDirectory,
    ) -> Result<(), SandboxError> {
        clean(sandbox, self.0.restore_directory(context, sandbox, directory).await)
    }

    async fn restore_file(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        file: &KeptFile,
        bytes: Bytes,
    ) -> Result<(), SandboxError> {
        clean(sandbox, self.0.restore_file(context, sandbox, file, bytes).await)
    }

    async fn put_credential(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        name: &str,
        secret: &str,
    ) -> Result<String, SandboxError> {
        sandbox.setting.secrets.add(name, secret);
        clean(sandbox, self.0.put_credential(context, sandbox, name, secret).await)
    }

    async fn remove_credentials(&self, sandbox: &LiveSandbox, names: &[&str]) -> Result<(), SandboxError> {
        clean(sandbox, self.0.remove_credentials(sandbox, names).await)
    }

    async fn egress_attempts(&self, sandbox: &LiveSandbox, after: u64) -> Result<EgressAttempts, SandboxError> {
        let mut told = clean(sandbox, self.0.egress_attempts(sandbox, after).await)?;
        let redactor = redactor(sandbox);
        for attempt in &mut told.attempts {
            attempt.host = redactor.text(&attempt.host).into_owned();
        }
        Ok(told)
    }

    async fn metrics(&self, target: &SandboxTarget, remote_id: &str) -> Result<SandboxMetrics, SandboxError> {
        self.0.metrics(target, remote_id).await
    }

    async fn list(&self, target: &SandboxTarget) -> Result<Vec<SandboxId>, SandboxError> {
        self.0.list(target).await
    }

    async fn terminate(
        &self,
        target: &SandboxTarget,
        id: SandboxId,
        remote_id: Option<&str>,
    ) -> Result<(), SandboxError> {
        self.0.terminate(target, id, remote_id).await
    }
}

/// A name with a secret may not come back, and so neither may what lies under it.
fn hide_names(sandbox: &LiveSandbox, listing: &mut Listing) {
    let redactor = redactor(sandbox);
    for entry in listing.entries.iter_mut().filter(|entry| redactor.is_in(entry.path.as_bytes())) {
        entry.path = redactor.text(&entry.path).into_owned();
        entry.kind = EntryKind::Hidden;
    }
    for path in &mut listing.unlisted {
        *path = redactor.text(path).into_owned();
    }
}

fn redactor(sandbox: &LiveSandbox) -> Arc<Redactor> {
    sandbox.setting.secrets.redactor()
}

/// An error's text may quote what a program or a file said.
fn clean<T>(sandbox: &LiveSandbox, outcome: Result<T, SandboxError>) -> Result<T, SandboxError> {
    outcome.map_err(|error| SandboxError { message: redactor(sandbox).text(&error.message).into_owned(), ..error })
}

/// Output on its way back.
struct RedactingSink<'a> {
    to: &'a dyn OutputSink,
    secrets: &'a Secrets,
    output: Mutex<RedactedOutput>,
}

impl<'a> RedactingSink<'a> {
    fn new(to: &'a dyn OutputSink, secrets: &'a Secrets) -> Self {
        Self { to, secrets, output: Mutex::new(RedactedOutput::new(&secrets.redactor())) }
    }

    /// Gives out what was held back.
    async fn finish(self) {
        let rest = self.output.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
        for (stream, text) in rest {
            self.to.output(stream, &text).await;
        }
    }
}

#[async_trait]
impl OutputSink for RedactingSink<'_> {
    async fn output(&self, stream: OutputStream, text: &str) {
        let redactor = self.secrets.redactor();
        if redactor.is_empty() {
            return self.to.output(stream, text).await;
        }
        let pieces = {
            let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            // A call beside this one may have put a further secret into the sandbox.
            output.follow(&redactor);
            output.push(stream, text)
        };
        for (stream, text) in pieces {
            self.to.output(stream, &text).await;
        }
    }
}

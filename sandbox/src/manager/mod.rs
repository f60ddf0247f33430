//! The Sandbox Manager owns everything about sandboxes that the rest of Vitrine must not see: servers and their keys,
//! execd tokens, endpoints, and the server's own words.
//!
//! It implements the domain's [`SandboxRuntime`] over any OpenSandbox server; the local runtime is one of them, whose
//! address and key come from [`LocalTier`]. A create whose answer was lost is looked up by its label. It keeps no truth:
//! a manager that starts anew finds its sandboxes by their remote ids and labels.

mod clients;
mod collect;
mod credentials;
mod execute;
mod failure;
mod follow;
mod metrics;
mod network;
mod raw;
mod request;
mod survey;
mod workspace;

use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use domain::execution::CallContext;
use domain::ids::SandboxId;
use domain::resource::SandboxTier;
use domain::sandbox::{
    BackgroundCommand, Collected, EgressAttempts, Followed, KeptDirectory, KeptFile, Listing, LiveSandbox, NotCreated,
    OutputSink, Program, ProgramEnd, SandboxError, SandboxMetrics, SandboxRequest, SandboxRuntime, SandboxTarget,
    Start, WorkspaceEntry,
};
use tokio_util::sync::CancellationToken;

pub use clients::{LocalTier, SandboxManager};

use crate::opensandbox::{CreateSandbox, Error, LABEL_KEY, ListFilter, Sandbox, SandboxLabel};
use crate::runner::{Capture, Environment, run_dir};
use failure::{failure, not_created, unavailable};

/// How long a new sandbox may take until commands can run in it.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// A server that is started anew refuses connections for so long at most, and is asked again that often.
const AWAY_FOR: Duration = Duration::from_secs(15);
const LOOK_AGAIN: Duration = Duration::from_millis(500);

#[async_trait]
impl SandboxRuntime for SandboxManager {
    async fn create(&self, context: &CallContext, request: &SandboxRequest) -> Result<LiveSandbox, NotCreated> {
        let made = context.cancel.run_until_cancelled(Box::pin(self.make(context, request))).await;
        made.unwrap_or_else(|| {
            // What becomes of the request is seen by whoever looks for its label.
            self.forget(request.id);
            let error = unavailable("stopped before it was made".to_owned());
            Err(NotCreated { error, may_exist: true })
        })
    }

    async fn execute(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        program: &Program,
        timeout: Duration,
        output: &dyn OutputSink,
    ) -> Result<ProgramEnd, SandboxError> {
        let remote = self.attach(sandbox).await?;
        let facts = self.facts(sandbox.id, &remote, sandbox.setting.user.as_deref()).await?;
        let name = execute::run_name()?;
        let (capture, environment) = (self.capture(sandbox.id), self.environment(sandbox));
        let setting = execute::Setting { program, name, timeout, capture, environment };
        execute::execute(&remote, &facts, context, &setting, output).await
    }

    async fn is_usable(&self, context: &CallContext, sandbox: &LiveSandbox) -> Result<bool, SandboxError> {
        let remote = self.client(&sandbox.target).await?.attach(sandbox.remote_id.clone());
        follow::is_usable(&remote.map_err(|error| failure(&error))?, &label(sandbox.id)?, context).await
    }

    async fn start(
        &self,
        _context: &CallContext,
        sandbox: &LiveSandbox,
        program: &Program,
        limit: Duration,
    ) -> Result<Start, SandboxError> {
        let remote = self.attach(sandbox).await?;
        let facts = self.facts(sandbox.id, &remote, sandbox.setting.user.as_deref()).await?;
        // Whoever follows it to its end knows the call, and so the directory of the run.
        let name = sandbox.setting.call.map_or_else(execute::run_name, |call| Ok(call.to_string()))?;
        let (capture, environment) = (Capture::Nothing, self.environment(sandbox));
        let setting = execute::Setting { program, name, timeout: limit, capture, environment };
        let (prepared, request) = execute::ready(&remote, &facts, &setting).await?;
        let started = follow::start(&remote, &request).await?;
        if matches!(started, Start::NotStarted(_)) {
            raw::remove(&remote, &prepared.dir).await;
        }
        Ok(started)
    }

    async fn follow(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        command: &BackgroundCommand,
        let_go: &CancellationToken,
        output: &dyn OutputSink,
    ) -> Result<Followed, SandboxError> {
        let remote = self.attach(sandbox).await?;
        let followed = follow::follow(&remote, context, command, let_go, output).await?;
        if let (Followed::Ended(ProgramEnd { sandbox_lost: false, .. }), Some(call)) = (&followed, sandbox.setting.call)
        {
            raw::remove(&remote, &run_dir(&call.to_string())).await;
        }
        Ok(followed)
    }

    async fn upload(
        &self,
        _context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        bytes: Bytes,
    ) -> Result<(), SandboxError> {
        workspace::put(&self.attach(sandbox).await?, path, bytes).await
    }

    async fn download(
        &self,
        _context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        offset: u64,
        limit: u64,
    ) -> Result<Option<Bytes>, SandboxError> {
        workspace::part(&self.attach(sandbox).await?, path, offset, limit).await
    }

    async fn collect(&self, context: &CallContext, sandbox: &LiveSandbox) -> Result<Collected, SandboxError> {
        let remote = self.attach(sandbox).await?;
        let _alone = self.collect_alone(sandbox.id).await;
        collect::collect(self, sandbox.id, context.attempt, &remote).await
    }

    async fn list_workspace(&self, _context: &CallContext, sandbox: &LiveSandbox) -> Result<Listing, SandboxError> {
        workspace::list(&self.attach(sandbox).await?).await
    }

    async fn list_directory(
        &self,
        _context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        depth: u32,
    ) -> Result<Option<Listing>, SandboxError> {
        workspace::list_directory(&self.attach(sandbox).await?, path, depth).await
    }

    async fn entry(
        &self,
        _context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
    ) -> Result<Option<WorkspaceEntry>, SandboxError> {
        workspace::entry(&self.attach(sandbox).await?, path).await
    }

    async fn read_file(
        &self,
        _context: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        limit: u64,
    ) -> Result<Option<Bytes>, SandboxError> {
        workspace::read(&self.attach(sandbox).await?, path, limit).await
    }

    async fn restore_directory(
        &self,
        _context: &CallContext,
        sandbox: &LiveSandbox,
        directory: &KeptDirectory,
    ) -> Result<(), SandboxError> {
        workspace::make_directory(&self.attach(sandbox).await?, directory).await
    }

    async fn restore_file(
        &self,
        _context: &CallContext,
        sandbox: &LiveSandbox,
        file: &KeptFile,
        bytes: Bytes,
    ) -> Result<(), SandboxError> {
        workspace::write(&self.attach(sandbox).await?, file, bytes).await
    }

    async fn put_credential(
        &self,
        _context: &CallContext,
        sandbox: &LiveSandbox,
        name: &str,
        secret: &str,
    ) -> Result<String, SandboxError> {
        credentials::put(&self.attach(sandbox).await?, sandbox, name, secret).await
    }

    async fn remove_credentials(&self, sandbox: &LiveSandbox, names: &[&str]) -> Result<(), SandboxError> {
        credentials::remove(&self.attach(sandbox).await?, sandbox, names).await
    }

    async fn egress_attempts(&self, sandbox: &LiveSandbox, after: u64) -> Result<EgressAttempts, SandboxError> {
        let remote = self.attach(sandbox).await?;
        if self.proxy(sandbox.id).is_none() {
            return Ok(EgressAttempts { attempts: Vec::new(), next: after });
        }
        network::attempts(&remote, after).await
    }

    async fn metrics(&self, target: &SandboxTarget, remote_id: &str) -> Result<SandboxMetrics, SandboxError> {
        let remote = self.client(target).await?.attach(remote_id.to_owned()).map_err(|error| failure(&error))?;
        remote.metrics().await.map(metrics::told).map_err(|error| failure(&error))
    }

    async fn list(&self, target: &SandboxTarget) -> Result<Vec<SandboxId>, SandboxError> {
        let client = self.client(target).await?;
        let found = client.list_all(&ListFilter::default()).await.map_err(|error| failure(&error))?;
        Ok(found.iter().filter_map(|info| info.metadata.get(LABEL_KEY)?.parse().ok()).collect())
    }

    async fn terminate(
        &self,
        target: &SandboxTarget,
        id: SandboxId,
        remote_id: Option<&str>,
    ) -> Result<(), SandboxError> {
        self.forget(id);
        let client = self.client(target).await?;
        let remote_ids = match remote_id {
            Some(remote_id) => vec![remote_id.to_owned()],
            None => {
                let found = client.find_by_label(&label(id)?).await.map_err(|error| failure(&error))?;
                found.into_iter().map(|info| info.id).collect()
            }
        };
        for remote_id in remote_ids {
            client.destroy(&remote_id).await.map_err(|error| failure(&error))?;
        }
        Ok(())
    }
}

/// Asks again while the server only refuses connections: then nothing was asked for.
async fn when_there<T, A: Future<Output = Result<T, Error>>>(ask: impl Fn() -> A) -> Result<T, Error> {
    let until = Instant::now() + AWAY_FOR;
    loop {
        match ask().await {
            Err(Error::Unreachable(_)) if Instant::now() < until => tokio::time::sleep(LOOK_AGAIN).await,
            answer => return answer,
        }
    }
}

impl SandboxManager {
    async fn make(&self, context: &CallContext, request: &SandboxRequest) -> Result<LiveSandbox, NotCreated> {
        self.admit(context.principal.tenant_id, &request.target).map_err(NotCreated::nothing_made)?;
        let client = self.client(&request.target).await.map_err(NotCreated::nothing_made)?;
        let label = label(request.id).map_err(NotCreated::nothing_made)?;
        let create = request::create(request, label.clone()).map_err(NotCreated::nothing_made)?;
        let within = READY_WITHIN.min(context.time_left);
        // Nothing is asked for where the server is none that is known.
        let known = when_there(|| client.server_kind()).await;
        known.map_err(|error| NotCreated::nothing_made(failure(&error)))?;
        let sandbox = match when_there(|| client.create_ready(&create, within)).await {
            Ok(sandbox) => sandbox,
            Err(Error::OutcomeUnknown { .. }) => {
                let found = client.find_by_label(&label).await.map_err(|error| failure(&error))?;
                let found = found.into_iter().next().ok_or_else(request::lost)?;
                let sandbox = client.attach(found.id).map_err(|error| failure(&error))?;
                sandbox.wait_ready(within).await.map_err(|error| failure(&error))?;
                sandbox
            }
            Err(error) => return Err(not_created(&error)),
        };
        let info = sandbox.info().await.map_err(|error| failure(&error))?;
        let live = request::live(request, &info);
        self.remember(request.id, sandbox.clone(), &info);
        match self.check(request, &create, &sandbox).await {
            Ok(()) => Ok(live),
            Err(error) => {
                // Nobody will use it; what is not seen to be gone here is removed by the reaper.
                self.forget(request.id);
                sandbox.destroy().await.map_err(|error| failure(&error))?;
                Err(NotCreated::nothing_made(error))
            }
        }
    }

    /// Looks, before anything runs in it, whether a new sandbox is what was asked for.
    async fn check(
        &self,
        request: &SandboxRequest,
        create: &CreateSandbox,
        made: &Sandbox,
    ) -> Result<(), SandboxError> {
        if let (SandboxTier::Remote, Some(policy)) = (request.target.tier, &create.network_policy) {
            network::verify(made, policy).await?;
        }
        self.facts(request.id, made, request.profile.user.as_deref()).await.map(drop)
    }

    /// What the programs of a sandbox get beside the constructed environment.
    fn environment(&self, sandbox: &LiveSandbox) -> Environment {
        let mut environment = Environment::default();
        for (name, value) in network::environment(&sandbox.setting, self.proxy(sandbox.id).as_deref()) {
            environment.declare(&name, &value);
        }
        environment
    }
}

fn label(id: SandboxId) -> Result<SandboxLabel, SandboxError> {
    SandboxLabel::new(id.to_string()).map_err(|error| failure(&error))
}

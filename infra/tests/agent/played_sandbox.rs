//! A PlayedSandbox prints each command and counts it. `meet N` waits until N commands run side
//! by side, and `gate` until the test lets it end.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use domain::execution::CallContext;
use domain::ids::SandboxId;
use domain::sandbox::{
    BackgroundCommand, Collected, EgressAttempt, EgressAttempts, Exit, Followed, KeptDirectory, KeptFile, Listing,
    LiveSandbox, NotCreated, OutputSink, OutputStream, Program, ProgramEnd, SandboxError, SandboxMetrics,
    SandboxRequest, SandboxRuntime, SandboxTarget, Setting, Start, WorkspaceEntry,
};
use tokio::sync::{Barrier, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::played_background::PlayedBackground;
use crate::played_files::PlayedFiles;

pub struct PlayedSandbox {
    commands: Mutex<Vec<String>>,
    refusals: Mutex<Vec<NotCreated>>,
    live: Mutex<BTreeMap<String, PlayedFiles>>,
    reads: Mutex<Vec<String>>,
    meeting: Barrier,
    is_stuck: AtomicBool,
    is_away: AtomicBool,
    keeps_credentials: AtomicBool,
    gate: Semaphore,
    /// Commands that wait at the gate, and the most that ever did.
    waiting: Mutex<(usize, usize)>,
    pub background: PlayedBackground,
    /// Secret by path.
    credentials: Mutex<BTreeMap<String, String>>,
    settings: Mutex<Vec<Setting>>,
    attempts: Mutex<Vec<EgressAttempt>>,
    /// The first so many attempts are not kept.
    dropped: AtomicUsize,
    /// Programs that have ended.
    ended: AtomicUsize,
    /// Whether what is asked beside a program waits, how often it did, and what lets it go on.
    is_slow: AtomicBool,
    slowed: AtomicUsize,
    pace: Semaphore,
}

/// Attempts that are told at once.
const PAGE: usize = 500;

/// How many commands `meet` brings together.
pub const MEETING: usize = 3;

impl PlayedSandbox {
    pub fn new() -> Self {
        Self {
            commands: Mutex::default(),
            refusals: Mutex::default(),
            live: Mutex::default(),
            reads: Mutex::default(),
            meeting: Barrier::new(MEETING),
            is_stuck: AtomicBool::new(false),
            is_away: AtomicBool::new(false),
            keeps_credentials: AtomicBool::new(false),
            gate: Semaphore::new(0),
            waiting: Mutex::default(),
            background: PlayedBackground::default(),
            credentials: Mutex::default(),
            settings: Mutex::default(),
            attempts: Mutex::default(),
            dropped: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            is_slow: AtomicBool::new(false),
            slowed: AtomicUsize::new(0),
            pace: Semaphore::new(0),
        }
    }

    /// The commands that contain this word, in the order in which they began.
    pub fn commands(&self, word: &str) -> Vec<String> {
        self.commands.lock().unwrap().iter().filter(|command| command.contains(word)).cloned().collect()
    }

    /// The next removal fails.
    pub fn stick(&self) {
        self.is_stuck.store(true, Ordering::Release);
    }

    /// From here on the server answers nobody who wants to remove something.
    pub fn go_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Release);
    }

    /// The next removal of credentials fails.
    pub fn hold_credentials(&self) {
        self.keeps_credentials.store(true, Ordering::Release);
    }

    /// Makes one that somebody had asked for long ago.
    pub fn make_late(&self, id: SandboxId) {
        self.live.lock().unwrap().insert(id.to_string(), PlayedFiles::default());
    }

    /// Paths of the credentials that lie in sandboxes.
    pub fn credentials(&self) -> Vec<String> {
        self.credentials.lock().unwrap().keys().cloned().collect()
    }

    /// What each command got, in the order in which they began.
    pub fn settings(&self) -> Vec<Setting> {
        self.settings.lock().unwrap().clone()
    }

    /// A program tries to reach a host.
    pub fn attempt(&self, attempt: EgressAttempt) {
        self.attempts.lock().unwrap().push(attempt);
    }

    /// The attempts until now are not kept any longer.
    pub fn drop_attempts(&self) {
        self.dropped.store(self.attempts.lock().unwrap().len(), Ordering::Release);
    }

    /// What is asked beside a program is not answered until [`Self::speed_up`].
    pub fn slow_down(&self) {
        self.is_slow.store(true, Ordering::Release);
    }

    pub fn speed_up(&self) {
        self.is_slow.store(false, Ordering::Release);
        self.pace.add_permits(1000);
    }

    /// How many requests were not answered at once.
    pub fn slowed(&self) -> usize {
        self.slowed.load(Ordering::Acquire)
    }

    /// How many programs were seen to end.
    pub fn ended(&self) -> usize {
        self.ended.load(Ordering::Acquire)
    }

    async fn keep_pace(&self) {
        if self.is_slow.load(Ordering::Acquire) {
            self.slowed.fetch_add(1, Ordering::AcqRel);
            self.pace.acquire().await.unwrap().forget();
        }
    }

    /// Lets this many `gate` commands end.
    pub fn open(&self, count: usize) {
        self.gate.add_permits(count);
    }

    /// The most `gate` commands that ran side by side.
    pub fn most_at_once(&self) -> usize {
        self.waiting.lock().unwrap().1
    }

    /// Sandboxes that were made and not removed.
    pub fn live(&self) -> usize {
        self.live.lock().unwrap().len()
    }

    /// Every sandbox ends, as when its server does.
    pub fn end_all(&self) {
        self.live.lock().unwrap().clear();
    }

    /// The files that were read as a whole, in order.
    pub fn reads(&self) -> Vec<String> {
        self.reads.lock().unwrap().clone()
    }

    /// The next sandbox that is asked for is not made.
    pub fn refuse_the_next(&self, not_created: NotCreated) {
        self.refusals.lock().unwrap().push(not_created);
    }

    async fn play(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        program: &Program,
        output: &dyn OutputSink,
    ) -> Result<ProgramEnd, SandboxError> {
        let (Program::Shell(command) | Program::Python(command) | Program::JavaScript(command)) = program else {
            return Ok(ProgramEnd::of(Exit::NotStarted("there is no browser".to_owned())));
        };
        self.commands.lock().unwrap().push(command.clone());
        self.settings.lock().unwrap().push(sandbox.setting.clone());
        if command.starts_with("leak") {
            let secrets: Vec<String> = self.credentials.lock().unwrap().values().cloned().collect();
            for secret in secrets {
                let (first, second) = secret.split_at(secret.len() / 2);
                output.output(OutputStream::Stdout, first).await;
                output.output(OutputStream::Stdout, second).await;
                self.files(sandbox, |files| files.put("stolen", 0o644, Bytes::from(secret.clone())))?;
            }
            return Ok(ProgramEnd::of(Exit::Code(0)));
        }
        if command.starts_with("vanish") {
            self.live.lock().unwrap().remove(&sandbox.remote_id);
            return Err(lost());
        }
        if let Some(printed) = self.files(sandbox, |files| files.run(command))? {
            output.output(OutputStream::Stdout, &printed).await;
            return Ok(ProgramEnd::of(Exit::Code(0)));
        }
        if command.starts_with("linger") {
            self.live.lock().unwrap().remove(&sandbox.remote_id);
            return Ok(ProgramEnd { sandbox_lost: true, ..ProgramEnd::of(Exit::TimedOut) });
        }
        if command.starts_with("meet") {
            let met = tokio::time::timeout(Duration::from_secs(10), self.meeting.wait()).await;
            return met.map(|_| ProgramEnd::of(Exit::Code(0))).map_err(|_| SandboxError {
                code: "ALONE",
                message: "nobody came".to_owned(),
                sandbox_lost: false,
            });
        }
        if command.starts_with("stall") {
            context.cancel.cancelled().await;
            return Ok(ProgramEnd::of(Exit::Interrupted));
        }
        if command.starts_with("gate") {
            {
                let mut waiting = self.waiting.lock().unwrap();
                waiting.0 += 1;
                waiting.1 = waiting.1.max(waiting.0);
            }
            self.gate.acquire().await.unwrap().forget();
            self.waiting.lock().unwrap().0 -= 1;
            return Ok(ProgramEnd::of(Exit::Code(0)));
        }
        if command.starts_with("tick") {
            let count = self.commands("tick").len();
            output.output(OutputStream::Stdout, &format!("tick {count}")).await;
            return Ok(ProgramEnd::of(Exit::Code(0)));
        }
        for word in command.split_inclusive(' ') {
            output.output(OutputStream::Stdout, word).await;
        }
        Ok(ProgramEnd::of(Exit::Code(i32::from(command.starts_with("fail")))))
    }

    fn files<T>(&self, sandbox: &LiveSandbox, use_them: impl FnOnce(&mut PlayedFiles) -> T) -> Result<T, SandboxError> {
        let mut live = self.live.lock().unwrap();
        live.get_mut(&sandbox.remote_id).map(use_them).ok_or_else(lost)
    }
}

fn lost() -> SandboxError {
    SandboxError { code: "SANDBOX_LOST", message: "it is not there".to_owned(), sandbox_lost: true }
}

#[async_trait]
impl SandboxRuntime for PlayedSandbox {
    async fn create(&self, _: &CallContext, request: &SandboxRequest) -> Result<LiveSandbox, NotCreated> {
        if let Some(not_created) = self.refusals.lock().unwrap().pop() {
            return Err(not_created);
        }
        let remote_id = request.id.to_string();
        self.live.lock().unwrap().insert(remote_id.clone(), PlayedFiles::default());
        Ok(LiveSandbox {
            id: request.id,
            target: request.target.clone(),
            remote_id,
            enforced: vec!["memory".to_owned()],
            expires_at: None,
            setting: Setting::default(),
        })
    }

    async fn execute(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        program: &Program,
        _: Duration,
        output: &dyn OutputSink,
    ) -> Result<ProgramEnd, SandboxError> {
        let end = self.play(context, sandbox, program, output).await;
        self.ended.fetch_add(1, Ordering::AcqRel);
        end
    }

    async fn is_usable(&self, _: &CallContext, sandbox: &LiveSandbox) -> Result<bool, SandboxError> {
        Ok(self.files(sandbox, |_| ()).is_ok())
    }

    async fn start(
        &self,
        _: &CallContext,
        sandbox: &LiveSandbox,
        program: &Program,
        _: Duration,
    ) -> Result<Start, SandboxError> {
        let (Program::Shell(command) | Program::Python(command) | Program::JavaScript(command)) = program else {
            return Ok(Start::NotStarted("there is no browser".to_owned()));
        };
        self.commands.lock().unwrap().push(command.clone());
        let printed = self.files(sandbox, |files| files.run(command))?;
        Ok(Start::Started(self.background.start(printed.as_deref().unwrap_or(command))))
    }

    async fn follow(
        &self,
        context: &CallContext,
        sandbox: &LiveSandbox,
        command: &BackgroundCommand,
        let_go: &CancellationToken,
        output: &dyn OutputSink,
    ) -> Result<Followed, SandboxError> {
        self.files(sandbox, |_| ())?;
        Ok(self.background.follow(context, command, let_go, &self.gate, output).await)
    }

    async fn upload(
        &self,
        _: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        bytes: Bytes,
    ) -> Result<(), SandboxError> {
        self.files(sandbox, |files| files.put(path, 0o644, bytes))
    }

    async fn download(
        &self,
        _: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        offset: u64,
        limit: u64,
    ) -> Result<Option<Bytes>, SandboxError> {
        let whole = self.files(sandbox, |files| files.get(path))?;
        Ok(whole.map(|bytes| {
            let start = usize::try_from(offset).unwrap().min(bytes.len());
            let end = start.saturating_add(usize::try_from(limit).unwrap()).min(bytes.len());
            bytes.slice(start..end)
        }))
    }

    async fn collect(&self, _: &CallContext, _: &LiveSandbox) -> Result<Collected, SandboxError> {
        Ok(Collected::default())
    }

    async fn list_workspace(&self, _: &CallContext, sandbox: &LiveSandbox) -> Result<Listing, SandboxError> {
        let entries = self.files(sandbox, |files| files.list())?;
        Ok(Listing { entries, ..Listing::default() })
    }

    async fn list_directory(
        &self,
        _: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        depth: u32,
    ) -> Result<Option<Listing>, SandboxError> {
        let listed = self.files(sandbox, |files| files.list_below(path, depth))?;
        Ok(listed.map(|entries| Listing { entries, ..Listing::default() }))
    }

    async fn entry(
        &self,
        _: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
    ) -> Result<Option<WorkspaceEntry>, SandboxError> {
        self.files(sandbox, |files| files.list().into_iter().find(|entry| entry.path == path))
    }

    async fn read_file(
        &self,
        _: &CallContext,
        sandbox: &LiveSandbox,
        path: &str,
        _: u64,
    ) -> Result<Option<Bytes>, SandboxError> {
        self.reads.lock().unwrap().push(path.to_owned());
        self.files(sandbox, |files| files.get(path))
    }

    async fn restore_directory(
        &self,
        _: &CallContext,
        sandbox: &LiveSandbox,
        directory: &KeptDirectory,
    ) -> Result<(), SandboxError> {
        self.files(sandbox, |files| files.make_directory(&directory.path, directory.mode))
    }

    async fn restore_file(
        &self,
        _: &CallContext,
        sandbox: &LiveSandbox,
        file: &KeptFile,
        bytes: Bytes,
    ) -> Result<(), SandboxError> {
        self.files(sandbox, |files| files.put(&file.path, file.mode, bytes))
    }

    async fn put_credential(
        &self,
        _: &CallContext,
        sandbox: &LiveSandbox,
        name: &str,
        secret: &str,
    ) -> Result<String, SandboxError> {
        let path = format!("/dev/shm/{}/{name}", sandbox.setting.call.unwrap());
        self.credentials.lock().unwrap().insert(path.clone(), secret.to_owned());
        Ok(path)
    }

    async fn metrics(&self, _: &SandboxTarget, _: &str) -> Result<SandboxMetrics, SandboxError> {
        Err(SandboxError { code: "NOT_MEASURED", message: "nobody measures it".to_owned(), sandbox_lost: false })
    }

    async fn list(&self, _: &SandboxTarget) -> Result<Vec<SandboxId>, SandboxError> {
        Ok(self.live.lock().unwrap().keys().map(|id| id.parse().unwrap()).collect())
    }

    async fn remove_credentials(&self, sandbox: &LiveSandbox, names: &[&str]) -> Result<(), SandboxError> {
        self.keep_pace().await;
        if self.keeps_credentials.swap(false, Ordering::AcqRel) {
            let message = "it holds on".to_owned();
            return Err(SandboxError { code: "credential_not_removed", message, sandbox_lost: true });
        }
        for name in names {
            self.credentials.lock().unwrap().remove(&format!("/dev/shm/{}/{name}", sandbox.setting.call.unwrap()));
        }
        Ok(())
    }

    async fn egress_attempts(&self, _: &LiveSandbox, after: u64) -> Result<EgressAttempts, SandboxError> {
        self.keep_pace().await;
        let attempts = self.attempts.lock().unwrap();
        let start = usize::try_from(after).unwrap().max(self.dropped.load(Ordering::Acquire));
        let end = attempts.len().min(start + PAGE);
        let next = if start < end { end as u64 } else { after };
        Ok(EgressAttempts { attempts: attempts[start..end].to_vec(), next })
    }

    async fn terminate(&self, _: &SandboxTarget, id: SandboxId, _: Option<&str>) -> Result<(), SandboxError> {
        if self.is_stuck.swap(false, Ordering::AcqRel) {
            let message = "it holds on".to_owned();
            return Err(SandboxError { code: "STUCK", message, sandbox_lost: false });
        }
        if self.is_away.load(Ordering::Acquire) {
            let message = "nobody answers".to_owned();
            return Err(SandboxError { code: "SANDBOX_UNAVAILABLE", message, sandbox_lost: true });
        }
        self.live.lock().unwrap().remove(&id.to_string());
        Ok(())
    }
}

//! A Claim is one worker's hold on one execution: what the loop and every call in it share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::conversation::Conversation;
use super::halt::Halt;
use super::sandbox_session::SandboxSession;
use super::warnings;
use crate::access::{AccessError, Action, Authorizer, Target};
use crate::artifact::ArtifactStore;
use crate::budget::{AccountState, AccountSubjects, Budget, BudgetAccounts, Limit, Limits, Used};
use crate::clock::{Clock, Entropy, Timestamp};
use crate::ctx::{Principal, Scope};
use crate::event::{CommandWakeUps, Entry, Event, EventBus, Journal, JournalError, LogWriterHandle};
use crate::execution::{
    AgentIteration, CallContext, Change, Claimed, Execution, ExecutionReader, ExecutionStore, Fence, Progress,
    StopCause, StopCode, StopSignal, StopStep,
};
use crate::ids::{CommandId, ResourceId};
use crate::loop_guard::LoopGuard;
use crate::model_call::{ModelChoice, ModelRuntime};
use crate::resource::{AgentSpec, ModelSpec, ResourceStore, SecretStore};
use crate::sandbox::{RedactingRuntime, SandboxRecords, SandboxTarget};

/// No single external call takes longer.
const LONGEST_CALL: Duration = Duration::from_hours(1);

/// Everything outside that a run needs.
pub struct Ports {
    /// Writes executions.
    pub executions: Arc<dyn ExecutionStore>,
    /// Reads executions.
    pub reader: Arc<dyn ExecutionReader>,
    /// Pinned versions.
    pub resources: Arc<dyn ResourceStore>,
    /// Budget accounts.
    pub accounts: Arc<dyn BudgetAccounts>,
    /// Large texts and files.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Opens credentials for one use.
    pub secrets: Arc<dyn SecretStore>,
    /// Asked before every call.
    pub authorizer: Arc<Authorizer>,
    /// Models.
    pub models: Arc<dyn ModelRuntime>,
    /// Sandboxes, without the secrets that programs may print.
    pub sandboxes: RedactingRuntime,
    /// What was recorded of sandboxes.
    pub sandbox_records: Arc<dyn SandboxRecords>,
    /// Told after every commit.
    pub bus: Arc<dyn EventBus>,
    /// Wakes the heartbeat when a command arrives.
    pub commands: Arc<dyn CommandWakeUps>,
    /// The process's log writer.
    pub log_writer: LogWriterHandle,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// How long a claim holds without renewal.
    pub lease: Duration,
    /// Sandboxes that a tenant may have at one time.
    pub sandboxes_per_tenant: u32,
    /// How long a model call waits for others to settle what they hold of an account.
    pub account_wait: Duration,
}

/// What the pinned versions say; read once when the claim begins.
pub struct Pinned {
    /// Instructions, tools, limits.
    pub agent: AgentSpec,
    /// The models, in the order in which they are asked; the first is the agent's own.
    pub models: Vec<PinnedModel>,
    /// Where sandboxes are made.
    pub sandbox: Option<PinnedSandbox>,
}

/// A pinned model and its key.
pub struct PinnedModel {
    /// The resource, which a grant names.
    pub id: ResourceId,
    /// Where it is and what it costs.
    pub spec: ModelSpec,
    /// Its key, opened.
    pub key: Option<String>,
}

/// The pinned sandbox profile and its server.
pub struct PinnedSandbox {
    /// Image and limits.
    pub profile: crate::resource::SandboxProfileSpec,
    /// The server, with its key opened.
    pub target: SandboxTarget,
    /// The credential of the server's key.
    pub credential_id: Option<ResourceId>,
}

/// What moves while a claim is held. Changed and written only under the journal's lock.
pub(crate) struct Moving {
    pub progress: Progress,
    /// The effective limits; a top-up raises them.
    pub limits: Limits,
    /// The accounts that apply, as the last model call saw them. Empty when there was none.
    pub accounts: Vec<AccountState>,
    pub guard: LoopGuard,
    /// Whether the guard has seen what earlier claims did.
    pub has_replayed: bool,
    /// Commands of this claim that overrode the guard.
    pub overridden: Vec<CommandId>,
    /// Top-ups that this claim applied.
    pub topped_up: Vec<CommandId>,
    pub tool_errors: BTreeMap<String, u32>,
    /// The iteration that is open.
    pub open_iteration: Option<AgentIteration>,
    pub answer_so_far: String,
    /// The model that is asked next.
    pub choice: ModelChoice,
    /// What the loop is about to do, or does.
    pub step: StopStep,
    /// The sequence that the first event of the commit that is being made gets.
    pub next_sequence: u64,
}

/// An iteration that is opened by the commit that reserves its first model call, and that closes the one before.
#[derive(Debug, Clone)]
pub struct NextIteration {
    closed: Option<AgentIteration>,
    now: Timestamp,
}

impl NextIteration {
    /// Closes and opens, or closes and names the limit. Returns the new iteration's number.
    pub(crate) fn open(
        self,
        claim: &Claim,
        moving: &mut Moving,
        changes: &mut Vec<Change>,
        events: &mut Vec<Event>,
    ) -> Result<u32, Limit> {
        if let Some(closed) = self.closed {
            events.push(Event::IterationFinished { iteration: closed.number });
            changes.push(Change::SaveIteration(closed));
            moving.open_iteration = None;
        }
        let number = claim.budget_of(moving).open_iteration()?;
        moving.progress.used.iterations = number;
        moving.progress.iteration = number;
        let iteration = AgentIteration { number, agent_state_ref: None, started_at: self.now, ended_at: None };
        moving.open_iteration = Some(iteration.clone());
        events.push(Event::IterationStarted { iteration: number });
        changes.push(Change::SaveIteration(iteration));
        moving.step = StopStep::ModelCall;
        Ok(number)
    }
}

/// One worker's hold on one execution.
pub struct Claim {
    /// Everything outside.
    pub ports: Arc<Ports>,
    /// The execution as it was claimed; its progress moves on in `moving`.
    pub execution: Execution,
    /// Every write goes through it.
    pub journal: Arc<Journal>,
    /// Ends the run from outside.
    pub signal: Arc<StopSignal>,
    /// The sandbox, once a tool needed one.
    pub sandbox: SandboxSession,
    pub(crate) pinned: std::sync::OnceLock<Pinned>,
    pub(super) commands: Vec<crate::execution::Command>,
    moving: Mutex<Moving>,
    claimed_at: Duration,
    active_before_us: u64,
}

impl Claim {
    /// Takes hold of a claimed execution. Its attempt counts from here.
    pub fn new(ports: Arc<Ports>, claimed: Claimed, signal: Arc<StopSignal>) -> Self {
        let execution = claimed.execution;
        let fence =
            Fence { execution: execution.reference(), epoch: execution.epoch, next_sequence: execution.next_sequence };
        let journal = Journal::new(
            fence,
            Arc::clone(&ports.executions),
            Arc::clone(&ports.bus),
            Arc::clone(&ports.clock),
            ports.log_writer.clone(),
        );
        let claimed_at = ports.clock.monotonic();
        signal.allow_starts_until(claimed_at + ports.lease.mul_f32(0.8));
        let mut progress = execution.progress.clone();
        progress.attempt += 1;
        Self {
            journal,
            signal,
            sandbox: SandboxSession::default(),
            pinned: std::sync::OnceLock::new(),
            commands: claimed.commands,
            claimed_at,
            active_before_us: progress.used.active_time_us,
            moving: Mutex::new(Moving {
                progress,
                limits: execution.limits,
                accounts: Vec::new(),
                guard: LoopGuard::default(),
                has_replayed: false,
                overridden: Vec::new(),
                topped_up: Vec::new(),
                tool_errors: BTreeMap::new(),
                open_iteration: None,
                answer_so_far: String::new(),
                choice: ModelChoice::default(),
                step: StopStep::Iteration,
                next_sequence: execution.next_sequence,
            }),
            execution,
            ports,
        }
    }

    /// The tenant, as a finder takes it.
    pub fn scope(&self) -> Scope {
        Scope { tenant_id: self.execution.tenant_id }
    }

    /// What the pinned versions say.
    pub fn pinned(&self) -> Result<&Pinned, Halt> {
        self.pinned.get().ok_or_else(|| Halt::stop(StopCode::Internal, "The pinned versions were not read."))
    }

    /// The model that is asked next.
    pub(crate) fn model(&self) -> Result<&PinnedModel, Halt> {
        let index = self.moving().choice.index as usize;
        self.pinned()?.models.get(index).ok_or_else(|| Halt::stop(StopCode::Internal, "A pinned model is missing."))
    }

    pub(crate) fn moving(&self) -> MutexGuard<'_, Moving> {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what moves and writes it with rows and events, in one fenced transaction: the totals that are written are
    /// those after `change`, in the order of the commits. Returns the sequence of the first event.
    pub(crate) async fn record(
        &self,
        change: impl FnOnce(&mut Moving) -> (Vec<Change>, Vec<Event>) + Send,
    ) -> Result<u64, JournalError> {
        self.journal.commit(|first_sequence| self.entry(first_sequence, change)).await
    }

    /// As [`Self::record`], for a change that holds something on budget accounts or opens a sandbox. None when that was
    /// refused: then nothing is written, and what moves stands as before.
    pub(crate) async fn record_reservation(
        &self,
        change: impl FnOnce(&mut Moving) -> (Vec<Change>, Vec<Event>) + Send,
    ) -> Result<Option<u64>, JournalError> {
        let before = Mutex::new(None);
        let kept = |moving: &mut Moving| {
            let now = (moving.progress.clone(), moving.open_iteration.clone());
            *before.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
            change(moving)
        };
        let undo = || {
            if let Some((progress, open_iteration)) = before.lock().unwrap_or_else(PoisonError::into_inner).take() {
                let mut moving = self.moving();
                (moving.progress, moving.open_iteration) = (progress, open_iteration);
            }
        };
        self.journal.commit_or_undo(|first_sequence| self.entry(first_sequence, kept), undo).await
    }

    fn entry(&self, first_sequence: u64, change: impl FnOnce(&mut Moving) -> (Vec<Change>, Vec<Event>)) -> Entry {
        let mut moving = self.moving();
        moving.next_sequence = first_sequence;
        let spent_before = moving.progress.used;
        let (changes, mut events) = change(&mut moving);
        let before = moving.progress.used;
        moving.progress.used.active_time_us = self.active_time_us();
        let budget = Budget { limits: moving.limits, used: moving.progress.used };
        let is_end = events.iter().any(|event| matches!(event, Event::ExecutionFinished { .. }));
        if !is_end && (!events.is_empty() || before != moving.progress.used) {
            events.extend(self.own_warnings(&spent_before, &budget));
            events.push(Event::BudgetUpdated { budget });
        }
        Entry { progress: Some(moving.progress.clone()), changes, events }
    }

    /// The levels of the execution's own limits that this commit crosses.
    fn own_warnings(&self, before: &Used, budget: &Budget) -> Vec<Event> {
        let Some(pinned) = self.pinned.get() else { return Vec::new() };
        warnings::of_execution(&pinned.agent.warning_levels, before, budget)
    }

    /// What the next iteration begins with: the end of the one before.
    pub(super) fn next_iteration(&self, conversation: &Conversation) -> NextIteration {
        let now = self.ports.clock.now();
        let closed = self.moving().open_iteration.clone().map(|open| AgentIteration {
            agent_state_ref: Some(conversation.state_ref()),
            ended_at: Some(now),
            ..open
        });
        NextIteration { closed, now }
    }

    pub(crate) fn budget_of(&self, moving: &Moving) -> Budget {
        let mut used = moving.progress.used;
        used.active_time_us = self.active_time_us();
        Budget { limits: moving.limits, used }
    }

    /// The effective limits as they stand.
    pub(crate) fn limits(&self) -> Limits {
        self.moving().limits
    }

    /// Whose accounts apply.
    pub(crate) const fn account_subjects(&self) -> AccountSubjects {
        self.execution.account_subjects()
    }

    /// Leaves the loop when something outside wants it to.
    pub fn check_stop(&self) -> Result<(), Halt> {
        // The heartbeat looks at the time now and then; here nothing may start too late.
        if let Some(cause) = self.signal.cause().or_else(|| self.out_of_time()) {
            return Err(Halt::Signal(cause));
        }
        if self.signal.is_draining() {
            return Err(Halt::Drain);
        }
        if !self.signal.may_start(&*self.ports.clock) {
            return Err(Halt::Journal(JournalError::LeaseLost));
        }
        Ok(())
    }

    /// Whether this claim may stop or remove what the execution has outside. A stale write is refused, a stale request
    /// cannot be: so the store is asked who holds the execution, and an answer that took long is none.
    pub(crate) async fn may_act(&self) -> bool {
        let asked_at = self.ports.clock.monotonic();
        let fence = self.ports.executions.fence(self.execution.reference()).await;
        let is_newest = matches!(fence, Ok(Some(fence)) if fence.epoch == self.journal.epoch());
        is_newest && self.ports.clock.monotonic().saturating_sub(asked_at) < self.ports.lease / 2
    }

    /// Asks whether the service identity may use a resource, at this moment.
    pub(crate) async fn authorize_use(&self, resource: ResourceId) -> Result<(), AccessError> {
        let target = Target {
            tenant_id: self.execution.tenant_id,
            project_id: self.execution.project_id,
            resource_id: Some(resource),
        };
        self.ports.authorizer.authorize(&self.principal(), Action::Use, &target).await
    }

    /// The service identity.
    pub fn principal(&self) -> Principal {
        Principal {
            id: self.execution.service_identity,
            tenant_id: self.execution.tenant_id,
            project_id: Some(self.execution.project_id),
        }
    }

    /// What the next external call carries.
    pub fn call_context(&self) -> CallContext {
        let attempt = self.moving().progress.attempt;
        CallContext {
            principal: self.principal(),
            execution: self.execution.reference(),
            attempt,
            time_left: self.time_left().unwrap_or(LONGEST_CALL).min(LONGEST_CALL),
            cancel: self.signal.token().clone(),
        }
    }

    /// Time until the deadline or the end of the active time, whichever comes first; None without either.
    pub fn time_left(&self) -> Option<Duration> {
        let to_deadline = self.execution.deadline_at.map(|deadline| deadline.since(self.ports.clock.now()));
        let to_active_end = self
            .limits()
            .max_active_time_ms
            .map(|most| Duration::from_millis(most).saturating_sub(Duration::from_micros(self.active_time_us())));
        match (to_deadline, to_active_end) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Whether the time is over, and which one.
    pub(crate) fn out_of_time(&self) -> Option<StopCause> {
        if self.execution.deadline_at.is_some_and(|deadline| deadline <= self.ports.clock.now()) {
            return Some(StopCause::Deadline);
        }
        let is_active_time_over = self.budget_of(&self.moving()).check_active_time().is_err();
        is_active_time_over.then_some(StopCause::ActiveTime)
    }

    fn active_time_us(&self) -> u64 {
        let here = self.ports.clock.monotonic().saturating_sub(self.claimed_at);
        self.active_before_us.saturating_add(u64::try_from(here.as_micros()).unwrap_or(u64::MAX))
    }
}

//! What an execution is, and what a commit may change about it.

use serde::{Deserialize, Serialize};

use super::pins::Pins;

use crate::artifact::Artifact;
use crate::audit::{AuditAction, AuditRecord};
use crate::budget::{AccountReservation, AccountSubjects, Amount, Budget, LimitSources, Limits, Used, Warned};
use crate::clock::Timestamp;
use crate::ctx::Scope;
use crate::event::Segment;
use crate::ids::{AccountId, CommandId, ExecutionId, ModelCallId, PrincipalId, ProjectId, ResourceId, TenantId};
use crate::model_call::ModelCall;
use crate::sandbox::{CommandPlace, IssuedCredential, Sandbox, WorkspaceCheckpoint};
use crate::tool_call::ToolCall;

/// Names an execution together with its tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExecutionRef {
    /// The tenant.
    pub tenant_id: TenantId,
    /// The execution.
    pub id: ExecutionId,
}

impl ExecutionRef {
    /// The tenant, as a finder takes it.
    pub const fn scope(&self) -> Scope {
        Scope { tenant_id: self.tenant_id }
    }
}

/// Where an execution stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ExecutionStatus {
    /// Waits for a worker.
    Queued,
    /// A worker runs it, or it waits for the next worker after one was lost.
    Running,
    /// Waits for a person.
    Waiting,
    /// Was told to stop; calls under way are being ended.
    Cancelling,
    /// Ended with an item: a final answer, or the error item of a limit that asks for one.
    Succeeded,
    /// Ended by a failure.
    Failed,
    /// Ended by a limit or the loop guard.
    Stopped,
    /// Ended by a person.
    Cancelled,
}

impl ExecutionStatus {
    /// Whether it has ended.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Stopped | Self::Cancelled => true,
            Self::Queued | Self::Running | Self::Waiting | Self::Cancelling => false,
        }
    }
}

/// The one cause for which an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names say it; docs/errors.md explains each to users")]
pub enum StopCode {
    FinalAnswer,
    Cancelled,
    DeadlineExceeded,
    IterationLimit,
    ModelCallLimit,
    ToolCallLimit,
    TokenLimit,
    CostLimit,
    ActiveTimeLimit,
    ToolErrorLimit,
    LoopDetected,
    ModelFailed,
    ModelOutputTruncated,
    ContentFiltered,
    SandboxUnavailable,
    AccessDenied,
    ToolOutcomeUnknown,
    PriceUnknown,
    Internal,
}

impl StopCode {
    /// The terminal state that this cause leads to, unless a limit's outcome is an error item.
    pub const fn status(self) -> ExecutionStatus {
        match self {
            Self::FinalAnswer => ExecutionStatus::Succeeded,
            Self::Cancelled => ExecutionStatus::Cancelled,
            Self::DeadlineExceeded
            | Self::IterationLimit
            | Self::ModelCallLimit
            | Self::ToolCallLimit
            | Self::TokenLimit
            | Self::CostLimit
            | Self::ActiveTimeLimit
            | Self::ToolErrorLimit
            | Self::LoopDetected => ExecutionStatus::Stopped,
            Self::ModelFailed
            | Self::ModelOutputTruncated
            | Self::ContentFiltered
            | Self::SandboxUnavailable
            | Self::AccessDenied
            | Self::ToolOutcomeUnknown
            | Self::PriceUnknown
            | Self::Internal => ExecutionStatus::Failed,
        }
    }
}

/// Why an execution ended, for machines and for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StopReason {
    /// The cause.
    pub code: StopCode,
    /// A sentence: what happened, at which step, what to do.
    pub message: String,
    /// The limit that was hit, as a person wrote it.
    pub limit: Option<String>,
    /// The iteration at which it ended.
    pub iteration: Option<u32>,
    /// What was about to happen, or was under way; only where a limit ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StopStep>,
}

/// A step of the loop that a limit can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StopStep {
    /// The next iteration was to begin.
    Iteration,
    /// A model call.
    ModelCall,
    /// The tool calls of a reply.
    ToolCalls,
}

/// An Execution, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// Its id.
    pub id: ExecutionId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its project.
    pub project_id: ProjectId,
    /// The agent.
    pub agent_id: ResourceId,
    /// The principal that it runs as.
    pub service_identity: PrincipalId,
    /// Who started it.
    pub started_by: PrincipalId,
    /// The versions that it uses.
    pub pins: Pins,
    /// What the agent is to do.
    pub task: String,
    /// The effective limits.
    pub limits: Limits,
    /// Who set them.
    pub limit_sources: LimitSources,
    /// When it must have ended.
    pub deadline_at: Option<Timestamp>,
    /// Whether a written conversation answers in place of a model.
    pub is_scripted: bool,
    /// When it was started.
    pub created_at: Timestamp,
    /// State and totals.
    pub progress: Progress,
    /// The lease's number; 0 before the first claim.
    pub epoch: u64,
    /// The sequence that the next event gets.
    pub next_sequence: u64,
}

impl Execution {
    /// Its name.
    pub const fn reference(&self) -> ExecutionRef {
        ExecutionRef { tenant_id: self.tenant_id, id: self.id }
    }

    /// Whose accounts apply to it.
    pub const fn account_subjects(&self) -> AccountSubjects {
        AccountSubjects { tenant_id: self.tenant_id, project_id: self.project_id, agent_id: self.agent_id }
    }

    /// Limits and what is used of them.
    pub const fn budget(&self) -> Budget {
        Budget { limits: self.limits, used: self.progress.used }
    }
}

/// The part of an execution that its lease holder moves on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Where it stands.
    pub status: ExecutionStatus,
    /// What it used.
    pub used: Used,
    /// The iteration that is open or was the last.
    pub iteration: u32,
    /// The NodeAttempt's number.
    pub attempt: u32,
    /// Why it ended.
    pub stop_reason: Option<StopReason>,
    /// The final answer, or what there was of one.
    pub answer: Option<String>,
    /// When a worker first claimed it.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Whether the commit gives the lease back.
    pub releases_lease: bool,
}

impl Progress {
    /// Before the first claim.
    pub fn queued() -> Self {
        Self {
            status: ExecutionStatus::Queued,
            used: Used::default(),
            iteration: 0,
            attempt: 0,
            stop_reason: None,
            answer: None,
            started_at: None,
            ended_at: None,
            releases_lease: false,
        }
    }
}

/// An execution that is about to be started.
#[derive(Debug, Clone)]
pub struct NewExecution {
    /// The row.
    pub execution: Execution,
    /// Its input files.
    pub inputs: Vec<Artifact>,
    /// The first event.
    pub segment: Segment,
    /// The caller's key.
    pub idempotency_key: String,
    /// Hexadecimal SHA-256 of what the caller asked for.
    pub request_hash: String,
    /// Until when the key is remembered.
    pub key_expires_at: Timestamp,
}

/// What became of a start.
#[derive(Debug, Clone, PartialEq)]
pub enum StartOutcome {
    /// It is queued.
    Started,
    /// The same key came with the same request before: this is its execution.
    Replayed(ExecutionId),
    /// The same key came with another request before.
    KeyReused,
}

/// The compare-and-set that every write of a lease holder carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The execution.
    pub execution: ExecutionRef,
    /// The lease's number.
    pub epoch: u64,
    /// The sequence that the next event gets.
    pub next_sequence: u64,
}

/// One fenced transaction: totals, rows and events together.
#[derive(Debug, Clone)]
pub struct Commit {
    /// Must match the stored one, else nothing is written.
    pub fence: Fence,
    /// New totals and state.
    pub progress: Option<Progress>,
    /// Rows.
    pub changes: Vec<Change>,
    /// Events; their first sequence is the fence's.
    pub segment: Option<Segment>,
}

/// A row that a commit writes. A `Save…` inserts the row or replaces the one with its id.
#[derive(Debug, Clone)]
pub enum Change {
    /// An iteration.
    SaveIteration(AgentIteration),
    /// A model call.
    SaveModelCall(Box<ModelCall>),
    /// A tool call.
    SaveToolCall(Box<ToolCall>),
    /// The background command of a tool call, and how far its output is told. Nothing else of the call changes but the
    /// sandbox that it uses.
    SaveCommand(Box<CommandPlace>),
    /// A sandbox.
    SaveSandbox(Box<Sandbox>),
    /// A new sandbox, unless the tenant has as many as it may: then the whole commit is refused with `QuotaReached`.
    OpenSandbox {
        /// The sandbox, as an intent.
        sandbox: Box<Sandbox>,
        /// Sandboxes that the tenant may have at one time, over all executions, until each was seen to be gone.
        quota: u32,
    },
    /// That a credential was put into a sandbox, or taken out of it.
    SaveIssuedCredential(Box<IssuedCredential>),
    /// What is kept of the workspace in this iteration.
    SaveWorkspace {
        /// The iteration's number.
        iteration: u32,
        /// The newest manifest.
        checkpoint: WorkspaceCheckpoint,
    },
    /// A file.
    AddArtifact(Artifact),
    /// The end of the attempts with older epochs, and the begin of this one.
    StartAttempt {
        /// Its number.
        number: u32,
        /// When it started.
        started_at: Timestamp,
    },
    /// A command is done with.
    ApplyCommand(CommandId),
    /// Holds the worst case of a model call on every account that applies, or refuses the whole commit with
    /// `AccountRefused`: when an account has no room, when its period is over, or when other accounts apply than these.
    ReserveAccounts(AccountReservation),
    /// Ends what a model call holds, in the periods in which it was taken, and spends what it used. One that holds
    /// nothing changes nothing.
    SettleAccounts {
        /// The call.
        call: ModelCallId,
        /// What it used.
        used: Amount,
    },
    /// The execution was warned that an account is used up to these levels.
    NoteWarned {
        /// The account.
        account: AccountId,
        /// The begin of its period.
        starts_at: Timestamp,
        /// The levels.
        warned: Warned,
    },
    /// The execution's own limits were raised.
    SaveLimits(Limits, LimitSources),
    /// Where the loop guard was when a person overrode it.
    AddLoopOverride {
        /// The command that did.
        command: CommandId,
        /// From where on what.
        at: LoopOverride,
    },
}

/// One iteration: a model request, its reply, the tool calls that it asked for and their results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentIteration {
    /// 1, 2, 3, ...
    pub number: u32,
    /// SHA-256 of the AgentState after it: of the conversation, each message as a line of JSON. None while it is open.
    pub agent_state_ref: Option<String>,
    /// When it was opened.
    pub started_at: Timestamp,
    /// When it was closed.
    pub ended_at: Option<Timestamp>,
}

/// An iteration with its calls, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationRecord {
    /// The iteration.
    pub iteration: AgentIteration,
    /// Its model calls, oldest first.
    pub model_calls: Vec<ModelCall>,
    /// Its tool calls, by ordinal, then by time.
    pub tool_calls: Vec<ToolCall>,
    /// What was kept of the workspace in it; None when nothing in it changed the workspace.
    pub workspace: Option<WorkspaceCheckpoint>,
}

/// A claim: the execution as it was found, under the new epoch.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The execution; `epoch` is the new one.
    pub execution: Execution,
    /// Commands that wait.
    pub commands: Vec<Command>,
}

/// What a renewal found.
#[derive(Debug, Clone, Default)]
pub struct Renewal {
    /// Commands that wait.
    pub commands: Vec<Command>,
}

/// An override of the loop guard, in its place among the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopOverride {
    /// How many tool calls the guard had judged.
    pub after_calls: u32,
    /// How many further findings are let pass.
    pub pardons: u32,
}

/// What somebody wants of a running execution.
///
/// Its name is a column of the inbox; what it carries is stored beside it, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CommandKind {
    /// Stop it.
    Cancel,
    /// Forget what the loop guard has seen so far, and go on.
    #[serde(rename_all = "camelCase")]
    OverrideLoop {
        /// Why, in the words of whoever wants it.
        reason: String,
        /// How many further findings of the loop guard are let pass.
        pardons: u32,
    },
    /// Raise its own limits of money and tokens.
    #[serde(rename_all = "camelCase")]
    TopUp {
        /// Why, in the words of whoever wants it.
        reason: String,
        /// By how much; what is not limited stays so.
        amount: Amount,
    },
}

/// A command in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its id.
    pub id: CommandId,
    /// What is wanted.
    pub kind: CommandKind,
    /// Who wants it.
    pub by: PrincipalId,
    /// When it was written.
    pub created_at: Timestamp,
}

impl Command {
    /// What the audit log keeps of it, in the same transaction; None where the event log says enough.
    pub fn audit_record(&self, execution: ExecutionRef) -> Option<AuditRecord> {
        match &self.kind {
            CommandKind::Cancel => None,
            CommandKind::OverrideLoop { reason, pardons } => Some(AuditRecord {
                at: self.created_at,
                by: self.by,
                action: AuditAction::ExecutionOverrideLoop,
                target: execution.id.to_string(),
                reason: reason.clone(),
                detail: [
                    ("commandId".to_owned(), self.id.to_string().into()),
                    ("pardons".to_owned(), (*pardons).into()),
                ]
                .into_iter()
                .collect(),
            }),
            CommandKind::TopUp { reason, amount } => Some(AuditRecord {
                at: self.created_at,
                by: self.by,
                action: AuditAction::BudgetTopUp,
                target: execution.id.to_string(),
                reason: reason.clone(),
                detail: amount.audit_detail().chain([("commandId".to_owned(), self.id.to_string().into())]).collect(),
            }),
        }
    }
}

/// Which executions a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    /// Of this project.
    pub project_id: Option<ProjectId>,
    /// Of this agent.
    pub agent_id: Option<ResourceId>,
    /// In one of these states; empty for all.
    pub status: Vec<ExecutionStatus>,
}

//! Sample values: ids that count up, and rows with every column set.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::access::{AccessStore, IdentityStore, Project, Tenant};
use crate::artifact::{Artifact, ArtifactKind, StoredText, sha256_hex};
use crate::audit::AuditLog;
use crate::budget::{BudgetAccounts, LimitSources, Limits, Used};
use crate::clock::{Clock, Timestamp};
use crate::cost::CostReader;
use crate::ctx::{Principal, Scope};
use crate::event::{Event, EventLog, Segment, encode_segment};
use crate::execution::{
    AgentIteration, CallContext, Change, Commit, Execution, ExecutionReader, ExecutionRef, ExecutionStatus,
    ExecutionStore, Fence, ModelPin, NewExecution, Pins, Progress, StopCode, StopReason, StopStep,
};
use crate::ids::{
    AccountId, ApiKeyId, ArtifactId, CommandId, ExecutionId, ModelCallId, PriceVersionId, PrincipalId, ProjectId,
    ResourceId, SandboxId, TenantId, ToolCallId, VersionId,
};
use crate::model_call::{CallState, FinishReason, ModelCall, RequestedToolCall, SentMessages};
use crate::money::{NanoUsd, Price, TokenUsage};
use crate::price_table::PriceStore;
use crate::resource::{ResourceStore, SandboxNetwork, SandboxProfileSpec, SandboxRoute, SandboxTier, SecureRuntime};
use crate::sandbox::{
    IssuedCredential, LiveSandbox, Sandbox, SandboxState, SandboxTarget, Setting, WorkspaceCheckpoint,
};
use crate::tool_call::{SideEffect, ToolCall, ToolCallState};

/// 2026-01-01T23:59:59.999900Z: rounding to milliseconds would move it into the next day.
pub const LAST_MOMENT_OF_A_DAY: Timestamp = Timestamp::from_micros(1_767_311_999_999_900);

/// The stores under test; all see the same data.
#[derive(Clone)]
#[expect(missing_docs, reason = "each is the port of its name")]
pub struct Ports {
    pub executions: Arc<dyn ExecutionStore>,
    pub reader: Arc<dyn ExecutionReader>,
    pub log: Arc<dyn EventLog>,
    pub resources: Arc<dyn ResourceStore>,
    pub access: Arc<dyn AccessStore>,
    pub identity: Arc<dyn IdentityStore>,
    pub accounts: Arc<dyn BudgetAccounts>,
    pub prices: Arc<dyn PriceStore>,
    pub costs: Arc<dyn CostReader>,
    pub audit: Arc<dyn AuditLog>,
    pub clock: Arc<dyn Clock>,
}

/// A tenant with one project and its owner, stored.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Home {
    pub tenant: Tenant,
    pub project: Project,
    pub owner: PrincipalId,
}

impl Home {
    /// The tenant, as a finder takes it.
    pub fn scope(&self) -> Scope {
        Scope { tenant_id: self.tenant.id }
    }

    /// The owner, as one who asks.
    pub fn principal(&self) -> Principal {
        Principal { id: self.owner, tenant_id: self.tenant.id, project_id: None }
    }
}

/// Makes sample values. Two makers with different seeds never make the same id.
#[derive(Debug)]
pub struct Samples {
    seed: u64,
    count: AtomicU64,
}

macro_rules! fresh {
    ($($name:ident: $id:ident),* $(,)?) => {$(
        /// A fresh id.
        pub fn $name(&self) -> $id {
            $id::from_bits(self.bits())
        }
    )*};
}

impl Samples {
    /// A maker with this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, count: AtomicU64::new(1) }
    }

    fn bits(&self) -> u128 {
        (u128::from(self.seed) << 64) | u128::from(self.count.fetch_add(1, Ordering::Relaxed))
    }

    fresh! {
        tenant_id: TenantId, project_id: ProjectId, principal_id: PrincipalId, resource_id: ResourceId,
        version_id: VersionId, price_version_id: PriceVersionId, execution_id: ExecutionId,
        model_call_id: ModelCallId, tool_call_id: ToolCallId, sandbox_id: SandboxId, artifact_id: ArtifactId,
        command_id: CommandId, api_key_id: ApiKeyId, account_id: AccountId,
    }

    /// Stores a tenant with a project and an owner.
    pub async fn home(&self, ports: &Ports) -> Home {
        let tenant = Tenant { id: self.tenant_id(), name: "Ünïted Glass".to_owned() };
        let project = Project {
            id: self.project_id(),
            tenant_id: tenant.id,
            slug: "main".to_owned(),
            name: "Main".to_owned(),
            created_at: LAST_MOMENT_OF_A_DAY,
        };
        let owner = self.principal_id();
        ports.identity.create_tenant(&tenant, &project, owner, "Ada").await.unwrap();
        Home { tenant, project, owner }
    }

    /// An execution that is about to be started, with every optional column set and a key of its own.
    pub fn new_execution(&self, home: &Home, created_at: Timestamp) -> NewExecution {
        let id = self.execution_id();
        let execution = Execution {
            id,
            tenant_id: home.tenant.id,
            project_id: home.project.id,
            agent_id: self.resource_id(),
            service_identity: self.principal_id(),
            started_by: home.owner,
            pins: Pins {
                agent: self.version_id(),
                model: self.version_id(),
                model_credential: Some(self.version_id()),
                fallbacks: vec![
                    ModelPin { model: self.version_id(), credential: Some(self.version_id()), price: None },
                    ModelPin { model: self.version_id(), credential: None, price: None },
                ],
                profile: Some(self.version_id()),
                connection: Some(self.version_id()),
                connection_credential: None,
                price: None,
            },
            task: "Count the crates. 数える \u{1F980}".to_owned(),
            limits: Limits { max_iterations: Some(9), max_cost: Some(NanoUsd(50_000_000)), ..Limits::default() },
            limit_sources: LimitSources::default(),
            deadline_at: Some(created_at.plus(std::time::Duration::from_secs(60))),
            is_scripted: true,
            created_at,
            progress: Progress::queued(),
            epoch: 0,
            next_sequence: 2,
        };
        let queued = Event::ExecutionQueued { task: execution.task.clone() };
        NewExecution {
            inputs: vec![self.artifact(id, created_at)],
            segment: encode_segment(1, vec![(created_at, queued)]).unwrap(),
            idempotency_key: format!("key of {id}"),
            request_hash: sha256_hex(id.to_string().as_bytes()),
            key_expires_at: created_at.plus(std::time::Duration::from_secs(86_400)),
            execution,
        }
    }

    /// Starts an execution.
    pub async fn start(&self, ports: &Ports, home: &Home, created_at: Timestamp) -> ExecutionRef {
        let new = self.new_execution(home, created_at);
        ports.executions.start(&new).await.unwrap();
        new.execution.reference()
    }

    /// An input file.
    pub fn artifact(&self, execution_id: ExecutionId, created_at: Timestamp) -> Artifact {
        Artifact {
            id: self.artifact_id(),
            execution_id,
            kind: ArtifactKind::Input,
            name: "Cargo.lock — copie.txt".to_owned(),
            media_type: "text/plain; charset=utf-8".to_owned(),
            byte_size: 5_000_000_000,
            sha256: sha256_hex(b"lock"),
            tool_call_id: Some(self.tool_call_id()),
            created_at,
        }
    }

    /// A model call with every column set.
    pub fn model_call(&self, iteration: u32, epoch: u64, started_at: Timestamp) -> ModelCall {
        ModelCall {
            id: self.model_call_id(),
            iteration,
            epoch,
            state: CallState::Settled,
            provider: "openai".to_owned(),
            deployment: "gpt-9 \u{1F600}".to_owned(),
            alias: "Nine".to_owned(),
            fallback_index: 2,
            fallback_because: Some(("MODEL_RATE_LIMITED".to_owned(), "too much".to_owned())),
            tries: 3,
            parameters: json!({"temperature": 0.25, "stop": ["\u{0}", "ß"]}).as_object().cloned().unwrap(),
            price_version: Some(self.price_version_id()),
            price: Some(Price {
                input_per_million: NanoUsd(250_000_000),
                cached_input_per_million: NanoUsd(25_000_000),
                output_per_million: NanoUsd(2_000_000_000),
                reasoning_per_million: Some(NanoUsd(2_500_000_000)),
            }),
            reserved_tokens: 12_345,
            reserved: NanoUsd(i64::MAX),
            usage: TokenUsage { input: 1000, cached_input: 800, output: 500, reasoning: 400 },
            cost: NanoUsd(1_070_000),
            estimated: true,
            finish_reason: Some(FinishReason::ToolCalls),
            error: Some(("MODEL_TIMEOUT".to_owned(), "took too long".to_owned())),
            request: SentMessages {
                from: 3,
                messages: StoredText::Blob { sha256: sha256_hex(b"request"), byte_size: 70_000 },
            },
            reply_text: StoredText::Inline("répondu\0\u{1F980}".to_owned()),
            reply_tool_calls: vec![RequestedToolCall {
                id: self.tool_call_id(),
                name: "run_python".to_owned(),
                arguments: "{\"code\": no JSON".to_owned(),
            }],
            reply_partial: true,
            started_sequence: 3,
            started_at,
            ended_at: Some(started_at.plus(std::time::Duration::from_micros(1))),
            first_delta_ms: Some(u32::MAX),
        }
    }

    /// A tool call with every column set.
    pub fn tool_call(&self, iteration: u32, ordinal: u32, epoch: u64, started_at: Timestamp) -> ToolCall {
        ToolCall {
            id: self.tool_call_id(),
            iteration,
            ordinal,
            epoch,
            tool: "t".repeat(300),
            tool_version: "1".to_owned(),
            state: ToolCallState::Interrupted,
            side_effect: SideEffect::SandboxOnly,
            idempotency_key: "k/ü".to_owned(),
            fingerprint: sha256_hex(b"fingerprint"),
            arguments: StoredText::Inline("{}".to_owned()),
            result: StoredText::Inline("\u{1b}[31mred\u{1b}[0m".to_owned()),
            exit_code: Some(-1),
            error: Some(("INTERRUPTED".to_owned(), "it may have run in part".to_owned())),
            truncated: true,
            lossy: true,
            sandbox_id: Some(self.sandbox_id()),
            command: None,
            started_at,
            ended_at: Some(started_at),
        }
    }

    /// A sandbox with every column set.
    pub fn sandbox(&self, epoch: u64, created_at: Timestamp) -> Sandbox {
        Sandbox {
            id: self.sandbox_id(),
            epoch,
            profile_version: self.version_id(),
            connection_version: self.version_id(),
            tier: SandboxTier::Remote,
            image: "vitrine/code".to_owned(),
            network: SandboxNetwork::Hosts,
            network_hosts: vec!["api.example.com".to_owned(), "*.example.org".to_owned()],
            credentials: vec!["TOKEN".to_owned()],
            memory_bytes: 1 << 33,
            disk_bytes: 1 << 34,
            pids: 64,
            state: SandboxState::Live,
            remote_id: Some("abc-1".to_owned()),
            enforced: vec!["memory".to_owned(), "pids".to_owned()],
            created_at,
            expires_at: Some(created_at.plus(std::time::Duration::from_secs(600))),
        }
    }

    /// A credential that lies in a sandbox.
    pub fn issued_credential(&self, call: ToolCallId, sandbox: SandboxId, issued_at: Timestamp) -> IssuedCredential {
        IssuedCredential {
            call,
            name: "TOKEN".to_owned(),
            sandbox,
            credential: self.resource_id(),
            version: self.version_id(),
            issued_at,
            expires_at: issued_at.plus(std::time::Duration::from_secs(300)),
            revoked: None,
        }
    }

    /// An iteration that is closed.
    pub fn iteration(&self, number: u32, started_at: Timestamp) -> AgentIteration {
        AgentIteration {
            number,
            agent_state_ref: Some(sha256_hex(b"state")),
            started_at,
            ended_at: Some(started_at.plus(std::time::Duration::from_micros(7))),
        }
    }

    /// A checkpoint that leaves something out.
    pub fn workspace(&self) -> WorkspaceCheckpoint {
        WorkspaceCheckpoint { manifest: Some(sha256_hex(b"manifest")), left_out: 2, is_stale: true }
    }

    /// Progress of an execution that ended, with every column set.
    pub fn ended(&self, at: Timestamp) -> Progress {
        Progress {
            status: ExecutionStatus::Stopped,
            used: Used {
                iterations: 2,
                model_calls: 3,
                tool_calls: 4,
                tokens: u64::from(u32::MAX) * 8,
                reserved_tokens: 5,
                spent: NanoUsd(6),
                reserved: NanoUsd(7),
                active_time_us: 8,
            },
            iteration: 2,
            attempt: 1,
            stop_reason: Some(StopReason {
                code: StopCode::CostLimit,
                message: "The next call could cost more than is left.".to_owned(),
                limit: Some("$0.05".to_owned()),
                iteration: Some(2),
                step: Some(StopStep::ModelCall),
            }),
            answer: Some("Ça va: 12 × 3".to_owned()),
            started_at: Some(at),
            ended_at: Some(at.plus(std::time::Duration::from_secs(1))),
            releases_lease: false,
        }
    }

    /// A segment of `count` warnings.
    pub fn segment(&self, first: u64, count: u64, text: &str) -> Segment {
        let warning = |index| Event::WarningRaised { code: format!("W{index}"), message: text.to_owned() };
        encode_segment(first, (0..count).map(|index| (LAST_MOMENT_OF_A_DAY, warning(index))).collect()).unwrap()
    }

    /// A commit at this fence with a segment of `count` events.
    pub fn commit(&self, fence: Fence, count: u64, changes: Vec<Change>) -> Commit {
        let segment = (count > 0).then(|| self.segment(fence.next_sequence, count, "text"));
        Commit { fence, progress: None, changes, segment }
    }
}

/// A profile with room for a program, and nothing beside that.
pub fn plain_profile(connection_id: ResourceId) -> SandboxProfileSpec {
    SandboxProfileSpec {
        connection_id,
        image: "vitrine/code".to_owned(),
        cpu_millis: 1000,
        memory_bytes: 1 << 28,
        disk_bytes: 1 << 26,
        pids: 64,
        ttl_seconds: 600,
        idle_ttl_seconds: None,
        network: SandboxNetwork::None,
        network_hosts: Vec::new(),
        user: None,
        environment: BTreeMap::new(),
        credentials: Vec::new(),
        command_timeout_ms: 60_000,
    }
}

/// A server of which nothing is known but its address.
pub fn plain_target(tier: SandboxTier, base_url: &str) -> SandboxTarget {
    SandboxTarget {
        tier,
        base_url: base_url.to_owned(),
        api_key: None,
        allow_plaintext: false,
        endpoint_hosts: Vec::new(),
        endpoint_ports: Vec::new(),
        endpoint_paths: Vec::new(),
        route: SandboxRoute::Direct,
        secure_access: false,
        secure_runtime: SecureRuntime::Runc,
        egress: None,
    }
}

/// A sandbox with an id of its server, and nothing set for it.
pub fn plain_live(target: SandboxTarget) -> LiveSandbox {
    LiveSandbox {
        id: SandboxId::from_bits(7),
        target,
        remote_id: "sb1".to_owned(),
        enforced: Vec::new(),
        expires_at: None,
        setting: Setting::default(),
    }
}

/// The first claim of an execution, with ten minutes left.
pub fn plain_context() -> CallContext {
    let tenant_id = TenantId::from_bits(1);
    CallContext {
        principal: Principal { id: PrincipalId::from_bits(1), tenant_id, project_id: None },
        execution: ExecutionRef { tenant_id, id: ExecutionId::from_bits(1) },
        attempt: 1,
        time_left: Duration::from_secs(600),
        cancel: CancellationToken::new(),
    }
}

/// Progress of an execution that runs.
pub fn running() -> Progress {
    Progress { status: ExecutionStatus::Running, ..Progress::queued() }
}

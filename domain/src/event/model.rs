//! The events there are, and how they are encoded.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::budget::{Budget, BudgetSource, Limit};
use crate::clock::Timestamp;
use crate::execution::{ErrorItem, ExecutionStatus, StopReason};
use crate::ids::{AccountId, ArtifactId, ModelCallId, PrincipalId, ResourceId, SandboxId, ToolCallId};
use crate::loop_guard::LoopKind;
use crate::model_call::{CallState, FinishReason};
use crate::money::{NanoUsd, TokenUsage};
use crate::resource::{LoopAction, SandboxNetwork, SandboxTier};
use crate::sandbox::{EgressVerdict, OutputStream, RevokedBecause};
use crate::tool_call::{SideEffect, ToolCallState};

/// Code and message of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventError {
    /// Stable code.
    pub code: String,
    /// For people.
    pub message: String,
}

/// Something that happened in an execution. Variants and members are a public contract: add, never change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
#[expect(
    missing_docs,
    reason = "members are documented where they come from; the GraphQL schema documents them for clients"
)]
pub enum Event {
    ExecutionQueued {
        task: String,
    },
    NodeAttemptStarted {
        attempt: u32,
        supersedes_from: Option<u64>,
    },
    IterationStarted {
        iteration: u32,
    },
    ModelCallStarted {
        iteration: u32,
        model_call_id: ModelCallId,
        alias: String,
        deployment: String,
        reserved_cost: NanoUsd,
        reserved_tokens: u64,
        #[serde(default)]
        fallback_index: u32,
        #[serde(default)]
        fallback_because: Option<EventError>,
    },
    ModelCallRetried {
        iteration: u32,
        model_call_id: ModelCallId,
        try_number: u32,
        error: EventError,
        wait_ms: u32,
    },
    ModelCallDelta {
        model_call_id: ModelCallId,
        text: String,
    },
    ModelCallFinished {
        iteration: u32,
        model_call_id: ModelCallId,
        state: CallState,
        finish_reason: Option<FinishReason>,
        usage: TokenUsage,
        cost: NanoUsd,
        estimated: bool,
        duration_ms: u32,
        error: Option<EventError>,
    },
    ToolCallStarted {
        iteration: u32,
        ordinal: u32,
        tool_call_id: ToolCallId,
        tool: String,
        arguments: String,
        side_effect: SideEffect,
        fingerprint: String,
        timeout_ms: Option<u32>,
    },
    SandboxStarted {
        sandbox_id: SandboxId,
        tier: SandboxTier,
        image: String,
        enforced: Vec<String>,
        expires_at_micros: Option<Timestamp>,
        #[serde(default)]
        network: Option<SandboxNetwork>,
        #[serde(default)]
        network_hosts: Vec<String>,
    },
    SandboxOutput {
        tool_call_id: ToolCallId,
        stream: OutputStream,
        text: String,
    },
    SandboxEgress {
        tool_call_id: ToolCallId,
        host: String,
        port: Option<u16>,
        verdict: EgressVerdict,
        reason: Option<String>,
    },
    CredentialIssued {
        tool_call_id: ToolCallId,
        sandbox_id: SandboxId,
        credential_id: ResourceId,
        name: String,
        expires_at_micros: Timestamp,
    },
    CredentialRevoked {
        tool_call_id: ToolCallId,
        sandbox_id: SandboxId,
        credential_id: ResourceId,
        name: String,
        because: RevokedBecause,
    },
    OutputTruncated {
        tool_call_id: ToolCallId,
        omitted_bytes: u64,
        artifact_id: Option<ArtifactId>,
    },
    RawOutputKept {
        tool_call_id: ToolCallId,
        stream: OutputStream,
        artifact_id: ArtifactId,
        byte_size: u64,
    },
    ToolCallFinished {
        iteration: u32,
        ordinal: u32,
        tool_call_id: ToolCallId,
        tool: String,
        state: ToolCallState,
        result: String,
        exit_code: Option<i32>,
        error: Option<EventError>,
        duration_ms: u32,
        truncated: bool,
        lossy: bool,
    },
    ArtifactCreated {
        artifact_id: ArtifactId,
        name: String,
        media_type: String,
        byte_size: u64,
        sha256: String,
    },
    IterationFinished {
        iteration: u32,
    },
    BudgetUpdated {
        budget: Budget,
    },
    BudgetWarning {
        source: BudgetSource,
        account_id: Option<AccountId>,
        limit: Limit,
        level: u8,
        used: u64,
        cap: u64,
    },
    BudgetToppedUp {
        by: PrincipalId,
        cost: NanoUsd,
        tokens: u64,
        reason: String,
    },
    WarningRaised {
        code: String,
        message: String,
    },
    LoopDetected {
        iteration: u32,
        ordinal: u32,
        tool_call_id: ToolCallId,
        loop_kind: LoopKind,
        period: u32,
        count: u32,
        tools: Vec<String>,
        iterations: Vec<u32>,
        action: LoopAction,
        pardoned: bool,
        message: String,
    },
    CancelRequested {
        by: PrincipalId,
    },
    LoopOverridden {
        by: PrincipalId,
        reason: String,
        pardons: u32,
    },
    ExecutionFinished {
        status: ExecutionStatus,
        stop_reason: StopReason,
        answer: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_item: Option<ErrorItem>,
        budget: Budget,
    },
}

/// An event with its place in the log; this is what is encoded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventRecord {
    /// Its place: 1, 2, 3, ...
    pub sequence: u64,
    /// When it happened.
    pub at_micros: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl EventRecord {
    /// Whether the log ends with this event.
    pub const fn is_terminal(&self) -> bool {
        matches!(self.event, Event::ExecutionFinished { .. })
    }
}

/// Consecutive events, encoded once: JSON objects, one a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Sequence of its first event.
    pub first_sequence: u64,
    /// Sequence of its last event.
    pub last_sequence: u64,
    /// The lines; no line end behind the last one.
    pub bytes: Bytes,
}

impl Segment {
    /// The events with a greater sequence than `after`: sequence and stored bytes of each.
    pub fn lines_after(&self, after: u64) -> impl Iterator<Item = (u64, Bytes)> + '_ {
        let skipped = after.saturating_add(1).saturating_sub(self.first_sequence);
        self.bytes
            .split(|byte| *byte == b'\n')
            .zip(self.first_sequence..)
            .skip(usize::try_from(skipped).unwrap_or(usize::MAX))
            .map(|(line, sequence)| (sequence, self.bytes.slice_ref(line)))
    }
}

/// Encodes events as a segment that starts at `first_sequence`; None when there are none.
pub fn encode_segment(first_sequence: u64, events: Vec<(Timestamp, Event)>) -> Option<Segment> {
    let last_sequence = first_sequence + (events.len() as u64).checked_sub(1)?;
    let mut bytes = Vec::with_capacity(events.len() * 160);
    for ((at_micros, event), sequence) in events.into_iter().zip(first_sequence..) {
        if !bytes.is_empty() {
            bytes.push(b'\n');
        }
        // Serialising these plain types cannot fail; an empty object would still keep the log's numbering.
        if serde_json::to_writer(&mut bytes, &EventRecord { sequence, at_micros, event }).is_err() {
            bytes.extend_from_slice(b"{}");
        }
    }
    Some(Segment { first_sequence, last_sequence, bytes: bytes.into() })
}

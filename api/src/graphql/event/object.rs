//! The events there are, as the API shows them. Types and members are a public contract: add, never change.

use async_graphql::{ID, Interface, SimpleObject};
use domain::event::{Cursor, Event, EventRecord};
use domain::ids::ExecutionId;

use crate::graphql::agent::LoopAction;
use crate::graphql::budget::{BudgetLimit, BudgetSource};
use crate::graphql::execution::{
    CallError, CallState, CredentialRevokedBecause, EgressVerdict, ErrorItem, ExecutionBudget, ExecutionStatus,
    FinishReason, LoopKind, OutputStream, SideEffect, StopReason, ToolCallState,
};
use crate::graphql::money::{Money, TokenUsage};
use crate::graphql::sandbox_connection::SandboxTier;
use crate::graphql::sandbox_profile::SandboxNetwork;
use crate::graphql::scalar::{BigInt, DateTime, Json, int};

/// One type for each event. In braces: each member with its type, made from the stored members in parentheses.
macro_rules! events {
    ($($(#[$doc:meta])* $name:ident($($stored:ident),*) {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $value:expr,)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(SimpleObject)]
            pub struct $name {
                /// Its place in the log: 1, 2, 3, ... without holes.
                #[graphql(owned)]
                pub sequence: BigInt,
                /// Opaque; executionEvents(after:) goes on behind this event.
                #[graphql(owned)]
                pub cursor: String,
                /// When it happened.
                #[graphql(owned)]
                pub at: DateTime,
                /// Whose log it is in.
                #[graphql(owned)]
                pub execution_id: ID,
                /// The name of its type.
                #[graphql(owned)]
                pub kind: String,
                /// The stored JSON, byte for byte.
                #[graphql(owned)]
                pub payload: Json,
                $($(#[$field_doc])* $field: $type,)*
            }
        )*

        /// One entry of an execution's log. Clients must handle types they do not know.
        #[derive(Interface)]
        #[graphql(
            field(name = "sequence", ty = "BigInt", desc = "Its place in the log: 1, 2, 3, ... without holes."),
            field(name = "cursor", ty = "String", desc = "Opaque; executionEvents(after:) goes on behind this event."),
            field(name = "at", ty = "DateTime", desc = "When it happened."),
            field(name = "execution_id", ty = "ID", desc = "Whose log it is in."),
            field(name = "kind", ty = "String", desc = "The name of its type."),
            field(name = "payload", ty = "Json", desc = "The stored JSON, byte for byte.")
        )]
        pub enum ExecutionEvent {
            $($(#[$doc])* $name($name),)*
        }

        impl ExecutionEvent {
            /// A stored event as its type; `payload` is the text that it was read from.
            pub fn new(execution: ExecutionId, record: EventRecord, payload: String) -> Self {
                let EventRecord { sequence, at_micros, event } = record;
                let head = (Cursor { execution_id: execution, sequence }.to_string(), execution.to_string().into());
                let (cursor, execution_id) = head;
                let (sequence, at, payload) = (sequence.into(), at_micros.into(), Json::raw(payload));
                match event {
                    $(Event::$name { $($stored),* } => Self::$name($name {
                        sequence,
                        cursor,
                        at,
                        execution_id,
                        kind: stringify!($name).to_owned(),
                        payload,
                        $($field: $value,)*
                    }),)*
                }
            }
        }
    };
}

events! {
    /// The execution was started by its caller and waits for a worker.
    ExecutionQueued(task) {
        /// What the agent is to do.
        task: String = task,
    }

    /// A worker took the execution, for the first time or after another one was lost.
    NodeAttemptStarted(attempt, supersedes_from) {
        /// Number of the try.
        attempt: i32 = int(attempt),
        /// Events from this sequence on up to this one belong to an unfinished part that is done again: drop them when
        /// folding.
        supersedes_from: Option<BigInt> = supersedes_from.map(BigInt::from),
    }

    /// An iteration was opened.
    IterationStarted(iteration) {
        /// Its number.
        iteration: i32 = int(iteration),
    }

    /// A model call was reserved and is about to be sent.
    ModelCallStarted(
        iteration, model_call_id, alias, deployment, reserved_cost, reserved_tokens, fallback_index, fallback_because
    ) {
        /// The iteration that makes it.
        iteration: i32 = int(iteration),
        /// The call.
        model_call_id: ID = model_call_id.to_string().into(),
        /// The model's short name.
        alias: String = alias,
        /// The provider's name of the model.
        deployment: String = deployment,
        /// What it may cost at most.
        reserved_cost: Money = reserved_cost.into(),
        /// Tokens that it may use at most.
        reserved_tokens: BigInt = reserved_tokens.into(),
        /// Its model's place in the list that the execution pins: 0 is the agent's own model.
        fallback_index: i32 = int(fallback_index),
        /// Why the model before it in the list gave way; null for the agent's own model.
        fallback_because: Option<CallError> = fallback_because.map(CallError::from),
    }

    /// A try of a model call failed at no cost; the request is sent again after a pause.
    ModelCallRetried(iteration, model_call_id, try_number, error, wait_ms) {
        /// The iteration that makes it.
        iteration: i32 = int(iteration),
        /// The call.
        model_call_id: ID = model_call_id.to_string().into(),
        /// Which try failed: 1, 2, 3, ...
        try_number: i32 = int(try_number),
        /// Why it failed.
        error: Option<CallError> = Some(error.into()),
        /// Milliseconds of the pause.
        wait_ms: i32 = int(wait_ms),
    }

    /// A piece of a model's reply.
    ModelCallDelta(model_call_id, text) {
        /// The call.
        model_call_id: ID = model_call_id.to_string().into(),
        /// The piece.
        text: String = text,
    }

    /// A model call ended and is paid.
    ModelCallFinished(iteration, model_call_id, state, finish_reason, usage, cost, estimated, duration_ms, error) {
        /// The iteration that made it.
        iteration: i32 = int(iteration),
        /// The call.
        model_call_id: ID = model_call_id.to_string().into(),
        /// How it ended.
        state: CallState = state.into(),
        /// Why the model stopped.
        finish_reason: Option<FinishReason> = finish_reason.map(FinishReason::from),
        /// Tokens used.
        usage: TokenUsage = usage.into(),
        /// What it cost.
        cost: Money = cost.into(),
        /// True when usage was estimated.
        estimated: bool = estimated,
        /// Milliseconds from start to end.
        duration_ms: i32 = int(duration_ms),
        /// Why it failed.
        error: Option<CallError> = error.map(CallError::from),
    }

    /// A tool call is about to run.
    ToolCallStarted(iteration, ordinal, tool_call_id, tool, arguments, side_effect, fingerprint, timeout_ms) {
        /// The iteration whose reply asked for it.
        iteration: i32 = int(iteration),
        /// Its place among the calls of that reply, from 0.
        ordinal: i32 = int(ordinal),
        /// The call.
        tool_call_id: ID = tool_call_id.to_string().into(),
        /// Tool name, as the model wrote it.
        tool: String = tool,
        /// The arguments; null when they are not JSON (see rawArguments).
        arguments: Option<Json> = Json::parse_text(arguments.clone()),
        /// The arguments as text, exactly as the model wrote them.
        raw_arguments: String = arguments,
        /// What repeating it would do.
        side_effect: SideEffect = side_effect.into(),
        /// Hexadecimal SHA-256 over name and canonical arguments.
        fingerprint: String = fingerprint,
        /// Time limit of the call.
        timeout_ms: Option<i32> = timeout_ms.map(int),
    }

    /// A sandbox runs.
    SandboxStarted(sandbox_id, tier, image, enforced, expires_at_micros, network, network_hosts) {
        /// The sandbox.
        sandbox_id: ID = sandbox_id.to_string().into(),
        /// Local or remote.
        tier: SandboxTier = tier.into(),
        /// Image name.
        image: String = image,
        /// What is enforced, as the server proved it.
        enforced: Vec<String> = enforced,
        /// When the server removes it by itself.
        expires_at: Option<DateTime> = expires_at_micros.map(DateTime),
        /// What it may reach; null in logs of older servers.
        network: Option<SandboxNetwork> = network.map(Into::into),
        /// The hosts of the network HOSTS.
        network_hosts: Vec<String> = network_hosts,
    }

    /// A piece of what a program printed.
    SandboxOutput(tool_call_id, stream, text) {
        /// The tool call that runs the program.
        tool_call_id: ID = tool_call_id.to_string().into(),
        /// Which stream.
        stream: OutputStream = stream.into(),
        /// The piece.
        text: String = text,
    }

    /// A program tried to reach a host.
    SandboxEgress(tool_call_id, host, port, verdict, reason) {
        /// The tool call whose program tried.
        tool_call_id: ID = tool_call_id.to_string().into(),
        /// The host as the program named it.
        host: String = host,
        /// The port; null when it could not be read.
        port: Option<i32> = port.map(i32::from),
        /// What became of it.
        verdict: EgressVerdict = verdict.into(),
        /// Why it was refused: not_listed, private_address, sni_mismatch, not_resolved, unreachable or malformed. Clients
        /// must handle values they do not know.
        reason: Option<String> = reason,
    }

    /// A credential was put into a sandbox for a tool call.
    CredentialIssued(tool_call_id, sandbox_id, credential_id, name, expires_at_micros) {
        /// The tool call whose program may use it.
        tool_call_id: ID = tool_call_id.to_string().into(),
        /// The sandbox.
        sandbox_id: ID = sandbox_id.to_string().into(),
        /// The credential.
        credential_id: ID = credential_id.to_string().into(),
        /// Name of its file.
        name: String = name,
        /// When the file is removed at the latest.
        expires_at: DateTime = expires_at_micros.into(),
    }

    /// A credential was taken out of a sandbox.
    CredentialRevoked(tool_call_id, sandbox_id, credential_id, name, because) {
        /// The tool call whose program might use it.
        tool_call_id: ID = tool_call_id.to_string().into(),
        /// The sandbox.
        sandbox_id: ID = sandbox_id.to_string().into(),
        /// The credential.
        credential_id: ID = credential_id.to_string().into(),
        /// Name of its file.
        name: String = name,
        /// Why.
        because: CredentialRevokedBecause = because.into(),
    }

    /// Output was left out of the log.
    OutputTruncated(tool_call_id, omitted_bytes, artifact_id) {
        /// The tool call that printed it.
        tool_call_id: ID = tool_call_id.to_string().into(),
        /// How much was left out.
        omitted_bytes: BigInt = omitted_bytes.into(),
        /// The file that holds it, when it was kept.
        artifact_id: Option<ID> = artifact_id.map(|id| id.to_string().into()),
    }

    /// What a program printed on one stream is no text; its bytes were kept as a file.
    RawOutputKept(tool_call_id, stream, artifact_id, byte_size) {
        /// The tool call that printed it.
        tool_call_id: ID = tool_call_id.to_string().into(),
        /// Which stream.
        stream: OutputStream = stream.into(),
        /// The file with the bytes.
        artifact_id: ID = artifact_id.to_string().into(),
        /// How many there are.
        byte_size: BigInt = byte_size.into(),
    }

    /// A tool call ended.
    ToolCallFinished(
        iteration, ordinal, tool_call_id, tool, state, result, exit_code, error, duration_ms, truncated, lossy
    ) {
        /// The iteration whose reply asked for it.
        iteration: i32 = int(iteration),
        /// Its place among the calls of that reply, from 0.
        ordinal: i32 = int(ordinal),
        /// The call.
        tool_call_id: ID = tool_call_id.to_string().into(),
        /// Tool name, as the model wrote it.
        tool: String = tool,
        /// How it ended.
        state: ToolCallState = state.into(),
        /// What the model got to read.
        result: String = result,
        /// Exit code of a program.
        exit_code: Option<i32> = exit_code,
        /// Why it failed.
        error: Option<CallError> = error.map(CallError::from),
        /// Milliseconds from start to end.
        duration_ms: i32 = int(duration_ms),
        /// Whether output was left out of the result.
        truncated: bool = truncated,
        /// Whether output held bytes that are no UTF-8.
        lossy: bool = lossy,
    }

    /// A file was left.
    ArtifactCreated(artifact_id, name, media_type, byte_size, sha256) {
        /// The file.
        artifact_id: ID = artifact_id.to_string().into(),
        /// Path below the outputs.
        name: String = name,
        /// Media type, guessed from the name.
        media_type: String = media_type,
        /// Size in bytes.
        byte_size: BigInt = byte_size.into(),
        /// Hexadecimal SHA-256 of the bytes.
        sha256: String = sha256,
    }

    /// An iteration was closed.
    IterationFinished(iteration) {
        /// Its number.
        iteration: i32 = int(iteration),
    }

    /// Totals changed.
    BudgetUpdated(budget) {
        /// Limits and what is used of them.
        budget: ExecutionBudget = budget.into(),
    }

    /// A limit of money or tokens is used up to a warning level, of the execution itself or of an account that it uses.
    /// Each level is told once in an execution.
    BudgetWarning(source, account_id, limit, level, used, cap) {
        /// Whose limit it is.
        source: BudgetSource = source.into(),
        /// The account; null for the execution's own limit.
        account_id: Option<ID> = account_id.map(|id| id.to_string().into()),
        /// Which limit: COST or TOKENS.
        limit: BudgetLimit = limit.into(),
        /// The level, in percent of the limit.
        level: i32 = level.into(),
        /// What is used: billionths of a US dollar, or tokens.
        used: BigInt = used.into(),
        /// The limit, in the same.
        cap: BigInt = cap.into(),
    }

    /// Somebody raised the execution's own limits.
    BudgetToppedUp(by, cost, tokens, reason) {
        /// The principal.
        by: ID = by.to_string().into(),
        /// By how much money.
        cost: Money = cost.into(),
        /// By how many tokens.
        tokens: BigInt = tokens.into(),
        /// Why, in the words of whoever did it.
        reason: String = reason,
    }

    /// Something that a person may want to know; the execution goes on.
    WarningRaised(code, message) {
        /// Stable code.
        code: String = code,
        /// For people.
        message: String = message,
    }

    /// The loop guard caught a tool call. The policy of the agent's version says what becomes of it.
    LoopDetected(
        iteration, ordinal, tool_call_id, loop_kind, period, count, tools, iterations, action, pardoned, message
    ) {
        /// The iteration whose reply asked for the call.
        iteration: i32 = int(iteration),
        /// Its place among the calls of that reply, from 0.
        ordinal: i32 = int(ordinal),
        /// The call.
        tool_call_id: ID = tool_call_id.to_string().into(),
        /// The kind of the loop.
        loop_kind: LoopKind = loop_kind.into(),
        /// How many calls make one round; 1 but for a cycle.
        period: i32 = int(period),
        /// How many rounds there were; the call completes the last one.
        count: i32 = int(count),
        /// The tools of one round, in their order.
        tools: Vec<String> = tools,
        /// The iterations of the matched calls, oldest first: one entry a call, the newest 100.
        iterations: Vec<i32> = iterations.into_iter().map(int).collect(),
        /// What the policy does.
        action: LoopAction = action.into(),
        /// True when a person let it pass beforehand: the call runs, and the model is told nothing.
        pardoned: bool = pardoned,
        /// What was found, for people.
        message: String = message,
    }

    /// Somebody wants the execution to stop.
    CancelRequested(by) {
        /// The principal.
        by: ID = by.to_string().into(),
    }

    /// Somebody overrode the loop guard: what it has seen so far is forgotten, and the execution goes on.
    LoopOverridden(by, reason, pardons) {
        /// The principal.
        by: ID = by.to_string().into(),
        /// Why, in their words.
        reason: String = reason,
        /// How many further findings are let pass.
        pardons: i32 = int(pardons),
    }

    /// The execution ended; the last event of its log.
    ExecutionFinished(status, stop_reason, answer, error_item, budget) {
        /// The terminal state.
        status: ExecutionStatus = status.into(),
        /// Why it ended.
        stop_reason: StopReason = stop_reason.into(),
        /// The final answer, or what there was of one.
        answer: Option<String> = answer,
        /// What it hands on when it ended at a limit whose outcome is ERROR_ITEM.
        error_item: Option<ErrorItem> = error_item.map(ErrorItem::from),
        /// Limits and what was used of them.
        budget: ExecutionBudget = budget.into(),
    }
}

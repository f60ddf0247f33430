//! Fenced commits and grouped appends.

use std::time::Duration;

use super::{assert_conflict, assert_lease_lost};
use crate::artifact::{Artifact, ArtifactKind, StoredText};
use crate::execution::{Change, Commit, ExecutionRef, Fence, IterationRecord};
use crate::model_call::{CallState, ModelCall};
use crate::money::TokenUsage;
use crate::sandbox::{BackgroundCommand, CommandPlace, Sandbox, SandboxState, WorkspaceCheckpoint};
use crate::testing::samples::{LAST_MOMENT_OF_A_DAY as AT, running};
use crate::testing::{Home, Ports, Samples};
use crate::tool_call::{ToolCall, ToolCallState};

const LONG: Duration = Duration::from_secs(600);

async fn claimed(ports: &Ports, samples: &Samples) -> (Home, Fence) {
    let home = samples.home(ports).await;
    let execution = samples.start(ports, &home, AT).await;
    ports.executions.claim(execution, "w", LONG).await.unwrap().unwrap();
    (home, ports.executions.fence(execution).await.unwrap().unwrap())
}

/// Each kind of row comes back as it was written, and a second save replaces it.
pub async fn every_change_reads_back_equal(ports: &Ports) {
    let samples = Samples::new(1);
    let (home, mut fence) = claimed(ports, &samples).await;
    let full = Rows {
        iteration: samples.iteration(1, AT),
        model_call: samples.model_call(1, 1, AT),
        tool_call: samples.tool_call(1, 0, 1, AT),
        sandbox: samples.sandbox(1, AT),
        workspace: samples.workspace(),
    };
    let bare = full.bare();
    let output =
        Artifact { kind: ArtifactKind::Output, tool_call_id: None, ..samples.artifact(fence.execution.id, AT) };
    for (round, rows) in [&bare, &full, &bare].into_iter().enumerate() {
        let mut commit = samples.commit(fence, 1, rows.changes());
        commit.progress = Some(running());
        if round == 0 {
            commit.changes.push(Change::AddArtifact(output.clone()));
            commit.changes.push(Change::StartAttempt { number: 1, started_at: AT });
        }
        ports.executions.commit(&commit).await.unwrap();
        fence.next_sequence += 1;
        rows.assert_stored(ports, &home, fence.execution).await;
        assert_eq!(ports.executions.fence(fence.execution).await.unwrap(), Some(fence));
    }
    assert_eq!(ports.reader.artifact(home.scope(), output.id).await.unwrap(), Some(output));
    assert_eq!(ports.reader.artifacts(home.scope(), &[fence.execution.id]).await.unwrap().len(), 2);
}

struct Rows {
    iteration: crate::execution::AgentIteration,
    model_call: ModelCall,
    tool_call: ToolCall,
    sandbox: Sandbox,
    workspace: WorkspaceCheckpoint,
}

impl Rows {
    /// The same rows with every optional column empty.
    fn bare(&self) -> Self {
        let mut iteration = self.iteration.clone();
        (iteration.agent_state_ref, iteration.ended_at) = (None, None);
        let model_call = ModelCall {
            state: CallState::Started,
            fallback_index: 0,
            fallback_because: None,
            tries: 0,
            price_version: None,
            price: None,
            usage: TokenUsage::default(),
            estimated: false,
            finish_reason: None,
            error: None,
            reply_text: StoredText::empty(),
            reply_tool_calls: Vec::new(),
            reply_partial: false,
            ended_at: None,
            first_delta_ms: None,
            ..self.model_call.clone()
        };
        let tool_call = ToolCall {
            state: ToolCallState::Started,
            exit_code: None,
            error: None,
            truncated: false,
            lossy: false,
            sandbox_id: None,
            ended_at: None,
            ..self.tool_call.clone()
        };
        let sandbox = Sandbox {
            state: SandboxState::Intent,
            remote_id: None,
            enforced: Vec::new(),
            expires_at: None,
            ..self.sandbox.clone()
        };
        let workspace = WorkspaceCheckpoint { manifest: None, left_out: 0, is_stale: false };
        Self { iteration, model_call, tool_call, sandbox, workspace }
    }

    fn changes(&self) -> Vec<Change> {
        vec![
            Change::SaveIteration(self.iteration.clone()),
            Change::SaveModelCall(Box::new(self.model_call.clone())),
            Change::SaveToolCall(Box::new(self.tool_call.clone())),
            Change::SaveSandbox(Box::new(self.sandbox.clone())),
            Change::SaveWorkspace { iteration: self.iteration.number, checkpoint: self.workspace.clone() },
        ]
    }

    async fn assert_stored(&self, ports: &Ports, home: &Home, execution: ExecutionRef) {
        let record = IterationRecord {
            iteration: self.iteration.clone(),
            model_calls: vec![self.model_call.clone()],
            tool_calls: vec![self.tool_call.clone()],
            workspace: Some(self.workspace.clone()),
        };
        assert_eq!(ports.reader.transcript(execution).await.unwrap(), [record]);
        let (scope, id) = (home.scope(), execution.id);
        let model_call = ports.reader.model_call(scope, self.model_call.id).await.unwrap();
        assert_eq!(model_call, Some((id, self.model_call.clone())));
        let tool_call = ports.reader.tool_call(scope, self.tool_call.id).await.unwrap();
        assert_eq!(tool_call, Some((id, self.tool_call.clone())));
        assert_eq!(ports.reader.sandboxes(scope, &[id]).await.unwrap(), [(id, self.sandbox.clone())]);
    }
}

/// Calls stand in their iteration, model calls by time, tool calls by ordinal.
pub async fn a_transcript_is_in_order(ports: &Ports) {
    let samples = Samples::new(1);
    let (_, fence) = claimed(ports, &samples).await;
    let later = AT.plus(Duration::from_secs(1));
    let (late, early) = (samples.model_call(2, 1, later), samples.model_call(2, 1, AT));
    let (second, first) = (samples.tool_call(2, 1, 1, AT), samples.tool_call(2, 0, 1, later));
    let changes = vec![
        Change::SaveToolCall(Box::new(second.clone())),
        Change::SaveModelCall(Box::new(late.clone())),
        Change::SaveIteration(samples.iteration(2, AT)),
        Change::SaveIteration(samples.iteration(1, AT)),
        Change::SaveToolCall(Box::new(first.clone())),
        Change::SaveModelCall(Box::new(early.clone())),
    ];
    ports.executions.commit(&samples.commit(fence, 0, changes)).await.unwrap();
    let records = ports.reader.transcript(fence.execution).await.unwrap();
    assert_eq!(records.iter().map(|record| record.iteration.number).collect::<Vec<_>>(), [1, 2]);
    assert!(records[0].model_calls.is_empty() && records[0].tool_calls.is_empty());
    assert_eq!(records[1].model_calls, [early, late]);
    assert_eq!(records[1].tool_calls, [first, second]);
}

/// A commit whose fence is off by anything writes nothing.
pub async fn a_fence_matches_exactly(ports: &Ports) {
    let samples = Samples::new(1);
    let (home, fence) = claimed(ports, &samples).await;
    let id = fence.execution.id;
    let off = [
        Fence { epoch: fence.epoch + 1, ..fence },
        Fence { epoch: fence.epoch - 1, ..fence },
        Fence { next_sequence: fence.next_sequence + 1, ..fence },
        Fence { next_sequence: fence.next_sequence - 1, ..fence },
        Fence { execution: ExecutionRef { tenant_id: samples.tenant_id(), id }, ..fence },
        Fence { execution: ExecutionRef { id: samples.execution_id(), ..fence.execution }, ..fence },
    ];
    for fence in off {
        let changes = vec![Change::SaveIteration(samples.iteration(1, AT))];
        assert_lease_lost(ports.executions.commit(&samples.commit(fence, 1, changes.clone())).await);
        assert_lease_lost(ports.executions.commit(&samples.commit(fence, 0, changes)).await);
    }
    assert_eq!(ports.executions.fence(fence.execution).await.unwrap(), Some(fence));
    assert_eq!(ports.reader.transcript(fence.execution).await.unwrap(), []);
    assert_eq!(ports.log.head(home.scope(), fence.execution).await.unwrap(), Some(1));
}

/// A commit is whole: when one of its rows cannot be written, none is.
pub async fn a_commit_that_fails_leaves_nothing(ports: &Ports) {
    let samples = Samples::new(1);
    let (_, fence) = claimed(ports, &samples).await;
    let artifact = samples.artifact(fence.execution.id, AT);
    let changes = vec![
        Change::SaveIteration(samples.iteration(1, AT)),
        Change::AddArtifact(artifact.clone()),
        Change::AddArtifact(artifact),
    ];
    assert_conflict(ports.executions.commit(&samples.commit(fence, 1, changes)).await);
    assert_eq!(ports.executions.fence(fence.execution).await.unwrap(), Some(fence));
    assert_eq!(ports.reader.transcript(fence.execution).await.unwrap(), []);
    let shifted = Commit {
        segment: Some(samples.segment(fence.next_sequence + 1, 1, "x")),
        ..samples.commit(fence, 0, Vec::new())
    };
    assert_conflict(ports.executions.commit(&shifted).await);
}

/// A call's id belongs to its execution: another execution cannot take it over.
pub async fn a_row_stays_with_its_execution(ports: &Ports) {
    let samples = Samples::new(1);
    let (home, fence) = claimed(ports, &samples).await;
    let call = samples.model_call(1, 1, AT);
    let iteration = Change::SaveIteration(samples.iteration(1, AT));
    let changes = vec![iteration.clone(), Change::SaveModelCall(Box::new(call.clone()))];
    ports.executions.commit(&samples.commit(fence, 0, changes)).await.unwrap();
    let other = samples.start(ports, &home, AT).await;
    let other_fence = Fence { execution: other, epoch: 1, next_sequence: 2 };
    ports.executions.claim(other, "w", LONG).await.unwrap().unwrap();
    let stolen = ModelCall { alias: "stolen".to_owned(), ..call.clone() };
    let changes = vec![iteration, Change::SaveModelCall(Box::new(stolen))];
    assert_conflict(ports.executions.commit(&samples.commit(other_fence, 0, changes)).await);
    let stored = ports.reader.model_call(home.scope(), call.id).await.unwrap();
    assert_eq!(stored, Some((fence.execution.id, call)));
}

/// Of a group, each commit is judged alone.
pub async fn an_append_judges_each_commit_alone(ports: &Ports) {
    let samples = Samples::new(1);
    let (home, good) = claimed(ports, &samples).await;
    let other = samples.start(ports, &home, AT).await;
    ports.executions.claim(other, "w", LONG).await.unwrap().unwrap();
    let stale = Fence { execution: other, epoch: 0, next_sequence: 2 };
    let fresh = Fence { epoch: 1, ..stale };
    let next = Fence { next_sequence: good.next_sequence + 3, ..good };
    let group = [
        samples.commit(stale, 2, Vec::new()),
        samples.commit(good, 3, Vec::new()),
        samples.commit(next, 1, Vec::new()),
    ];
    assert_eq!(ports.executions.append(&group).await.unwrap(), [false, true, true]);
    assert_eq!(ports.log.head(home.scope(), good.execution).await.unwrap(), Some(5));
    assert_eq!(ports.log.head(home.scope(), other).await.unwrap(), Some(1));
    assert_eq!(ports.log.read(other, 1, 1000).await.unwrap(), []);
    assert_eq!(ports.executions.append(&[samples.commit(fresh, 2, Vec::new())]).await.unwrap(), [true]);
    assert_eq!(ports.executions.append(&[]).await.unwrap(), Vec::<bool>::new());
}

/// A command comes with its call, a cursor with the events before it or not at all, and no other write of the call takes
/// it back.
pub async fn a_cursor_moves_with_its_output(ports: &Ports) {
    let samples = Samples::new(1);
    let (home, fence) = claimed(ports, &samples).await;
    let call = ToolCall { state: ToolCallState::Started, sandbox_id: None, ..samples.tool_call(1, 0, 1, AT) };
    let command = BackgroundCommand { id: "c/ü".to_owned(), cursor: 0, limit_ms: u32::MAX };
    let place = CommandPlace { call: call.id, sandbox: samples.sandbox_id(), command };
    let at = |cursor: u64| {
        let command = BackgroundCommand { cursor, ..place.command.clone() };
        Change::SaveCommand(Box::new(CommandPlace { command, ..place.clone() }))
    };
    let save = |call: &ToolCall| Change::SaveToolCall(Box::new(call.clone()));
    let begin = vec![Change::SaveIteration(samples.iteration(1, AT)), save(&call), at(0)];
    ports.executions.commit(&samples.commit(fence, 1, begin)).await.unwrap();
    let stored = async || ports.reader.tool_call(home.scope(), call.id).await.unwrap().unwrap().1;
    let begun = ToolCall { sandbox_id: Some(place.sandbox), command: Some(place.command.clone()), ..call.clone() };
    assert_eq!(stored().await, begun);

    let stale = samples.commit(fence, 2, vec![at(5)]);
    let next = Fence { next_sequence: fence.next_sequence + 1, ..fence };
    let told = samples.commit(next, 2, vec![at(1 << 40)]);
    assert_eq!(ports.executions.append(&[stale, told]).await.unwrap(), [false, true]);
    let moved = stored().await.command.unwrap();
    assert_eq!(moved, BackgroundCommand { cursor: 1 << 40, ..place.command.clone() });
    let ended = ToolCall { state: ToolCallState::Succeeded, command: None, ..begun };
    let next = Fence { next_sequence: next.next_sequence + 2, ..fence };
    ports.executions.commit(&samples.commit(next, 0, vec![save(&ended)])).await.unwrap();
    assert_eq!(stored().await, ToolCall { command: Some(moved), ..ended });

    let unknown = CommandPlace { call: samples.tool_call_id(), ..place.clone() };
    let changes = vec![Change::SaveCommand(Box::new(unknown))];
    assert_conflict(ports.executions.commit(&samples.commit(next, 0, changes)).await);
}

/// Sandboxes are stray when their execution ended, or when its newest claim began an attempt without them, until they are
/// gone. Between a claim and the begin of its attempt nobody knows which it takes over.
pub async fn stray_sandboxes_are_found_until_they_are_gone(ports: &Ports) {
    let samples = Samples::new(1);
    let (_, fence) = claimed(ports, &samples).await;
    let [kept, old, gone] = [1, 0, 0].map(|epoch| samples.sandbox(epoch, AT));
    let gone = Sandbox { state: SandboxState::Gone, ..gone };
    let changes = [&kept, &old, &gone].map(|sandbox| Change::SaveSandbox(Box::new(sandbox.clone())));
    ports.executions.commit(&samples.commit(fence, 0, changes.to_vec())).await.unwrap();
    assert_eq!(ports.executions.stray_sandboxes(None, 10).await.unwrap(), []);
    let begin = vec![Change::StartAttempt { number: 1, started_at: AT }];
    ports.executions.commit(&samples.commit(fence, 0, begin)).await.unwrap();
    assert_eq!(ports.executions.stray_sandboxes(None, 10).await.unwrap(), [(fence.execution, old.clone())]);

    let mut end = samples.commit(fence, 1, Vec::new());
    end.progress = Some(samples.ended(AT));
    ports.executions.commit(&end).await.unwrap();
    assert_eq!(ports.executions.stray_sandboxes(None, 10).await.unwrap().len(), 2);
    // A page goes on behind the last one, in the order of the ids.
    let mut paged = Vec::new();
    while let Some((_, next)) = ports.executions.stray_sandboxes(paged.last().copied(), 1).await.unwrap().pop() {
        paged.push(next.id);
    }
    assert_eq!(paged, [kept.id.min(old.id), kept.id.max(old.id)]);
    ports.executions.sandbox_gone(fence.execution, old.id).await.unwrap();
    assert_eq!(ports.executions.stray_sandboxes(None, 10).await.unwrap(), [(fence.execution, kept.clone())]);
    let foreign = ExecutionRef { tenant_id: samples.tenant_id(), ..fence.execution };
    ports.executions.sandbox_gone(foreign, kept.id).await.unwrap();
    assert_eq!(ports.executions.stray_sandboxes(None, 10).await.unwrap().len(), 1);
}

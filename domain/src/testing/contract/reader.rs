//! Lists and finders of executions.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::ctx::PageRequest;
use crate::execution::{Change, ExecutionFilter, ExecutionRef, ExecutionStatus, Fence};
use crate::ids::ExecutionId;
use crate::testing::samples::{LAST_MOMENT_OF_A_DAY as AT, running};
use crate::testing::{Home, Ports, Samples};

/// All pages of a list, walked with this page size.
async fn walk(ports: &Ports, home: &Home, filter: &ExecutionFilter, first: u32) -> Vec<(ExecutionId, Timestamp)> {
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let request = PageRequest { first, after };
        let page = ports.reader.list(home.scope(), filter, request).await.unwrap();
        assert!(page.rows.len() <= first as usize);
        seen.extend(page.rows.iter().map(|(_, execution)| (execution.id, execution.created_at)));
        if !page.has_next {
            return seen;
        }
        after = page.rows.last().map(|(key, _)| key.clone());
        assert!(after.is_some(), "a page with a next one is not empty");
    }
}

/// F67: newest first by microsecond, each row once whatever the page size, also when times are equal.
pub async fn lists_page_by_time_and_id(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let mut expected = Vec::new();
    for offset in [0_u64, 1, 1, 1, 99, 100, 100, 1_000_000] {
        let at = AT.plus(Duration::from_micros(offset));
        expected.push((samples.start(ports, &home, at).await.id, at));
    }
    expected.sort_by_key(|(id, at)| std::cmp::Reverse((*at, *id)));
    for first in [1, 2, 3, 7, 8, 100] {
        assert_eq!(walk(ports, &home, &ExecutionFilter::default(), first).await, expected, "pages of {first}");
    }
    let stranger = samples.home(ports).await;
    assert_eq!(walk(ports, &stranger, &ExecutionFilter::default(), 10).await, []);
    for key in ["no key", "9000000000000000000.\u{1F980}"] {
        let request = PageRequest { first: 10, after: Some(key.to_owned()) };
        let page = ports.reader.list(home.scope(), &ExecutionFilter::default(), request).await.unwrap();
        assert!(page.rows.is_empty() && !page.has_next, "{key}");
    }
}

/// A filter names project, agent and states; all must hold.
pub async fn lists_are_filtered(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let new = samples.new_execution(&home, AT);
    ports.executions.start(&new).await.unwrap();
    let claimed = ports.executions.claim_next("w", Duration::from_secs(600)).await.unwrap().unwrap();
    let fence = Fence { execution: claimed.execution.reference(), epoch: 1, next_sequence: 2 };
    let mut commit = samples.commit(fence, 1, Vec::new());
    commit.progress = Some(running());
    ports.executions.commit(&commit).await.unwrap();
    let queued = samples.start(ports, &home, AT).await;

    let status = |status: &[ExecutionStatus]| ExecutionFilter { status: status.to_vec(), ..ExecutionFilter::default() };
    let project = ExecutionFilter { project_id: Some(home.project.id), ..ExecutionFilter::default() };
    let agent = ExecutionFilter { agent_id: Some(new.execution.agent_id), ..ExecutionFilter::default() };
    let nowhere = ExecutionFilter { project_id: Some(samples.project_id()), ..agent.clone() };
    let ids = async |filter: ExecutionFilter| {
        walk(ports, &home, &filter, 10).await.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    let both = [queued.id, new.execution.id];
    assert_eq!(ids(project).await, both);
    assert_eq!(ids(agent).await, [new.execution.id]);
    assert_eq!(ids(nowhere).await, []);
    assert_eq!(ids(status(&[ExecutionStatus::Running])).await, [new.execution.id]);
    assert_eq!(ids(status(&[ExecutionStatus::Running, ExecutionStatus::Queued])).await, both);
    assert_eq!(ids(status(&[ExecutionStatus::Failed])).await, []);
}

/// No finder shows another tenant's rows, whatever id it is given.
pub async fn a_foreign_tenant_sees_nothing(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let execution = samples.start(ports, &home, AT).await;
    ports.executions.claim(execution, "w", Duration::from_secs(600)).await.unwrap().unwrap();
    let (model_call, tool_call) = (samples.model_call(1, 1, AT), samples.tool_call(1, 0, 1, AT));
    let (artifact, sandbox) = (samples.artifact(execution.id, AT), samples.sandbox(1, AT));
    let changes = vec![
        Change::SaveIteration(samples.iteration(1, AT)),
        Change::SaveModelCall(Box::new(model_call.clone())),
        Change::SaveToolCall(Box::new(tool_call.clone())),
        Change::SaveSandbox(Box::new(sandbox.clone())),
        Change::AddArtifact(artifact.clone()),
    ];
    ports
        .executions
        .commit(&samples.commit(Fence { execution, epoch: 1, next_sequence: 2 }, 1, changes))
        .await
        .unwrap();

    let stranger = samples.home(ports).await;
    let (scope, ids) = (stranger.scope(), [execution.id]);
    let foreign = ExecutionRef { tenant_id: stranger.tenant.id, id: execution.id };
    assert_eq!(ports.reader.executions(scope, &ids).await.unwrap(), []);
    assert_eq!(ports.reader.transcript(foreign).await.unwrap(), []);
    assert_eq!(ports.reader.model_call(scope, model_call.id).await.unwrap(), None);
    assert_eq!(ports.reader.tool_call(scope, tool_call.id).await.unwrap(), None);
    assert_eq!(ports.reader.artifacts(scope, &ids).await.unwrap(), []);
    assert_eq!(ports.reader.artifact(scope, artifact.id).await.unwrap(), None);
    assert_eq!(ports.reader.sandboxes(scope, &ids).await.unwrap(), []);
    assert_eq!(ports.reader.sandbox(scope, sandbox.id).await.unwrap(), None);
    assert_eq!(ports.reader.sandbox(home.scope(), sandbox.id).await.unwrap(), Some((execution.id, sandbox)));
    assert_eq!(ports.executions.fence(foreign).await.unwrap(), None);
    super::assert_lease_lost(ports.executions.renew(foreign, 1, Duration::from_secs(1)).await);
    let own = ports.reader.executions(home.scope(), &[execution.id, samples.execution_id()]).await.unwrap();
    assert_eq!(own.len(), 1);
    assert_eq!(ports.reader.executions(home.scope(), &[]).await.unwrap(), []);
}

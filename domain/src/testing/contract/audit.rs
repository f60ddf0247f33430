//! The audit log: a chain in each tenant, written together with what its records are about.

use futures_util::future::join_all;

use crate::audit::{AuditAction, AuditRecord, verify_chain};
use crate::ctx::{PageRequest, Scope};
use crate::execution::{Command, CommandKind, ExecutionRef};
use crate::testing::samples::LAST_MOMENT_OF_A_DAY as AT;
use crate::testing::{Home, Ports, Samples};

const REASON: &str = "The queue is slow today. 待って \u{1F980}";

fn override_loop(samples: &Samples, home: &Home) -> Command {
    Command {
        id: samples.command_id(),
        kind: CommandKind::OverrideLoop { reason: REASON.to_owned(), pardons: 2 },
        by: home.owner,
        created_at: AT,
    }
}

/// A command that must be audited is stored with its record; one that cannot be stored leaves none.
pub async fn an_audited_command_leaves_its_record(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let execution = samples.start(ports, &home, AT).await;
    let command = override_loop(&samples, &home);
    ports.executions.add_command(execution, &command).await.unwrap();
    super::assert_conflict(ports.executions.add_command(execution, &command).await);
    let unknown = ExecutionRef { id: samples.execution_id(), ..execution };
    super::assert_conflict(ports.executions.add_command(unknown, &override_loop(&samples, &home)).await);

    let records = ports.audit.records_about(home.scope(), &execution.id.to_string()).await.unwrap();
    let expected = AuditRecord {
        at: AT,
        by: home.owner,
        action: AuditAction::ExecutionOverrideLoop,
        target: execution.id.to_string(),
        reason: REASON.to_owned(),
        detail: serde_json::json!({ "commandId": command.id.to_string(), "pardons": 2 }).as_object().cloned().unwrap(),
    };
    assert_eq!(records.iter().map(|chained| &chained.record).collect::<Vec<_>>(), [&expected]);
    let all = ports.audit.records(home.scope(), PageRequest { first: 10, after: None }).await.unwrap();
    assert_eq!(all.rows.into_iter().map(|(_, record)| record).collect::<Vec<_>>(), records);
}

/// Records that are written at one time form one chain without holes, and another tenant has its own.
pub async fn records_form_a_chain_in_each_tenant(ports: &Ports) {
    let samples = Samples::new(1);
    let (home, other) = (samples.home(ports).await, samples.home(ports).await);
    let mut writes = Vec::new();
    for home in [&home, &other] {
        let execution = samples.start(ports, home, AT).await;
        for _ in 0..4 {
            writes.push((execution, override_loop(&samples, home)));
        }
    }
    let outcomes =
        join_all(writes.iter().map(|(execution, command)| ports.executions.add_command(*execution, command)));
    outcomes.await.into_iter().for_each(Result::unwrap);
    for home in [&home, &other] {
        let (mut records, mut after) = (Vec::new(), None);
        loop {
            let page = ports.audit.records(home.scope(), PageRequest { first: 3, after }).await.unwrap();
            after = page.rows.last().map(|(key, _)| key.clone());
            records.extend(page.rows.into_iter().map(|(_, record)| record));
            if !page.has_next {
                break;
            }
        }
        assert_eq!(records.len(), 4);
        assert_eq!(verify_chain(&records), Ok(()));
    }
    let stranger = Scope { tenant_id: samples.tenant_id() };
    let none = ports.audit.records(stranger, PageRequest { first: 3, after: None }).await.unwrap();
    assert!(none.rows.is_empty());
    let target = writes[0].0.id.to_string();
    assert!(ports.audit.records_about(other.scope(), &target).await.unwrap().is_empty());
    assert!(ports.audit.records_about(home.scope(), "é").await.unwrap().is_empty());
}

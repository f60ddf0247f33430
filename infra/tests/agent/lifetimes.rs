//! How sandboxes and what is lent in them end when somebody is away: the server, the worker, or both.

use std::time::Duration;

use domain::agent::{compare, sweep};
use domain::event::Event;
use domain::execution::{ExecutionRef, StopCode};
use domain::resource::SandboxCredential;
use domain::sandbox::{GRACE, NotCreated, RevokedBecause, SandboxError, SandboxState};
use domain::tool_call::ToolCallState::{Failed, Interrupted, Succeeded};

use crate::books::Books;
use crate::failpoints;
use crate::played_model::{Turn, shell};
use crate::stage::Stage;

fn shells(commands: &[&str]) -> Vec<Turn> {
    let mut turns: Vec<_> = commands.iter().map(|command| Turn::calls("", vec![shell(command)])).collect();
    turns.push(Turn::answer("Done."));
    turns
}

async fn states(stage: &Stage, execution: ExecutionRef) -> Vec<SandboxState> {
    let sandboxes = stage.stores.reader.sandboxes(execution.scope(), &[execution.id]).await.unwrap();
    sandboxes.into_iter().map(|(_, sandbox)| sandbox.state).collect()
}

async fn lends(stage: &mut Stage) {
    let credential_id = stage.add_credential("token", "hunter2-hunter2-hunter2").await;
    let named = SandboxCredential { credential_id, name: "TOKEN".to_owned(), ttl_seconds: 300 };
    stage.change_profile(|profile| profile.credentials = vec![named]).await;
}

/// The worker is gone while a command is at the gate: nothing of it is dropped in order.
async fn lose_at_the_gate(stage: &Stage, execution: ExecutionRef) {
    let claimed = stage.claim(execution).await;
    let is_there = async {
        while stage.sandbox.commands("gate").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        ended = stage.run(claimed) => panic!("it ended: {ended:?}"),
        () = is_there => {}
    }
}

/// Why each credential went, as the log tells it.
fn revocations(books: &Books) -> Vec<RevokedBecause> {
    let because = |event: &Event| match event {
        Event::CredentialRevoked { because, .. } => Some(*because),
        _ => None,
    };
    books.log.iter().filter_map(|record| because(&record.event)).collect()
}

/// A create was sent, and its server never answers again: behind the time to live and a grace there is nothing.
#[tokio::test]
async fn what_no_server_ever_said_to_have_made_is_gone_when_it_must_be() {
    let mut stage = Stage::new().await;
    stage.allow_sandboxes(1);
    let error = SandboxError { code: "SANDBOX_UNAVAILABLE", message: "it is silent".to_owned(), sandbox_lost: true };
    stage.sandbox.refuse_the_next(NotCreated { error, may_exist: true });
    stage.sandbox.go_away(true);
    let execution = stage.start(shells(&["ls"])).await;
    stage.finish(execution).await;
    for (passes, expected) in [
        (Duration::ZERO, SandboxState::KillPending),
        (Duration::from_secs(600), SandboxState::KillPending),
        (GRACE, SandboxState::Gone),
    ] {
        stage.age_sandboxes(execution, passes).await;
        sweep(&stage.ports).await.unwrap();
        assert_eq!(states(&stage, execution).await, [expected]);
    }
    // It comes after all, and its server with it.
    stage.sandbox.go_away(false);
    let (_, row) = stage.stores.reader.sandboxes(execution.scope(), &[execution.id]).await.unwrap().pop().unwrap();
    stage.sandbox.make_late(row.id);
    compare(&stage.ports).await.unwrap();
    assert_eq!(stage.sandbox.live(), 0);
    stage.close().await;
}

/// One that was made is asked for until its server says that it is gone, but takes no place of the tenant meanwhile.
#[tokio::test]
async fn a_sandbox_of_a_server_that_stays_away_is_asked_for_and_takes_no_place() {
    let mut stage = Stage::new().await;
    stage.allow_sandboxes(1);
    stage.sandbox.go_away(true);
    let first = stage.start(shells(&["ls"])).await;
    stage.finish(first).await;
    assert_eq!(states(&stage, first).await, [SandboxState::KillPending]);
    let refused = stage.start(shells(&["ls"])).await;
    stage.finish(refused).await;
    assert_eq!(Books::read(&stage, refused).await.tool_ends(), [(Failed, "SANDBOX_QUOTA_EXCEEDED")]);
    stage.age_sandboxes(first, Duration::from_secs(600) + GRACE).await;
    sweep(&stage.ports).await.unwrap();
    assert_eq!(states(&stage, first).await, [SandboxState::KillPending], "nobody saw that it is gone");
    let second = stage.start(shells(&["ls"])).await;
    stage.finish(second).await;
    assert_eq!(Books::read(&stage, second).await.tool_ends(), [(Succeeded, "")]);
    stage.sandbox.go_away(false);
    sweep(&stage.ports).await.unwrap();
    assert_eq!(states(&stage, first).await, [SandboxState::Gone]);
    stage.close().await;
}

/// A sandbox that a call lost is removed while the execution goes on, not at its end.
#[tokio::test]
async fn a_lost_sandbox_is_left_to_the_reaper_at_once() {
    let stage = Stage::new().await;
    let execution = stage.start(shells(&["put a one", "linger", "gate"])).await;
    lose_at_the_gate(&stage, execution).await;
    assert_eq!(states(&stage, execution).await, [SandboxState::KillPending, SandboxState::Live]);
    sweep(&stage.ports).await.unwrap();
    assert_eq!(states(&stage, execution).await, [SandboxState::Gone, SandboxState::Live]);
    stage.sandbox.open(1);
    stage.finish(execution).await;
    let books = Books::read(&stage, execution).await;
    let lost = &books.asked[2].results[0];
    assert!(lost.contains("[The sandbox was lost with what this call left in outputs/"), "{lost}");
    let next = &books.asked[3].results[0];
    assert!(next.contains("from the end of the last finished tool call"), "{next}");
    stage.close().await;
}

#[tokio::test]
async fn a_lost_worker_s_credentials_are_revoked_and_told_once_by_the_claim_that_closes_the_call() {
    for (is_reaped, is_away) in [(false, false), (true, false), (false, true)] {
        let mut stage = Stage::new().await;
        lends(&mut stage).await;
        let execution = stage.start(shells(&["gate", "ls"])).await;
        lose_at_the_gate(&stage, execution).await;
        if is_reaped {
            let (_, row) =
                stage.stores.reader.sandboxes(execution.scope(), &[execution.id]).await.unwrap().pop().unwrap();
            stage.ports.executions.sandbox_gone(execution, row.id).await.unwrap();
        }
        stage.sandbox.go_away(is_away);
        // The claim that closes is lost as well, behind its first commit.
        stage.sandbox.open(1);
        stage.finish(execution).await;
        stage.sandbox.go_away(false);
        failpoints::sweep(&stage).await;
        let books = Books::closed(&stage, execution).await;
        assert_eq!(books.tool_ends(), [(Interrupted, "INTERRUPTED"), (Succeeded, "")]);
        let first = if is_away { RevokedBecause::Failed } else { RevokedBecause::SandboxEnded };
        assert_eq!(revocations(&books), [first, RevokedBecause::CallEnded], "{is_reaped} {is_away}");
        let issued = stage.stores.reader.issued_credentials(execution).await.unwrap();
        let mut rows: Vec<_> = issued.iter().map(|issued| issued.revoked.unwrap().1).collect();
        rows.sort_by_key(|because| *because == RevokedBecause::CallEnded);
        assert_eq!(rows, revocations(&books));
        stage.close().await;
    }
}

/// What the call left is kept before the sandbox goes, and the next call does not run where the secret lies.
#[tokio::test]
async fn a_credential_that_cannot_be_removed_costs_no_files() {
    let mut stage = Stage::new().await;
    lends(&mut stage).await;
    let execution = stage.start(shells(&["put a one", "ls"])).await;
    stage.sandbox.hold_credentials();
    stage.finish(execution).await;
    failpoints::sweep(&stage).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.tool_ends(), [(Succeeded, ""), (Succeeded, "")]);
    assert_eq!(revocations(&books), [RevokedBecause::Failed, RevokedBecause::CallEnded]);
    let kept = &books.asked[2].results[0];
    assert!(kept.starts_with("a=one"), "{kept}");
    assert_eq!(states(&stage, execution).await, [SandboxState::Gone; 2], "the second call had a sandbox of its own");
    let warned = books.log.iter().any(|record| matches!(record.event, Event::WarningRaised { .. }));
    assert!(!warned && !books.asked[1].results[0].contains("lost"), "{:?}", books.asked[1].results);
    stage.close().await;
}

/// The code of the reason is the code of the call, in its row, its event and what the model reads.
#[tokio::test]
async fn a_sandbox_that_cannot_be_made_says_why() {
    let stage = Stage::new().await;
    for code in ["IMAGE_NOT_AVAILABLE", "spec_refused", "SANDBOX_PROTOCOL_UNSUPPORTED", "plaintext_refused"] {
        let error = SandboxError { code, message: "choose another one".to_owned(), sandbox_lost: false };
        stage.sandbox.refuse_the_next(NotCreated::nothing_made(error));
        let execution = stage.start(shells(&["ls"])).await;
        stage.finish(execution).await;
        let books = Books::closed(&stage, execution).await;
        assert_eq!((books.tool_ends(), books.code()), (vec![(Failed, code)], StopCode::SandboxUnavailable));
        let told = books.log.iter().any(|record| match &record.event {
            Event::ToolCallFinished { error: Some(error), .. } => error.code == code,
            _ => false,
        });
        assert!(told, "{code}");
    }
    stage.close().await;
}

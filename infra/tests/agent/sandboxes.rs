//! What a sandbox may use, and for how long: credentials, idle time and the quota of the tenant.

use std::sync::Arc;

use domain::event::Event;
use domain::execution::{ExecutionRef, StopCause, StopCode, StopSignal};
use domain::ids::ResourceId;
use domain::resource::SandboxCredential;
use domain::sandbox::{NotCreated, RevokedBecause, SandboxError, SandboxState};
use domain::tool_call::ToolCallState::{Cancelled, Failed, Succeeded};
use futures_util::future::join;
use serde_json::json;

use crate::books::Books;
use crate::played_model::{Then, Turn, shell};
use crate::stage::{Stage, until};

const SECRET: &str = "hunter2-hunter2-hunter2";

pub fn shells(commands: &[&str]) -> Vec<Turn> {
    let mut turns: Vec<_> = commands.iter().map(|command| Turn::calls("", vec![shell(command)])).collect();
    turns.push(Turn::answer("Done."));
    turns
}

async fn with_credential(ttl_seconds: u32) -> (Stage, ResourceId) {
    let mut stage = Stage::new().await;
    let credential_id = stage.add_credential("token", SECRET).await;
    let named = SandboxCredential { credential_id, name: "TOKEN".to_owned(), ttl_seconds };
    stage.change_profile(|profile| profile.credentials = vec![named]).await;
    (stage, credential_id)
}

/// Everything that is kept of a run, as text.
async fn kept(stage: &Stage, execution: ExecutionRef) -> String {
    let books = Books::read(stage, execution).await;
    let log: Vec<_> = books.log.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    format!("{log:?} {:?} {:?} {:?}", books.transcript, books.asked, stage.artifacts.texts())
}

#[tokio::test]
async fn a_credential_is_there_for_one_call_and_never_comes_back() {
    let (stage, _) = with_credential(300).await;
    let execution = stage.start(shells(&["leak", "ls"])).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.tool_ends(), [(Succeeded, ""), (Succeeded, "")]);
    assert_eq!(stage.sandbox.credentials(), Vec::<String>::new());
    let settings = stage.sandbox.settings();
    let paths: Vec<_> = settings.iter().map(|setting| setting.environment["TOKEN_FILE"].clone()).collect();
    assert_ne!(paths[0], paths[1]);
    assert!(paths.iter().all(|path| path.ends_with("/TOKEN") && !path.starts_with("/workspace")), "{paths:?}");
    let kept = kept(&stage, execution).await;
    assert!(!kept.contains("hunter2"), "{kept}");
    assert!(books.asked[1].results[0].contains("[redacted: TOKEN]"), "{:?}", books.asked[1]);
    // The program had put it into a file of the workspace as well, which is not kept; nothing else is left out.
    let warnings = books.log.iter().filter_map(|record| match &record.event {
        Event::WarningRaised { code, message } => Some((code.as_str(), message.as_str())),
        _ => None,
    });
    let warnings: Vec<_> = warnings.collect();
    let told = "Not kept, since each holds a credential's value: 1 entries.";
    assert_eq!(warnings, [("WORKSPACE_NOT_KEPT", told)]);
    let issued = stage.stores.reader.issued_credentials(execution).await.unwrap();
    let revoked: Vec<_> = issued.iter().map(|issued| issued.revoked.map(|(_, because)| because)).collect();
    assert_eq!(revoked, [Some(RevokedBecause::CallEnded); 2]);
    stage.close().await;
}

#[tokio::test]
async fn what_is_left_out_for_a_secret_is_told_apart_by_each_tool() {
    let (mut stage, _) = with_credential(300).await;
    stage.add_tools(&["list_files", "glob", "grep"]).await;
    let name = format!("put {SECRET} x");
    let turns = vec![
        Turn::calls("", vec![shell("leak")]),
        Turn::calls("", vec![shell(&name)]),
        Turn::calls("", vec![("list_files", json!({}).to_string())]),
        Turn::calls("", vec![("glob", json!({ "pattern": "**" }).to_string())]),
        Turn::calls("", vec![("grep", json!({ "pattern": "x" }).to_string())]),
        Turn::answer("Done."),
    ];
    let execution = stage.start(turns).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    let told = |turn: usize| books.asked[turn].results.last().unwrap().clone();
    assert_eq!(told(3), "[redacted: TOKEN]  (an entry whose name holds a credential's value)\nstolen  23");
    let hidden = "[left out, since the name holds a credential's value: 1 entries]";
    assert_eq!(told(4), format!("stolen\n{hidden}"));
    let unread = "[not searched, holding a credential's value: stolen]";
    assert_eq!(told(5), format!("(no line matches)\n{hidden}\n{unread}"));
    stage.close().await;
}

/// The profile has 64 processes, and a program may need 16.
#[tokio::test]
async fn programs_of_one_reply_run_as_many_side_by_side_as_the_profile_has_processes_for() {
    let stage = Stage::new().await;
    let calls: Vec<_> = (0..20).map(|number| shell(format!("gate {number}"))).collect();
    let execution = stage.start(vec![Turn::calls("", calls), Turn::answer("Done.")]).await;
    let claimed = stage.claim(execution).await;
    let watch = async {
        until("four commands", async || stage.sandbox.commands("gate").len() == 4).await;
        stage.sandbox.open(20);
    };
    join(stage.run(claimed), watch).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.tool_ends(), [(Succeeded, ""); 20]);
    assert_eq!(stage.sandbox.most_at_once(), 4);
    let in_order: Vec<_> = (0..20).map(|number| format!("gate {number}")).collect();
    assert_eq!(stage.sandbox.commands("gate"), in_order);
    stage.close().await;
}

#[tokio::test]
async fn a_revoked_grant_stops_the_next_call() {
    let (stage, credential) = with_credential(300).await;
    let held = Turn { then: Then::IsHeld, ..Turn::calls("", vec![shell("leak two")]) };
    let turns = vec![Turn::calls("", vec![shell("leak one")]), held, Turn::answer("Done.")];
    let execution = stage.start(turns).await;
    let claimed = stage.claim(execution).await;
    let has_ended = async || Books::read(&stage, execution).await.tool_ends() == [(Succeeded, "")];
    let watch = async {
        until("the first call", has_ended).await;
        stage.revoke(credential).await;
        stage.model.release();
    };
    join(stage.run(claimed), watch).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.tool_ends(), [(Succeeded, ""), (Failed, "ACCESS_DENIED")]);
    assert_eq!(stage.sandbox.commands("leak two"), Vec::<String>::new());
    assert_eq!(stage.stores.reader.issued_credentials(execution).await.unwrap().len(), 1);
    stage.close().await;
}

#[tokio::test]
async fn a_credential_goes_when_its_time_is_over() {
    let (stage, _) = with_credential(0).await;
    let execution = stage.start(shells(&["gate"])).await;
    let claimed = stage.claim(execution).await;
    let watch = async {
        until("the command", async || !stage.sandbox.commands("gate").is_empty()).await;
        until("its removal", async || stage.sandbox.credentials().is_empty()).await;
        stage.sandbox.open(1);
    };
    join(stage.run(claimed), watch).await;
    let issued = stage.stores.reader.issued_credentials(execution).await.unwrap();
    assert!(matches!(issued[0].revoked, Some((_, RevokedBecause::Expired))), "{issued:?}");
    stage.close().await;
}

#[tokio::test]
async fn a_secret_that_could_not_be_redacted_is_not_lent() {
    for (secret, rule) in [("1234", "8 to 4096 bytes"), ("        ", "8 to 4096 bytes"), ("aaaaaaaa", "at least 5")] {
        let mut stage = Stage::new().await;
        let credential_id = stage.add_credential("pin", secret).await;
        let named = SandboxCredential { credential_id, name: "PIN".to_owned(), ttl_seconds: 300 };
        stage.change_profile(|profile| profile.credentials = vec![named]).await;
        let execution = stage.start(shells(&["leak"])).await;
        stage.finish(execution).await;
        let books = Books::closed(&stage, execution).await;
        assert_eq!(books.tool_ends(), [(Failed, "CREDENTIAL_UNFIT")]);
        assert!(books.asked[1].results[0].contains(rule), "{:?}", books.asked[1]);
        assert_eq!(stage.sandbox.commands("leak"), Vec::<String>::new());
        stage.close().await;
    }
}

/// A server that is slow to remove it holds nobody up: the program hears of a cancel all the same.
#[tokio::test]
async fn a_program_goes_on_while_a_credential_is_taken_away() {
    let (stage, _) = with_credential(0).await;
    stage.sandbox.slow_down();
    let execution = stage.start(shells(&["stall"])).await;
    let (claimed, signal) = (stage.claim(execution).await, Arc::new(StopSignal::default()));
    let watch = async {
        until("its removal", async || stage.sandbox.slowed() == 1).await;
        signal.trip(StopCause::Cancelled);
        until("the end of the program", async || stage.sandbox.ended() == 1).await;
        assert_eq!(stage.sandbox.credentials().len(), 1);
        stage.sandbox.speed_up();
    };
    join(stage.run_with(claimed, Arc::clone(&signal)), watch).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.tool_ends(), [(Cancelled, "CANCELLED")]);
    assert_eq!(stage.sandbox.credentials(), Vec::<String>::new());
    let issued = stage.stores.reader.issued_credentials(execution).await.unwrap();
    assert!(matches!(issued[0].revoked, Some((_, RevokedBecause::Expired))), "{issued:?}");
    stage.close().await;
}

#[tokio::test]
async fn an_idle_sandbox_is_given_up_and_the_next_tool_gets_its_workspace() {
    let mut stage = Stage::new().await;
    stage.change_profile(|profile| profile.idle_ttl_seconds = Some(0)).await;
    let held = Turn { then: Then::IsHeld, ..Turn::calls("", vec![shell("ls")]) };
    let turns = vec![Turn::calls("", vec![shell("put a one")]), held, Turn::answer("Done.")];
    let execution = stage.start(turns).await;
    let claimed = stage.claim(execution).await;
    let states = async || {
        let sandboxes = stage.stores.reader.sandboxes(execution.scope(), &[execution.id]).await.unwrap();
        sandboxes.into_iter().map(|(_, sandbox)| sandbox.state).collect::<Vec<_>>()
    };
    let watch = async {
        until("its end", async || states().await == [SandboxState::KillPending]).await;
        let strays = stage.ports.executions.stray_sandboxes(None, 10).await.unwrap();
        assert_eq!(strays.len(), 1, "the reaper finds it while the execution runs");
        stage.model.release();
    };
    join(stage.run(claimed), watch).await;
    let books = Books::read(&stage, execution).await;
    assert_eq!(books.code(), StopCode::FinalAnswer);
    let result = &books.asked[2].results[0];
    assert!(result.starts_with("a=one\n[The sandbox is a new one"), "{result}");
    crate::failpoints::sweep(&stage).await;
    assert!(states().await.iter().all(|state| *state == SandboxState::Gone), "{:?}", states().await);
    assert_eq!(stage.sandbox.live(), 0);
    stage.close().await;
}

#[tokio::test]
async fn a_call_beyond_the_quota_fails_and_the_run_goes_on() {
    let mut stage = Stage::new().await;
    stage.allow_sandboxes(1);
    let first = stage.start(shells(&["gate"])).await;
    let claimed = stage.claim(first).await;
    let second = async {
        until("the first sandbox", async || !stage.sandbox.commands("gate").is_empty()).await;
        let second = stage.start(shells(&["ls", "ls"])).await;
        stage.finish(second).await;
        let books = Books::closed(&stage, second).await;
        assert_eq!(books.tool_ends(), [(Failed, "SANDBOX_QUOTA_EXCEEDED"), (Failed, "SANDBOX_QUOTA_EXCEEDED")]);
        assert_eq!(books.code(), StopCode::FinalAnswer);
        let rows = stage.stores.reader.sandboxes(second.scope(), &[second.id]).await.unwrap();
        assert_eq!((rows.len(), stage.sandbox.live()), (0, 1), "no row, and no server was asked");
        stage.sandbox.open(1);
    };
    join(stage.run(claimed), second).await;
    let third = stage.start(shells(&["ls"])).await;
    stage.finish(third).await;
    assert_eq!(Books::closed(&stage, third).await.tool_ends(), [(Succeeded, "")]);
    stage.close().await;
}

/// What was never made takes no place of the tenant; what may have been made does, until it is seen to be gone.
#[tokio::test]
async fn a_sandbox_that_the_server_refused_takes_no_place() {
    let mut stage = Stage::new().await;
    stage.allow_sandboxes(1);
    for (may_exist, state) in [(false, SandboxState::Gone), (true, SandboxState::KillPending)] {
        let error = SandboxError {
            code: "SANDBOX_REJECTED",
            message: "there is no such image".to_owned(),
            sandbox_lost: false,
        };
        stage.sandbox.refuse_the_next(NotCreated { error, may_exist });
        let execution = stage.start(shells(&["ls"])).await;
        stage.finish(execution).await;
        let rows = stage.stores.reader.sandboxes(execution.scope(), &[execution.id]).await.unwrap();
        assert_eq!(rows.iter().map(|(_, row)| row.state).collect::<Vec<_>>(), [state]);
    }
    let execution = stage.start(shells(&["ls"])).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.tool_ends(), [(Failed, "SANDBOX_QUOTA_EXCEEDED")]);
    stage.close().await;
}

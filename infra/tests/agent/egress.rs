//! What programs tried to reach, as events: each once, of the call that tried.

use domain::event::Event;
use domain::ids::ToolCallId;
use domain::resource::SandboxNetwork;
use domain::sandbox::{CallMark, EgressAttempt, EgressVerdict};
use domain::tool_call::ToolCallState::Succeeded;
use futures_util::future::join;

use crate::books::Books;
use crate::sandboxes::shells;
use crate::stage::{Stage, until};

async fn with_network() -> Stage {
    let mut stage = Stage::new().await;
    stage
        .change_profile(|profile| {
            profile.network = SandboxNetwork::Hosts;
            profile.network_hosts = vec!["api.example.com".to_owned()];
        })
        .await;
    stage
}

fn denied(call: Option<CallMark>, host: &str) -> EgressAttempt {
    EgressAttempt {
        call,
        host: host.to_owned(),
        port: Some(443),
        verdict: EgressVerdict::Denied,
        reason: Some("not_listed".to_owned()),
    }
}

impl Stage {
    /// Programs of a call try so many hosts.
    fn try_hosts(&self, call: Option<CallMark>, host: &str, count: usize) {
        for _ in 0..count {
            self.sandbox.attempt(denied(call, host));
        }
    }

    /// Waits until so many `gate` commands have begun; the calls of all commands, in their order.
    async fn calls_at_gate(&self, count: usize) -> Vec<ToolCallId> {
        until("a command at the gate", async || self.sandbox.commands("gate").len() == count).await;
        self.sandbox.settings().iter().map(|setting| setting.call.unwrap()).collect()
    }
}

/// What the log says of attempts: call, host, verdict.
fn told(books: &Books) -> Vec<(ToolCallId, &str, EgressVerdict)> {
    let events = books.log.iter().filter_map(|record| match &record.event {
        Event::SandboxEgress { tool_call_id, host, verdict, .. } => Some((*tool_call_id, host.as_str(), *verdict)),
        _ => None,
    });
    events.collect()
}

fn warnings<'a>(books: &'a Books, of: &str) -> Vec<&'a str> {
    let messages = books.log.iter().filter_map(|record| match &record.event {
        Event::WarningRaised { code, message } if code == of => Some(message.as_str()),
        _ => None,
    });
    messages.collect()
}

#[tokio::test]
async fn attempts_become_events_of_the_call_that_made_them() {
    let stage = with_network().await;
    let allowed = EgressAttempt { verdict: EgressVerdict::Allowed, reason: None, ..denied(None, "api.example.com") };
    stage.sandbox.attempt(allowed);
    stage.try_hosts(None, "evil.example", 300);
    let execution = stage.start(shells(&["ls", "ls"])).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    let first = books.tool_calls().next().unwrap().id;
    let told = told(&books);
    assert_eq!(told.len(), 200, "a call tells so many at most, and each attempt once");
    assert_eq!(told[0], (first, "api.example.com", EgressVerdict::Allowed));
    assert_eq!(told[1], (first, "evil.example", EgressVerdict::Denied));
    assert_eq!(warnings(&books, "EGRESS_LEFT_OUT").len(), 1);
    stage.close().await;
}

/// More than some pages of them, all at once, and some that come when the call has ended.
#[tokio::test]
async fn no_attempt_is_told_of_a_later_call() {
    let stage = with_network().await;
    let execution = stage.start(shells(&["gate one", "gate two", "ls"])).await;
    let claimed = stage.claim(execution).await;
    let watch = async {
        let first = stage.calls_at_gate(1).await[0];
        stage.try_hosts(Some(CallMark::of(first)), "one.example", 1100);
        stage.sandbox.open(1);
        let calls = stage.calls_at_gate(2).await;
        stage.try_hosts(Some(CallMark::of(calls[0])), "late.example", 20);
        stage.try_hosts(Some(CallMark::of(calls[1])), "two.example", 3);
        stage.sandbox.open(1);
        calls
    };
    let (_, calls) = join(stage.run(claimed), watch).await;
    let books = Books::closed(&stage, execution).await;
    let told = told(&books);
    let of = |call| told.iter().filter(|(of, _, _)| *of == call).map(|(_, host, _)| *host).collect::<Vec<_>>();
    assert_eq!((of(calls[0]), of(calls[1])), (vec!["one.example"; 200], vec!["two.example"; 3]));
    assert_eq!(told.len(), 203, "{told:?}");
    assert_eq!(warnings(&books, "EGRESS_LEFT_OUT").len(), 1);
    stage.close().await;
}

#[tokio::test]
async fn an_attempt_after_its_call_is_still_one_of_it() {
    let stage = with_network().await;
    let execution = stage.start(shells(&["gate one", "gate two"])).await;
    let claimed = stage.claim(execution).await;
    let watch = async {
        stage.calls_at_gate(1).await;
        stage.sandbox.open(1);
        let calls = stage.calls_at_gate(2).await;
        stage.try_hosts(Some(CallMark::of(calls[0])), "late.example", 1);
        stage.sandbox.open(1);
        calls
    };
    let (_, calls) = join(stage.run(claimed), watch).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(told(&books), [(calls[0], "late.example", EgressVerdict::Denied)]);
    stage.close().await;
}

#[tokio::test]
async fn what_no_call_tried_and_what_was_not_kept_are_warnings() {
    let stage = with_network().await;
    stage.try_hosts(None, "early.example", 70);
    stage.sandbox.drop_attempts();
    let execution = stage.start(shells(&["gate one"])).await;
    let claimed = stage.claim(execution).await;
    let watch = async {
        let call = stage.calls_at_gate(1).await[0];
        let stranger = CallMark::new(CallMark::of(call).bits() ^ 1);
        stage.try_hosts(Some(stranger), "odd.example", 5);
        stage.sandbox.open(1);
    };
    join(stage.run(claimed), watch).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(told(&books), []);
    let missed = warnings(&books, "EGRESS_LEFT_OUT");
    assert!(missed.len() == 1 && missed[0].contains("70 tries"), "{missed:?}");
    let strays = warnings(&books, "EGRESS_OF_NO_CALL");
    assert!(strays.len() == 1 && strays[0].contains("5 tries") && strays[0].contains("odd.example"), "{strays:?}");
    stage.close().await;
}

/// A server that is slow to tell them holds nobody up: the program is driven to its end all the same.
#[tokio::test]
async fn a_program_goes_on_while_attempts_are_read() {
    let stage = with_network().await;
    stage.sandbox.slow_down();
    let execution = stage.start(shells(&["gate one"])).await;
    let claimed = stage.claim(execution).await;
    let watch = async {
        stage.calls_at_gate(1).await;
        until("a look", async || stage.sandbox.slowed() == 1).await;
        stage.sandbox.open(1);
        until("the end of the program", async || stage.sandbox.ended() == 1).await;
        stage.sandbox.speed_up();
    };
    join(stage.run(claimed), watch).await;
    assert_eq!(Books::closed(&stage, execution).await.tool_ends(), [(Succeeded, "")]);
    stage.close().await;
}

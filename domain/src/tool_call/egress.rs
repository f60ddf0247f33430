//! Makes events of what the programs of a sandbox tried to reach, while they run and when they have ended.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::lock::Mutex;

use crate::agent::Claim;
use crate::event::Event;
use crate::execution::StopCause;
use crate::ids::{SandboxId, ToolCallId};
use crate::resource::SandboxNetwork;
use crate::sandbox::{CallMark, EgressAttempt, LiveSandbox};

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// Events of one call at most.
const MOST_OF_A_CALL: u32 = 200;

/// What was told of the attempts in the live sandbox.
#[derive(Default)]
pub(crate) struct EgressLog(Mutex<Told>);

#[derive(Default)]
struct Told {
    sandbox: Option<SandboxId>,
    /// The place in the sandbox's list.
    next: u64,
    /// The calls under way, with how many events each has.
    calls: BTreeMap<ToolCallId, u32>,
}

/// Does the work of a call and tells meanwhile, and at its end, what its programs tried to reach.
pub(super) async fn during<T>(
    claim: &Claim,
    call: ToolCallId,
    sandbox: &LiveSandbox,
    work: impl Future<Output = T> + Send,
) -> T {
    if !has_network(claim) {
        return work.await;
    }
    claim.sandbox.egress.0.lock().await.calls.insert(call, 0);
    let mut work = Box::pin(work);
    let done = loop {
        match select(work, claim.ports.clock.sleep(PERIOD)).await {
            Either::Left((done, _)) => break done,
            Either::Right(((), still)) => {
                work = still;
                tell(claim, call, sandbox).await;
            }
        }
    };
    tell(claim, call, sandbox).await;
    claim.sandbox.egress.0.lock().await.calls.remove(&call);
    done
}

/// Without a network there is nothing that could be tried.
fn has_network(claim: &Claim) -> bool {
    let pinned = claim.pinned.get().and_then(|pinned| pinned.sandbox.as_ref());
    pinned.is_some_and(|pinned| pinned.profile.network != SandboxNetwork::None)
}

/// Tells each attempt once, whichever call looks first.
async fn tell(claim: &Claim, call: ToolCallId, sandbox: &LiveSandbox) {
    let mut told = claim.sandbox.egress.0.lock().await;
    if told.sandbox.replace(sandbox.id) != Some(sandbox.id) {
        told.next = 0;
    }
    let read = match claim.ports.sandboxes.egress_attempts(sandbox, told.next).await {
        Ok(read) => read,
        Err(error) => {
            tracing::debug!(sandbox.id = %sandbox.id, error.code = error.code, "attempts were not read");
            return;
        }
    };
    told.next = read.next;
    for attempt in read.attempts {
        // The way that a program took says whose it is: only a call that is under way is believed.
        let of = told.calls.keys().copied().find(|of| attempt.call == Some(CallMark::of(*of))).unwrap_or(call);
        let count = told.calls.entry(of).or_default();
        *count = count.saturating_add(1);
        let event = match *count {
            ..=MOST_OF_A_CALL => attempted(of, attempt),
            count if count == MOST_OF_A_CALL + 1 => left_out(),
            _ => continue,
        };
        if claim.journal.delta(event, false).await.is_err() {
            claim.signal.trip(StopCause::LeaseLost);
        }
    }
}

fn attempted(of: ToolCallId, attempt: EgressAttempt) -> Event {
    let EgressAttempt { call: _, host, port, verdict, reason } = attempt;
    Event::SandboxEgress { tool_call_id: of, host, port, verdict, reason }
}

fn left_out() -> Event {
    let message = format!("A tool call tried to reach more than {MOST_OF_A_CALL} hosts; the rest is not shown.");
    Event::WarningRaised { code: "EGRESS_LEFT_OUT".to_owned(), message }
}

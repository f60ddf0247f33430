//! Makes events of what the programs of a sandbox tried to reach, while they run and when they have ended.
//!
//! Rule: an attempt is told once, of the call whose mark it has, also when that call has ended. One with the mark of no
//! call is told of none, and what a sandbox did not keep until it was read is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::PoisonError;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::lock::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::beside::beside;
use super::collect::warning_event;
use crate::agent::Claim;
use crate::event::Event;
use crate::execution::StopCause;
use crate::ids::{SandboxId, ToolCallId};
use crate::resource::SandboxNetwork;
use crate::sandbox::{CallMark, EgressAttempt, LiveSandbox};

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// How long the end of a call waits for its attempts. What is not read by then is read by the next call.
const LAST_LOOK: Duration = Duration::from_secs(10);
/// Pages of one look at most; a sandbox does not keep more than that.
const MOST_PAGES: usize = 16;
/// Events of one call at most.
const MOST_OF_A_CALL: u32 = 200;
/// Hosts that are named at most where no call can be.
const MOST_STRAYS: usize = 10;

/// What was told of the attempts in the sandboxes of a claim.
#[derive(Default)]
pub(crate) struct EgressLog {
    /// Held by whoever reads and tells.
    told: Mutex<Told>,
    calls: std::sync::Mutex<Calls>,
}

/// The calls of this claim by their marks, with how many events each has.
type Calls = BTreeMap<CallMark, (ToolCallId, u32)>;

#[derive(Default)]
struct Told {
    /// The place in each sandbox's list.
    next: BTreeMap<SandboxId, u64>,
    /// Attempts that a sandbox did not keep until they were read, and that no warning has told yet.
    missed: u64,
    /// The same of attempts with the mark of no call, and some of the hosts.
    strays: u64,
    stray_hosts: BTreeSet<String>,
}

impl EgressLog {
    fn calls(&self) -> std::sync::MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
    claim.sandbox.egress.calls().insert(CallMark::of(call), (call, 0));
    let over = CancellationToken::new();
    beside(work, &over, watch(claim, call, sandbox, &over)).await
}

/// Without a network there is nothing that could be tried.
fn has_network(claim: &Claim) -> bool {
    let pinned = claim.pinned.get().and_then(|pinned| pinned.sandbox.as_ref());
    pinned.is_some_and(|pinned| pinned.profile.network != SandboxNetwork::None)
}

async fn watch(claim: &Claim, call: ToolCallId, sandbox: &LiveSandbox, over: &CancellationToken) {
    let mut patience = pin!(async {
        over.cancelled().await;
        claim.ports.clock.sleep(LAST_LOOK).await;
    });
    loop {
        let is_over = over.run_until_cancelled(claim.ports.clock.sleep(PERIOD)).await.is_none();
        for _ in 0..MOST_PAGES {
            let page = pin!(read(claim, sandbox));
            let Either::Left((page, _)) = select(page, &mut patience).await else { return };
            let Some((mut told, attempts)) = page else { break };
            for attempt in attempts {
                tell(claim, call, &mut told, attempt).await;
            }
        }
        if is_over {
            warn(claim).await;
            return;
        }
    }
}

/// The next attempts of a sandbox that nobody has read; None when there are none, or they cannot be read.
async fn read<'a>(claim: &'a Claim, sandbox: &LiveSandbox) -> Option<(MutexGuard<'a, Told>, Vec<EgressAttempt>)> {
    let mut told = claim.sandbox.egress.told.lock().await;
    let after = told.next.get(&sandbox.id).copied().unwrap_or_default();
    match claim.ports.sandboxes.egress_attempts(sandbox, after).await {
        Ok(page) if page.attempts.is_empty() => None,
        Ok(page) => {
            told.missed += page.missed(after);
            told.next.insert(sandbox.id, page.next);
            Some((told, page.attempts))
        }
        Err(error) => {
            tracing::debug!(sandbox.id = %sandbox.id, error.code = error.code, "attempts were not read");
            None
        }
    }
}

/// The way that a program took says whose an attempt is. One that took no call's way is taken for one of the call that
/// looks.
async fn tell(claim: &Claim, call: ToolCallId, told: &mut Told, attempt: EgressAttempt) {
    let mark = attempt.call.unwrap_or(CallMark::of(call));
    let counted = claim.sandbox.egress.calls().get_mut(&mark).map(|(of, count)| {
        *count = count.saturating_add(1);
        (*of, *count)
    });
    let event = match counted {
        Some((of, ..=MOST_OF_A_CALL)) => attempted(of, attempt),
        Some((_, count)) if count == MOST_OF_A_CALL + 1 => left_out(),
        Some(_) => return,
        None => {
            told.strays += 1;
            if told.stray_hosts.len() < MOST_STRAYS {
                told.stray_hosts.insert(attempt.host);
            }
            return;
        }
    };
    write(claim, event).await;
}

/// Tells what is of no call, and what was missed. Where somebody else reads at this moment, they tell it.
async fn warn(claim: &Claim) {
    let Some(mut told) = claim.sandbox.egress.told.try_lock() else { return };
    let (missed, strays) = (std::mem::take(&mut told.missed), std::mem::take(&mut told.strays));
    let hosts = std::mem::take(&mut told.stray_hosts);
    if missed > 0 {
        let message =
            format!("Programs tried to reach hosts faster than it could be read: {missed} tries are not shown.");
        write(claim, warning_event("EGRESS_LEFT_OUT", message)).await;
    }
    if strays > 0 {
        let message = format!(
            "Programs tried to reach hosts in a way that is none of these calls: {strays} tries, among them to {:?}.",
            hosts
        );
        write(claim, warning_event("EGRESS_OF_NO_CALL", message)).await;
    }
}

async fn write(claim: &Claim, event: Event) {
    if claim.journal.delta(event, false).await.is_err() {
        claim.signal.trip(StopCause::LeaseLost);
    }
}

fn attempted(of: ToolCallId, attempt: EgressAttempt) -> Event {
    let EgressAttempt { call: _, host, port, verdict, reason } = attempt;
    Event::SandboxEgress { tool_call_id: of, host, port, verdict, reason }
}

fn left_out() -> Event {
    let message = format!("A tool call tried to reach more than {MOST_OF_A_CALL} hosts; the rest is not shown.");
    warning_event("EGRESS_LEFT_OUT", message)
}

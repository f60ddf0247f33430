//! The loop.

use std::sync::Arc;

use futures_util::future::{Either, select};

use super::claim::{Claim, Ports};
use super::conversation::Conversation;
use super::halt::Halt;
use super::resume::{Position, resume};
use super::{ending, heartbeat};
use crate::execution::{Claimed, StopSignal};
use crate::model_call::run::Place;
use crate::{model_call, tool_call};

/// How a claim ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The execution is terminal.
    Finished,
    /// The execution was given back for another worker.
    GivenBack,
    /// Another worker holds it, or the store does not take its end: it will be claimed again.
    Abandoned,
}

/// Runs a claimed execution until it ends, is given back, or is lost to another worker.
///
/// `signal` ends it from outside. The future must be driven to its end, also after the signal: that is how calls
/// settle.
pub async fn run(ports: Arc<Ports>, claimed: Claimed, signal: Arc<StopSignal>) -> Ended {
    let claim = Claim::new(ports, claimed, signal);
    let work = std::pin::pin!(work(&claim));
    let beat = std::pin::pin!(heartbeat::beat(&claim));
    // Nothing is lost with the heartbeat: whatever it was writing has been written, for the end came behind it.
    let (Either::Left((ended, _)) | Either::Right((ended, _))) = select(work, beat).await;
    ended
}

async fn work(claim: &Claim) -> Ended {
    let halt = match resume(claim).await {
        Ok((conversation, position)) => iterate(claim, conversation, position).await,
        Err(halt) => halt,
    };
    ending::end(claim, halt).await
}

async fn iterate(claim: &Claim, mut conversation: Conversation, mut position: Position) -> Halt {
    loop {
        match step(claim, &mut conversation, position).await {
            Ok(next) => position = next,
            Err(halt) => return halt,
        }
    }
}

/// From one settled place to the next.
async fn step(claim: &Claim, conversation: &mut Conversation, position: Position) -> Result<Position, Halt> {
    // Where time runs out in a step, that step is the one to be named, though it is driven to its end first.
    if claim.signal.cause().is_none() {
        claim.moving().step = position.step();
    }
    match position {
        Position::NextIteration => {
            let next = claim.next_iteration(conversation);
            ask(claim, conversation, Place::Next(next)).await
        }
        Position::ModelCall(iteration) => ask(claim, conversation, Place::Open(iteration.number)).await,
        // Their rows are open: each is driven to its recorded end, also when it must not begin any more.
        Position::ToolCalls(planned) => {
            let results = tool_call::run::run_all(claim, planned).await?;
            conversation.add_results(results);
            Ok(Position::NextIteration)
        }
    }
}

async fn ask(claim: &Claim, conversation: &mut Conversation, place: Place) -> Result<Position, Halt> {
    claim.check_stop()?;
    let reply = model_call::run::run(claim, conversation, place).await?;
    conversation.add_reply(&reply);
    Ok(Position::ToolCalls(reply.tool_calls))
}

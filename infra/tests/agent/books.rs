//! The books of an execution: rows, totals and log, and what must be true of them once it has ended.

use std::collections::{BTreeMap, BTreeSet};

use domain::artifact::sha256_hex;
use domain::event::{Event, EventRecord};
use domain::execution::{AgentIteration, Execution, ExecutionRef, IterationRecord, StopCode};
use domain::ids::{ModelCallId, ToolCallId};
use domain::model_call::{CallState, Message, ModelCall, load_request};
use domain::money::NanoUsd;
use domain::sandbox::SandboxState;
use domain::tool_call::{ToolCall, ToolCallState};

use crate::played_model::Asked;
use crate::stage::Stage;

pub struct Books {
    pub execution: Execution,
    pub transcript: Vec<IterationRecord>,
    pub log: Vec<EventRecord>,
    pub asked: Vec<Asked>,
}

impl Books {
    pub async fn read(stage: &Stage, execution: ExecutionRef) -> Self {
        let transcript = stage.stores.reader.transcript(execution).await.unwrap();
        let segments = stage.stores.log.read(execution, 0, usize::MAX).await.unwrap();
        let lines = segments.iter().flat_map(|segment| segment.lines_after(0));
        let log = lines.map(|(_, line)| serde_json::from_slice(&line).unwrap()).collect();
        let asked = stage.model.asked(execution.id);
        Self { execution: stage.execution(execution).await, transcript, log, asked }
    }

    /// Reads them and asserts what holds for every execution that has ended.
    pub async fn closed(stage: &Stage, execution: ExecutionRef) -> Self {
        let books = Self::read(stage, execution).await;
        books.assert_totals();
        books.assert_log();
        books.assert_requests();
        books.assert_stored_requests(stage).await;
        let sandboxes = stage.stores.reader.sandboxes(execution.scope(), &[execution.id]).await.unwrap();
        let open = sandboxes.iter().filter(|(_, sandbox)| sandbox.state != SandboxState::Gone).count();
        assert_eq!(open, 0, "{sandboxes:?}");
        books
    }

    pub fn code(&self) -> StopCode {
        self.execution.progress.stop_reason.as_ref().unwrap().code
    }

    pub fn model_calls(&self) -> impl Iterator<Item = &ModelCall> {
        self.transcript.iter().flat_map(|record| &record.model_calls)
    }

    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.transcript.iter().flat_map(|record| &record.tool_calls)
    }

    /// State and error code of each tool call.
    pub fn tool_ends(&self) -> Vec<(ToolCallState, &str)> {
        self.tool_calls().map(|call| (call.state, call.error.as_ref().map_or("", |(code, _)| code.as_str()))).collect()
    }

    fn assert_totals(&self) {
        let Execution { progress, .. } = &self.execution;
        assert!(progress.status.is_terminal(), "{progress:?}");
        assert!(self.model_calls().all(|call| call.state != CallState::Started), "{:?}", self.transcript);
        assert!(self.tool_calls().all(|call| call.state != ToolCallState::Started), "{:?}", self.transcript);
        assert!(self.transcript.iter().all(|record| record.iteration.ended_at.is_some()), "{:?}", self.transcript);
        let used = progress.used;
        assert_eq!((used.reserved, used.reserved_tokens), (NanoUsd::ZERO, 0));
        assert_eq!(used.spent, self.model_calls().map(|call| call.cost).sum());
        assert_eq!(used.tokens, self.model_calls().map(|call| call.usage.total()).sum::<u64>());
        assert_eq!(used.model_calls as usize, self.model_calls().count());
        for lost in self.model_calls().filter(|call| call.state == CallState::Lost) {
            assert!(lost.estimated);
            assert_eq!((lost.cost, lost.usage.total()), (lost.reserved, lost.reserved_tokens));
        }
        // A call that was lost and repeated is one call.
        let ran = self.tool_calls().filter(|call| call.state != ToolCallState::Refused);
        let places: BTreeSet<_> = ran.map(|call| (call.iteration, call.ordinal)).collect();
        assert_eq!(used.tool_calls as usize, places.len(), "{:?}", self.tool_ends());
    }

    fn assert_log(&self) {
        let sequences: Vec<u64> = self.log.iter().map(|record| record.sequence).collect();
        assert_eq!(sequences, (1..self.execution.next_sequence).collect::<Vec<_>>());
        assert!(self.log.last().unwrap().is_terminal());
        assert_eq!(self.log.iter().filter(|record| record.is_terminal()).count(), 1);
        let mut models: BTreeMap<ModelCallId, (u32, String)> = BTreeMap::new();
        let mut tools: BTreeMap<ToolCallId, u32> = BTreeMap::new();
        for record in &self.log {
            match &record.event {
                Event::ModelCallStarted { model_call_id, .. } => {
                    assert_eq!(models.insert(*model_call_id, (0, String::new())), None);
                }
                Event::ModelCallDelta { model_call_id, text } => {
                    models.get_mut(model_call_id).unwrap().1.push_str(text);
                }
                Event::ModelCallFinished { model_call_id, .. } => models.get_mut(model_call_id).unwrap().0 += 1,
                Event::ToolCallStarted { tool_call_id, .. } => assert_eq!(tools.insert(*tool_call_id, 0), None),
                Event::ToolCallFinished { tool_call_id, .. } => *tools.get_mut(tool_call_id).unwrap() += 1,
                _ => {}
            }
        }
        assert!(models.values().all(|(ends, _)| *ends == 1) && models.len() == self.model_calls().count());
        assert!(tools.values().all(|ends| *ends == 1) && tools.len() == self.tool_calls().count());
        for call in self.model_calls().filter(|call| call.state == CallState::Settled) {
            assert_eq!(call.reply_text, domain::artifact::StoredText::Inline(models[&call.id].1.clone()));
        }
    }

    /// What is stored of each settled call's request, increment by increment, is what the model read; and the state that
    /// an iteration left is what the next one sent.
    async fn assert_stored_requests(&self, stage: &Stage) {
        let calls: Vec<ModelCall> = self.model_calls().cloned().collect();
        let mut states: BTreeMap<u32, String> = BTreeMap::new();
        for call in calls.iter().filter(|call| call.state == CallState::Settled) {
            let scope = self.execution.reference().scope();
            let stored = load_request(&*stage.ports.artifacts, scope, &calls, call.id).await.unwrap().unwrap();
            let messages: Vec<Message> =
                stored.into_iter().map(|message| serde_json::from_value(message).unwrap()).collect();
            let turn = call.iteration as usize - 1;
            let asked = self.asked.iter().find(|asked| asked.turn == turn).unwrap();
            assert_eq!(sha256_hex(&serde_json::to_vec(&messages).unwrap()), asked.digest, "{messages:?}");
            let lines: String = messages.iter().map(|message| serde_json::to_string(message).unwrap() + "\n").collect();
            states.insert(call.iteration, sha256_hex(lines.as_bytes()));
        }
        for AgentIteration { number, agent_state_ref, .. } in self.transcript.iter().map(|record| &record.iteration) {
            if let (Some(named), Some(sent)) = (agent_state_ref, states.get(&(number + 1))) {
                assert_eq!(named, sent, "after iteration {number}");
            }
        }
    }

    /// A settled call was sent once, a lost one at most once, and no turn again once a later one was asked for.
    fn assert_requests(&self) {
        assert!(self.asked.is_sorted_by_key(|asked| asked.turn), "{:?}", self.asked);
        for record in &self.transcript {
            let count =
                |wanted: &[CallState]| record.model_calls.iter().filter(|call| wanted.contains(&call.state)).count();
            let (settled, unsure) =
                (count(&[CallState::Settled]), count(&[CallState::Lost, CallState::Cancelled, CallState::Failed]));
            let turn = record.iteration.number as usize - 1;
            let sent: Vec<_> = self.asked.iter().filter(|asked| asked.turn == turn).collect();
            assert!(settled <= 1 && (settled..=settled + unsure).contains(&sent.len()), "{record:?} {sent:?}");
            assert!(sent.windows(2).all(|pair| pair[0].digest == pair[1].digest), "{sent:?}");
        }
    }
}

//! A PlayedModel answers by the number of assistant messages before it, so that a repeated request gets the same reply.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use domain::artifact::sha256_hex;
use domain::execution::CallContext;
use domain::ids::ExecutionId;
use domain::model_call::{
    DeltaSink, FinishReason, Message, ModelCallEnd, ModelFailure, ModelFailureKind, ModelOutcome, ModelReply,
    ModelRequest, ModelRuntime,
};
use domain::money::TokenUsage;
use tokio::sync::Semaphore;

/// One reply.
#[derive(Debug, Clone)]
pub struct Turn {
    pub text: &'static str,
    /// Name and arguments.
    pub calls: Vec<(&'static str, String)>,
    pub finish: FinishReason,
    pub then: Then,
}

/// What comes behind the text and the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The end of the reply.
    Ends,
    /// The end of the reply, once the test lets it.
    IsHeld,
    /// Nothing until it is cancelled.
    Stalls,
    /// Nothing until the time that the call has is over, which it reports as a timeout of its own.
    TimesOut,
}

impl Turn {
    pub fn answer(text: &'static str) -> Self {
        Self { text, calls: Vec::new(), finish: FinishReason::Stop, then: Then::Ends }
    }

    pub fn calls(text: &'static str, calls: Vec<(&'static str, String)>) -> Self {
        Self { text, calls, finish: FinishReason::ToolCalls, then: Then::Ends }
    }

    pub fn stalling(text: &'static str) -> Self {
        Self { then: Then::Stalls, ..Self::answer(text) }
    }
}

/// Arguments of `note`.
pub fn note(text: impl std::fmt::Display) -> (&'static str, String) {
    ("note", serde_json::json!({"text": text.to_string()}).to_string())
}

/// Arguments of `run_shell`.
pub fn shell(command: impl std::fmt::Display) -> (&'static str, String) {
    ("run_shell", serde_json::json!({"command": command.to_string()}).to_string())
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    pub turn: usize,
    pub digest: String,
    /// What the tools said to the last reply, in order.
    pub results: Vec<String>,
    pub output_cap: u64,
}

type Hook = Box<dyn Fn(usize) + Send>;

/// The tokens of every whole reply.
pub const USAGE: TokenUsage = TokenUsage { input: 100, cached_input: 0, output: 20, reasoning: 0 };

pub struct PlayedModel {
    scripts: Mutex<BTreeMap<ExecutionId, Vec<Turn>>>,
    asked: Mutex<BTreeMap<ExecutionId, Vec<Asked>>>,
    hook: Mutex<Option<Hook>>,
    held: Semaphore,
}

impl Default for PlayedModel {
    fn default() -> Self {
        Self { scripts: Mutex::default(), asked: Mutex::default(), hook: Mutex::default(), held: Semaphore::new(0) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

impl PlayedModel {
    pub fn script(&self, execution: ExecutionId, turns: Vec<Turn>) {
        lock(&self.scripts).insert(execution, turns);
    }

    /// Is called with the turn before each reply.
    pub fn hook(&self, hook: impl Fn(usize) + Send + 'static) {
        *lock(&self.hook) = Some(Box::new(hook));
    }

    /// Lets one held reply end.
    pub fn release(&self) {
        self.held.add_permits(1);
    }

    pub fn unhook(&self) {
        *lock(&self.hook) = None;
    }

    pub fn asked(&self, execution: ExecutionId) -> Vec<Asked> {
        lock(&self.asked).get(&execution).cloned().unwrap_or_default()
    }

    fn take_note(&self, execution: ExecutionId, request: &ModelRequest) -> Turn {
        let is_assistant = |message: &Message| matches!(message, Message::Assistant { .. });
        let turn = request.messages.iter().filter(|message| is_assistant(message)).count();
        let result = |message: &Message| match message {
            Message::Tool { content, .. } => Some(content.clone()),
            Message::System { .. } | Message::User { .. } | Message::Assistant { .. } => None,
        };
        let last = request.messages.iter().rposition(is_assistant).unwrap_or(0);
        let asked = Asked {
            turn,
            digest: sha256_hex(&serde_json::to_vec(&request.messages).unwrap()),
            results: request.messages[last..].iter().filter_map(result).collect(),
            output_cap: request.max_output_tokens,
        };
        lock(&self.asked).entry(execution).or_default().push(asked);
        if let Some(hook) = &*lock(&self.hook) {
            hook(turn);
        }
        lock(&self.scripts)[&execution][turn].clone()
    }
}

#[async_trait]
impl ModelRuntime for PlayedModel {
    async fn call(&self, context: &CallContext, request: &ModelRequest, deltas: &dyn DeltaSink) -> ModelOutcome {
        let turn = self.take_note(context.execution.id, request);
        for word in turn.text.split_inclusive(' ') {
            deltas.text(word).await;
            // Lets the log writer write what came so far.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        if turn.then == Then::IsHeld {
            self.held.acquire().await.unwrap().forget();
        }
        let end = match turn.then {
            Then::Ends | Then::IsHeld if !context.cancel.is_cancelled() => ModelCallEnd::Finished(turn.finish),
            Then::Ends | Then::IsHeld | Then::Stalls => {
                context.cancel.cancelled().await;
                ModelCallEnd::Cancelled
            }
            Then::TimesOut => {
                tokio::time::sleep(context.time_left).await;
                ModelCallEnd::Failed(ModelFailure::new(ModelFailureKind::Timeout, "took too long"))
            }
        };
        let tool_calls = turn.calls.into_iter().map(|(name, arguments)| (name.to_owned(), arguments)).collect();
        let usage = matches!(end, ModelCallEnd::Finished(_)).then_some(USAGE);
        let reply = ModelReply { text: turn.text.to_owned(), tool_calls, usage };
        ModelOutcome { reply, end, first_delta_ms: Some(1), was_sent: true }
    }
}

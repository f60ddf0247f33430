//! A running scripted model and a client of it.

use std::sync::Mutex;
use std::time::Duration;

use api::scripted_model::{Script, ScriptedModel, ScriptedModelOptions};
use async_trait::async_trait;
use domain::ctx::Principal;
use domain::execution::{CallContext, ExecutionRef};
use domain::ids::{ExecutionId, PrincipalId, TenantId, ToolCallId};
use domain::model_call::{
    DeltaSink, Message, ModelCallEnd, ModelEndpoint, ModelOutcome, ModelRequest, ModelRuntime, ReplyMode,
    RequestedToolCall,
};
use infra::model::{CallLimits, OpenAiCompatible};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

pub struct Stage {
    pub url: String,
    pub shutdown: CancellationToken,
    pub tasks: TaskTracker,
    _stop: DropGuard,
}

impl Stage {
    pub async fn open(script: Script) -> Self {
        let listen = "127.0.0.1:0".parse().unwrap();
        let server = ScriptedModel::bind(ScriptedModelOptions { listen, script }).await.unwrap();
        let (url, shutdown, tasks) = (server.url(), CancellationToken::new(), TaskTracker::new());
        tasks.spawn(server.serve(shutdown.clone()));
        tasks.close();
        Self { url, _stop: shutdown.clone().drop_guard(), shutdown, tasks }
    }

    pub fn request(&self, model: &str, messages: Vec<Message>, mode: ReplyMode) -> ModelRequest {
        ModelRequest {
            endpoint: ModelEndpoint { base_url: self.url.clone(), deployment: model.to_owned(), api_key: None },
            messages: messages.into(),
            tools: Vec::new(),
            parameters: serde_json::Map::new(),
            max_output_tokens: 100_000,
            mode,
        }
    }

    pub async fn ask(&self, request: &ModelRequest) -> (ModelOutcome, Vec<String>) {
        let limits =
            CallLimits { idle: Duration::from_secs(2), first_byte: Duration::from_secs(2), ..CallLimits::default() };
        let client = infra::http::client(Duration::from_secs(2)).unwrap();
        let sink = Pieces::default();
        let outcome = OpenAiCompatible::new(client, limits).call(&context(), request, &sink).await;
        (outcome, sink.0.into_inner().unwrap())
    }

    pub async fn stats(&self) -> serde_json::Value {
        let url = self.url.replace("/v1", "/stats");
        infra::http::client(Duration::from_secs(2)).unwrap().get(url).send().await.unwrap().json().await.unwrap()
    }
}

#[derive(Default)]
struct Pieces(Mutex<Vec<String>>);

#[async_trait]
impl DeltaSink for Pieces {
    async fn text(&self, piece: &str) {
        self.0.lock().unwrap().push(piece.to_owned());
    }
}

fn context() -> CallContext {
    let tenant_id = TenantId::from_bits(1);
    CallContext {
        principal: Principal { id: PrincipalId::from_bits(2), tenant_id, project_id: None },
        execution: ExecutionRef { tenant_id, id: ExecutionId::from_bits(3) },
        attempt: 1,
        time_left: Duration::from_secs(60),
        cancel: CancellationToken::new(),
    }
}

pub fn user(text: &str) -> Vec<Message> {
    vec![Message::System { content: "instructions".to_owned() }, Message::User { content: text.to_owned() }]
}

/// Puts a reply and the result of each of its calls behind the conversation.
pub fn go_on(messages: &mut Vec<Message>, outcome: &ModelOutcome, mut run: impl FnMut(&str, &str) -> String) {
    let mut results = Vec::new();
    let mut tool_calls = Vec::new();
    for (name, arguments) in &outcome.reply.tool_calls {
        let id = ToolCallId::from_bits(messages.len() as u128 * 100 + results.len() as u128);
        results.push(Message::Tool { tool_call_id: id.to_string(), content: run(name, arguments) });
        tool_calls.push(RequestedToolCall { id, name: name.clone(), arguments: arguments.clone() });
    }
    messages.push(Message::Assistant { content: outcome.reply.text.clone(), tool_calls });
    messages.extend(results);
}

#[track_caller]
pub fn assert_finished(outcome: &ModelOutcome) {
    assert!(matches!(outcome.end, ModelCallEnd::Finished(_)), "{:?}", outcome.end);
}

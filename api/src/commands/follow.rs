//! Follows an execution in the terminal: a line for what happens, the text and the output as they come.

use std::io::Write;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::graphql_client::Client;
use crate::wiring::WiringError;

const SUBSCRIPTION: &str = "subscription Follow($id: ID!) { executionEvents(executionId: $id) { payload } }";

/// How the execution ended.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Whether it gave its final answer.
    pub has_succeeded: bool,
}

/// Prints events until the last one.
pub(super) async fn follow(client: &Client, execution: &str) -> Result<Outcome, WiringError> {
    let url = format!("{}/graphql", client.url.replacen("http", "ws", 1));
    let mut request = url.into_client_request()?;
    request.headers_mut().insert("sec-websocket-protocol", http::HeaderValue::from_static("graphql-transport-ws"));
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await?;
    let init = json!({ "type": "connection_init", "payload": { "authorization": format!("Bearer {}", client.token) } });
    let subscribe = json!({
        "id": "1", "type": "subscribe", "payload": { "query": SUBSCRIPTION, "variables": { "id": execution } },
    });
    socket.send(Message::text(init.to_string())).await?;
    let mut screen = Screen::default();
    while let Some(message) = socket.next().await {
        let Message::Text(text) = message? else { continue };
        let message: Value = serde_json::from_str(&text)?;
        match message["type"].as_str() {
            Some("connection_ack") => socket.send(Message::text(subscribe.to_string())).await?,
            Some("ping") => socket.send(Message::text(r#"{"type":"pong"}"#)).await?,
            Some("next") => screen.show(&message["payload"]["data"]["executionEvents"]["payload"])?,
            Some("error") => return Err(format!("the server refused to be followed: {}", message["payload"]).into()),
            Some("complete") => break,
            _ => {}
        }
    }
    Ok(Outcome { has_succeeded: screen.has_succeeded })
}

/// What was printed so far.
#[derive(Default)]
struct Screen {
    is_inside_line: bool,
    has_succeeded: bool,
}

impl Screen {
    fn show(&mut self, event: &Value) -> std::io::Result<()> {
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        match event["kind"].as_str().unwrap_or_default() {
            "IterationStarted" => self.line(&format!("── Iteration {} ──", event["iteration"])),
            "ModelCallStarted" if event["fallbackIndex"].as_u64().unwrap_or(0) > 0 => {
                let because = event["fallbackBecause"]["code"].as_str().unwrap_or_default();
                self.line(&format!(
                    "   model: {because}, so fallback {} is asked: {}",
                    event["fallbackIndex"],
                    text("alias")
                ))
            }
            "ModelCallRetried" => {
                let code = event["error"]["code"].as_str().unwrap_or_default();
                self.line(&format!(
                    "   model: {code}, try {} failed; again in {} ms",
                    event["tryNumber"], event["waitMs"]
                ))
            }
            "ModelCallDelta" | "SandboxOutput" => self.piece(&text("text")),
            "ModelCallFinished" => {
                let cost = event["cost"].as_i64().unwrap_or_default();
                let tokens =
                    event["usage"]["input"].as_u64().unwrap_or(0) + event["usage"]["output"].as_u64().unwrap_or(0);
                self.line(&format!("   model: {tokens} tokens, ${}", domain::money::NanoUsd(cost).to_usd_text()))
            }
            "ToolCallStarted" => self.line(&format!("▶ {}", text("tool"))),
            "ToolCallFinished" => {
                let exit = event["exitCode"].as_i64().map(|code| format!(", exit {code}")).unwrap_or_default();
                self.line(&format!("   {}: {}{exit}, {} ms", text("tool"), text("state"), event["durationMs"]))
            }
            "ArtifactCreated" => self.line(&format!("   artifact {} ({} bytes)", text("name"), event["byteSize"])),
            "SandboxStarted" => self.line(&format!("   sandbox {}: enforces {}", text("image"), event["enforced"])),
            "SandboxEgress" => {
                let port = event["port"].as_u64().map(|port| format!(":{port}")).unwrap_or_default();
                let why = event["reason"].as_str().map(|why| format!(" ({why})")).unwrap_or_default();
                self.line(&format!("   network {}: {}{port}{why}", text("verdict"), text("host")))
            }
            "ExecutionFinished" => {
                self.has_succeeded = event["stopReason"]["code"] == "FINAL_ANSWER";
                let reason = |key: &str| event["stopReason"][key].as_str().unwrap_or_default().to_owned();
                self.line(&format!("■ {} ({}): {}", text("status"), reason("code"), reason("message")))
            }
            _ => Ok(()),
        }
    }

    fn piece(&mut self, text: &str) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        self.is_inside_line = !text.ends_with('\n');
        out.flush()
    }

    fn line(&mut self, text: &str) -> std::io::Result<()> {
        let before = if std::mem::take(&mut self.is_inside_line) { "\n" } else { "" };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{before}{text}")?;
        out.flush()
    }
}

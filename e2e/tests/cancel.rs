//! Cancelling: at every stage of an execution it ends soon, once, and says so.

use std::time::{Duration, Instant};

use e2e::Result;
use e2e::agents::{AgentSpec, create};
use e2e::client::{Client, text};
use e2e::follow::{Follower, Received, whole_log};
use e2e::process::{Server, ServerOptions};
use serde_json::{Value, json};

/// Far less than what is under way would take, and far more than a busy machine needs.
const SOON: Duration = Duration::from_secs(30);
const LONG_BURST: &str = "deltas=600 over_ms=60000 notes=0";

/// A server that runs one execution at a time.
struct Bench {
    _data: tempfile::TempDir,
    _server: Server,
    client: Client,
}

impl Bench {
    fn start() -> Result<Self> {
        let data = tempfile::tempdir()?;
        let mut options = ServerOptions::new(&data.path().join("data"));
        options.environment.push(("VITRINE_CONCURRENCY".to_owned(), "1".to_owned()));
        let server = Server::start(&options)?;
        let client = server.client(server.api_key.as_deref().ok_or("no API key at the first start")?)?;
        Ok(Self { _data: data, _server: server, client })
    }

    /// Cancels and waits for the end, which must come soon.
    async fn cancel(&self, execution: &str) -> Result<Value> {
        let asked = Instant::now();
        let input = json!({ "executionId": execution });
        self.client.mutate("executionCancel", "ExecutionCancelInput", "execution { id }", input).await?;
        let state = self.client.ended(execution).await?;
        assert!(asked.elapsed() < SOON, "it took {:?}", asked.elapsed());
        Ok(state)
    }

    /// The receipt; asking again does not change it.
    async fn receipt(&self, execution: &str) -> Result<Value> {
        let selection = "receipt { outcome message modelCalls { id state cost { nanoUsd } } toolCalls { tool state } \
            chargedForCut { nanoUsd } charged { nanoUsd } reserved { nanoUsd } keptIterations keptArtifacts hasAnswer }";
        let input = json!({ "executionId": execution });
        let payload = self.client.mutate("executionCancel", "ExecutionCancelInput", selection, input).await?;
        Ok(payload["receipt"].clone())
    }

    /// Starts one and waits until an event of its log holds this text.
    async fn start_until(&self, agent: &str, task: &str, mark: &str) -> Result<String> {
        let execution = self.client.start(agent, task, "until").await?;
        let mut follower = Follower::open(&self.client, &execution, None).await?;
        while let Some(event) = follower.next().await? {
            if event.payload.contains(mark) {
                return Ok(execution);
            }
        }
        Err(format!("the execution ended without {mark}").into())
    }
}

#[tokio::test]
async fn a_queued_execution_ends_at_once_and_never_runs() -> Result {
    let bench = Bench::start()?;
    let agent = create(&bench.client, &AgentSpec::new("queue", "burst")).await?;
    let running = bench.start_until(&agent, LONG_BURST, "ModelCallDelta").await?;
    let queued = bench.client.start(&agent, "deltas=10 over_ms=100 notes=0", "queued").await?;
    assert_eq!(bench.client.execution(&queued).await?["status"], "QUEUED");
    let state = bench.cancel(&queued).await?;
    assert_eq!((state["status"].as_str(), state["attempt"].as_i64()), (Some("CANCELLED"), Some(0)));
    assert_eq!(number(&state["budget"]["modelCalls"]["used"])?, 0);
    let kinds = kinds(&whole_log(&bench.client, &queued).await?)?;
    assert_eq!(kinds, ["ExecutionQueued", "CancelRequested", "ExecutionFinished"]);
    let receipt = bench.receipt(&queued).await?;
    assert_eq!((&receipt["outcome"], &receipt["keptIterations"]), (&json!("CANCELLED"), &json!(0)), "{receipt}");
    assert_eq!(bench.client.execution(&running).await?["status"], "RUNNING");
    assert_eq!(bench.cancel(&running).await?["status"], "CANCELLED");
    Ok(())
}

#[tokio::test]
async fn a_streaming_model_call_is_ended_settled_and_its_text_kept() -> Result {
    let bench = Bench::start()?;
    let agent = create(&bench.client, &AgentSpec::new("stream", "burst")).await?;
    let execution = bench.start_until(&agent, LONG_BURST, "\"text\":\"d5 \"").await?;
    let state = bench.cancel(&execution).await?;
    assert_eq!(state["stopReason"]["code"], "CANCELLED");
    let call = &state["iterations"]["nodes"][0]["modelCalls"][0];
    assert_eq!(call["state"], "CANCELLED");
    assert!(text(call, "/replyText")?.starts_with("d0 d1 d2 d3 d4 d5 "), "{call}");
    assert_eq!(number(&state["budget"]["tokens"]["reserved"])?, 0, "a reservation is left");
    assert_eq!(number(&state["budget"]["cost"]["reserved"]["nanoUsd"])?, 0, "a reservation is left");
    let receipt = bench.receipt(&execution).await?;
    assert_eq!((&receipt["outcome"], &receipt["hasAnswer"]), (&json!("CANCELLED"), &json!(true)), "{receipt}");
    assert_eq!(receipt["modelCalls"].as_array().map(Vec::len), Some(1), "{receipt}");
    assert_eq!(receipt["chargedForCut"], receipt["modelCalls"][0]["cost"], "{receipt}");
    assert_eq!((&receipt["charged"], number(&receipt["reserved"]["nanoUsd"])?), (&receipt["chargedForCut"], 0));
    assert_ends_once(&bench.client, &execution).await?;

    // It makes room for the next one.
    let next = bench.client.start(&agent, "deltas=3 over_ms=10 notes=0", "next").await?;
    assert_eq!(bench.client.ended(&next).await?["answer"], "d0 d1 d2 ");
    Ok(())
}

#[tokio::test]
async fn a_command_in_the_sandbox_is_killed() -> Result {
    let bench = Bench::start()?;
    let agent = create(&bench.client, &AgentSpec::new("command", "tools").with_sandbox()).await?;
    // It ignores every polite signal, and so does its child.
    let command = "trap '' TERM INT HUP; (sleep 1000) & echo started; while :; do sleep 1; done";
    let task = json!({ "calls": [[{ "tool": "run_shell", "arguments": { "command": command } }]] }).to_string();
    let execution = bench.start_until(&agent, &task, "\"text\":\"started").await?;
    let state = bench.cancel(&execution).await?;
    assert_eq!(state["status"], "CANCELLED");
    let call = &state["iterations"]["nodes"][0]["toolCalls"][0];
    assert_eq!((call["state"].as_str(), call["error"]["code"].as_str()), (Some("CANCELLED"), Some("CANCELLED")));
    assert!(text(call, "/result")?.starts_with("started\n"), "{call}");
    assert_eq!(state["sandboxes"][0]["state"], "GONE");
    let receipt = bench.receipt(&execution).await?;
    assert_eq!(receipt["toolCalls"], json!([{ "tool": "run_shell", "state": "CANCELLED" }]), "{receipt}");
    assert_eq!((&receipt["modelCalls"], &receipt["keptIterations"]), (&json!([]), &json!(1)), "{receipt}");
    assert_ends_once(&bench.client, &execution).await
}

#[tokio::test]
async fn after_the_end_a_cancel_changes_nothing() -> Result {
    let bench = Bench::start()?;
    let agent = create(&bench.client, &AgentSpec::new("done", "echo")).await?;
    let execution = bench.client.start(&agent, "all done", "done").await?;
    let before = bench.client.ended(&execution).await?;
    let log = whole_log(&bench.client, &execution).await?;
    for _ in 0..3 {
        assert_eq!(bench.cancel(&execution).await?, before);
    }
    assert_eq!(bench.receipt(&execution).await?["outcome"], "ALREADY_ENDED");
    assert_eq!(whole_log(&bench.client, &execution).await?.len(), log.len());
    assert_ends_once(&bench.client, &execution).await
}

/// Many people press Stop at the same moment.
#[tokio::test]
async fn cancels_at_the_same_time_are_one_cancel() -> Result {
    let bench = Bench::start()?;
    let agent = create(&bench.client, &AgentSpec::new("crowd", "burst")).await?;
    let execution = bench.start_until(&agent, LONG_BURST, "ModelCallDelta").await?;
    let states = futures_util::future::try_join_all((0..8).map(|_| bench.cancel(&execution))).await?;
    assert!(states.iter().all(|state| *state == states[0]), "{states:?}");
    assert_eq!(states[0]["status"], "CANCELLED");
    assert_ends_once(&bench.client, &execution).await
}

async fn assert_ends_once(client: &Client, execution: &str) -> Result {
    let kinds = kinds(&whole_log(client, execution).await?)?;
    assert_eq!(kinds.iter().filter(|kind| *kind == "ExecutionFinished").count(), 1, "{kinds:?}");
    assert_eq!(kinds.last().map(String::as_str), Some("ExecutionFinished"));
    Ok(())
}

fn kinds(events: &[Received]) -> Result<Vec<String>> {
    events.iter().map(|event| text(&serde_json::from_str(&event.payload)?, "/kind")).collect()
}

/// A number that may be written as text.
fn number(value: &Value) -> Result<u64> {
    Ok(value.to_string().trim_matches('"').parse()?)
}

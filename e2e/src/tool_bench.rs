//! A bench for tools: a server, an agent that has every tool, and what became of its calls.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::Result;
use crate::agents::{AgentSpec, create};
use crate::client::{Client, text};
use crate::follow::whole_log;
use crate::process::{Server, ServerOptions};

/// A server and an agent with every tool.
pub struct Bench {
    _data: tempfile::TempDir,
    /// The server.
    pub server: Server,
    /// As whom it is asked.
    pub client: Client,
    /// The agent.
    pub agent: String,
    started: AtomicU32,
}

impl Bench {
    /// A bench with a data directory of its own.
    pub async fn start() -> Result<Self> {
        let data = tempfile::tempdir()?;
        let server = Server::start(&ServerOptions::new(&data.path().join("data")))?;
        let client = server.client(server.api_key.as_deref().ok_or("no API key at the first start")?)?;
        let mut spec = AgentSpec::new("worker", "tools").with_sandbox();
        spec.tools.push("browse".to_owned());
        let agent = create(&client, &spec).await?;
        Ok(Self { _data: data, server, client, agent, started: AtomicU32::new(0) })
    }

    /// Runs these groups of calls one group after another, those of a group side by side.
    pub async fn run(&self, groups: Value) -> Result<Ran> {
        let task = json!({ "calls": groups, "answer": "done" }).to_string();
        let key = self.started.fetch_add(1, Ordering::Relaxed);
        let execution = self.client.start(&self.agent, &task, &key.to_string()).await?;
        let state = self.client.ended(&execution).await?;
        assert_eq!(state["answer"], "done", "{state}");
        let iterations = state["iterations"]["nodes"].as_array().ok_or("no iterations")?;
        let calls = iterations.iter().filter_map(|iteration| iteration["toolCalls"].as_array()).flatten().cloned();
        Ok(Ran { calls: calls.collect(), execution, state })
    }

    /// The events of this kind.
    pub async fn events(&self, ran: &Ran, kind: &str) -> Result<Vec<Value>> {
        let log = whole_log(&self.client, &ran.execution).await?;
        let events = log.iter().map(|event| serde_json::from_str(&event.payload));
        let events = events.collect::<std::result::Result<Vec<Value>, _>>()?;
        Ok(events.into_iter().filter(|event| event["kind"] == kind).collect())
    }

    /// A file that an event names, and its bytes.
    pub async fn file(&self, event: &Value) -> Result<(Value, Vec<u8>)> {
        let document = "query F($id: ID!) { node(id: $id) { ... on Artifact { name byteSize sha256 downloadUrl } } }";
        let id = event["artifactId"].as_str().ok_or_else(|| format!("no file in {event}"))?;
        let file = self.client.query(document, json!({ "id": id })).await?["node"].take();
        let bytes = self.client.download(&text(&file, "/downloadUrl")?).await?;
        Ok((file, bytes))
    }

    /// Stops the server, which must end in order.
    pub fn stop(self) -> Result {
        assert!(self.server.stop()?.success());
        Ok(())
    }
}

/// An execution that has ended.
pub struct Ran {
    /// Its id.
    pub execution: String,
    /// Its tool calls, in their order.
    pub calls: Vec<Value>,
    /// The execution at its end.
    pub state: Value,
}

impl Ran {
    /// What the model read of a call.
    pub fn result(&self, call: usize) -> &str {
        self.calls.get(call).and_then(|call| call["result"].as_str()).unwrap_or("no result")
    }

    /// The code of a call's error.
    pub fn code(&self, call: usize) -> &str {
        self.calls.get(call).and_then(|call| call["error"]["code"].as_str()).unwrap_or("no error")
    }
}

/// One call of a tool.
pub fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool": tool, "arguments": arguments })
}

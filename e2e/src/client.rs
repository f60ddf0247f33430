//! GraphQL over HTTP.

use std::time::Duration;

use serde_json::{Value, json};

use crate::Result;

const END_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// A caller of one server.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    /// Base URL.
    pub url: String,
    /// API key.
    pub api_key: String,
}

impl Client {
    /// A caller with this key.
    pub fn new(url: &str, api_key: &str) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().timeout(Duration::from_secs(30)).no_proxy().build()?;
        Ok(Self { http, url: url.to_owned(), api_key: api_key.to_owned() })
    }

    /// Sends a document and returns the whole answer.
    pub async fn send(&self, query: &str, variables: Value) -> Result<Value> {
        let request = self
            .http
            .post(format!("{}/graphql", self.url))
            .bearer_auth(&self.api_key)
            .header("content-type", "application/json")
            .body(json!({ "query": query, "variables": variables }).to_string());
        Ok(serde_json::from_str(&request.send().await?.text().await?)?)
    }

    /// Sends a document and returns its data; errors are an error.
    pub async fn query(&self, query: &str, variables: Value) -> Result<Value> {
        let mut answer = self.send(query, variables).await?;
        match answer.get("errors") {
            None => Ok(answer["data"].take()),
            Some(errors) => Err(format!("errors: {errors}").into()),
        }
    }

    /// Runs a mutation whose payload has `userErrors`; one of them is an error.
    pub async fn mutate(&self, field: &str, input_type: &str, selection: &str, input: Value) -> Result<Value> {
        let document = format!(
            "mutation M($input: {input_type}!) {{ {field}(input: $input) {{ {selection} userErrors {{ code message path }} }} }}"
        );
        let mut data = self.query(&document, json!({ "input": input })).await?;
        let mut payload = data[field].take();
        match payload.as_object_mut().and_then(|payload| payload.remove("userErrors")) {
            Some(Value::Array(faults)) if faults.is_empty() => Ok(payload),
            faults => Err(format!("{field}: {}", faults.unwrap_or_default()).into()),
        }
    }

    /// Runs a mutation that must be refused: code and path of each of its `userErrors`, as `CODE input.field`.
    pub async fn refusals(&self, field: &str, input_type: &str, input: Value) -> Result<Vec<String>> {
        let document = format!(
            "mutation M($input: {input_type}!) {{ {field}(input: $input) {{ userErrors {{ code message path }} }} }}"
        );
        let data = self.query(&document, json!({ "input": input })).await?;
        let faults = data[field]["userErrors"].as_array().ok_or_else(|| format!("no userErrors in {data}"))?;
        let path = |fault: &Value| {
            fault["path"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(".")
        };
        Ok(faults.iter().map(|fault| format!("{} {}", fault["code"].as_str().unwrap_or("?"), path(fault))).collect())
    }

    /// The execution when it has ended.
    pub async fn ended(&self, id: &str) -> Result<Value> {
        let deadline = tokio::time::Instant::now() + END_WITHIN;
        loop {
            let state = self.execution(id).await?;
            if state["status"].as_str().is_some_and(is_terminal) {
                return Ok(state);
            }
            if tokio::time::Instant::now() > deadline {
                return Err(format!("the execution does not end: {state}").into());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Starts an execution and returns its id.
    pub async fn start(&self, agent: &str, task: &str, key: &str) -> Result<String> {
        let input = json!({ "agentId": agent, "task": task, "idempotencyKey": key });
        let payload = self.mutate("executionStart", "ExecutionStartInput", "execution { id }", input).await?;
        text(&payload, "/execution/id")
    }

    /// An execution with what tests look at.
    pub async fn execution(&self, id: &str) -> Result<Value> {
        let document = "query E($id: ID!) { execution(id: $id) { id status answer attempt currentIteration lastSequence \
            stopReason { code message limit iteration } \
            budget { cost { spent { nanoUsd } reserved { nanoUsd } } tokens { used reserved } modelCalls { used } toolCalls { used } } \
            artifacts { id name mediaType byteSize sha256 downloadUrl } sandboxes { id state enforced } \
            iterations(first: 100) { nodes { number state \
              modelCalls { id state estimated cost { nanoUsd } usage { input output total } finishReason replyText error { code message } } \
              toolCalls { id tool state result exitCode error { code message } ordinal truncated lossy } } } } }";
        Ok(self.query(document, json!({ "id": id })).await?["execution"].take())
    }

    /// Fetches a signed link.
    pub async fn download(&self, link: &str) -> Result<Vec<u8>> {
        let url = if link.starts_with('/') { format!("{}{link}", self.url) } else { link.to_owned() };
        Ok(self.http.get(url).send().await?.error_for_status()?.bytes().await?.to_vec())
    }
}

/// The text at a JSON pointer.
pub fn text(value: &Value, pointer: &str) -> Result<String> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.map(str::to_owned).ok_or_else(|| format!("no text at {pointer} in {value}").into())
}

/// Whether an execution with this status has ended.
pub fn is_terminal(status: &str) -> bool {
    ["SUCCEEDED", "FAILED", "STOPPED", "CANCELLED"].contains(&status)
}

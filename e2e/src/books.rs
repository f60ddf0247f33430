//! The books of an execution that has ended: its rows, its totals and its log, and what must be true of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::Result;
use crate::client::Client;
use crate::follow::whole_log;
use crate::process::ModelRequest;

const DOCUMENT: &str = "query B($id: ID!) { execution(id: $id) { id status answer attempt lastSequence \
    stopReason { code message } sandboxes { id state } \
    budget { cost { spent { nanoUsd } reserved { nanoUsd } } tokens { used reserved } modelCalls { used } toolCalls { used } } \
    iterations(first: 100) { nodes { number state \
      modelCalls { id state estimated replyText cost { nanoUsd } reservedCost { nanoUsd } usage { total } } \
      toolCalls { id ordinal tool state idempotencyKey error { code } } } } } }";

/// What the API tells about an execution.
pub struct Books {
    /// The execution with its iterations and calls.
    pub execution: Value,
}

impl Books {
    /// Reads the rows.
    pub async fn read(client: &Client, id: &str) -> Result<Self> {
        let execution = client.query(DOCUMENT, json!({ "id": id })).await?["execution"].take();
        Ok(Self { execution })
    }

    /// The number of its last NodeAttempt.
    pub fn attempt(&self) -> u64 {
        number(&self.execution["attempt"])
    }

    fn iterations(&self) -> &[Value] {
        list(&self.execution["iterations"]["nodes"])
    }

    fn model_calls(&self) -> impl Iterator<Item = &Value> {
        self.iterations().iter().flat_map(|iteration| list(&iteration["modelCalls"]))
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Numbers beyond 32 bits come as texts. What is no number is the greatest one, which equals no sum.
fn number(value: &Value) -> u64 {
    let text = value.as_str().and_then(|text| text.parse().ok());
    value.as_u64().or(text).unwrap_or(u64::MAX)
}

/// Nothing is open, nothing is reserved, and the totals are the sums of the rows.
pub fn assert_closed(books: &Books) {
    let Books { execution } = books;
    let budget = &execution["budget"];
    let sum = |member: &str| books.model_calls().map(|call| number(&call[member]["nanoUsd"])).sum::<u64>();
    for call in books.model_calls() {
        let state = call["state"].as_str().unwrap_or_default();
        assert!(["SETTLED", "FAILED", "CANCELLED", "LOST"].contains(&state), "{call}");
        if state == "LOST" {
            assert_eq!((&call["estimated"], &call["cost"]), (&json!(true), &call["reservedCost"]), "{call}");
        }
    }
    assert_eq!(number(&budget["cost"]["spent"]["nanoUsd"]), sum("cost"));
    assert_eq!(number(&budget["cost"]["reserved"]["nanoUsd"]), 0);
    assert_eq!(number(&budget["tokens"]["reserved"]), 0);
    let tokens: u64 = books.model_calls().map(|call| number(&call["usage"]["total"])).sum();
    assert_eq!(number(&budget["tokens"]["used"]), tokens);
    assert_eq!(number(&budget["modelCalls"]["used"]), books.model_calls().count() as u64);
    for iteration in books.iterations() {
        assert_one_result_each(iteration);
    }
    for sandbox in list(&execution["sandboxes"]) {
        assert_eq!(sandbox["state"], "GONE", "{sandbox}");
    }
}

/// Each call of a reply has one result; what was lost before it was repeated under the same key.
fn assert_one_result_each(iteration: &Value) {
    let mut places: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for call in list(&iteration["toolCalls"]) {
        places.entry(number(&call["ordinal"])).or_default().push(call);
    }
    for (ordinal, calls) in places {
        let ended: Vec<_> = calls.iter().filter(|call| call["state"] != "LOST").collect();
        assert_eq!(ended.len(), 1, "place {ordinal} of {iteration}");
        assert_ne!(ended[0]["state"], "STARTED");
        assert!(calls.iter().all(|call| call["idempotencyKey"] == calls[0]["idempotencyKey"]), "{calls:?}");
    }
}

/// The log has no hole, each call in it ends once, attempts count up, and the deltas of a settled call are its reply.
pub async fn assert_log_is_whole(client: &Client, books: &Books) -> Result {
    let log = whole_log(client, books.execution["id"].as_str().ok_or("no id")?).await?;
    let sequences: Vec<u64> = log.iter().map(|event| event.sequence).collect();
    let head = number(&books.execution["lastSequence"]);
    assert_eq!(sequences, (1..=head).collect::<Vec<_>>());
    let mut attempts = Vec::new();
    let mut deltas: BTreeMap<String, String> = BTreeMap::new();
    let mut open: BTreeMap<String, u32> = BTreeMap::new();
    let mut last = Value::Null;
    for event in &log {
        let payload: Value = serde_json::from_str(&event.payload)?;
        let id = |member: &str| payload[member].as_str().unwrap_or_default().to_owned();
        match payload["kind"].as_str().unwrap_or_default() {
            "NodeAttemptStarted" => attempts.push(number(&payload["attempt"])),
            "ModelCallDelta" => deltas.entry(id("modelCallId")).or_default().push_str(&id("text")),
            "ModelCallStarted" => assert_eq!(open.insert(id("modelCallId"), 0), None, "{payload}"),
            "ToolCallStarted" => assert_eq!(open.insert(id("toolCallId"), 0), None, "{payload}"),
            "ModelCallFinished" => *open.get_mut(&id("modelCallId")).ok_or("finished before it started")? += 1,
            "ToolCallFinished" => *open.get_mut(&id("toolCallId")).ok_or("finished before it started")? += 1,
            _ => {}
        }
        last = payload;
    }
    assert_eq!(last["kind"], "ExecutionFinished");
    assert!(attempts.is_sorted_by(|a, b| a < b), "{attempts:?}");
    assert_eq!(attempts.last(), Some(&books.attempt()));
    assert!(open.values().all(|ends| *ends == 1), "a call ended not exactly once: {open:?}");
    for call in books.model_calls().filter(|call| call["state"] == "SETTLED") {
        let told = deltas.get(call["id"].as_str().ok_or("no id")?).map_or("", String::as_str);
        assert_eq!(call["replyText"].as_str(), Some(told));
    }
    Ok(())
}

/// The rows against what the model was really asked. A turn of the conversation is an iteration: its settled call was
/// sent once and each lost one at most once, so the model saw from 1 to 1 + lost requests, all with the same bytes;
/// and no turn was asked for again once a later one was.
pub fn assert_requests_match(books: &Books, requests: &[ModelRequest]) {
    assert!(requests.is_sorted_by_key(|request| request.turn), "a settled call was sent again: {requests:?}");
    let mut turns: BTreeMap<u64, Vec<&ModelRequest>> = BTreeMap::new();
    for request in requests {
        turns.entry(request.turn).or_default().push(request);
    }
    for iteration in books.iterations() {
        let count = |state: &str| list(&iteration["modelCalls"]).iter().filter(|call| call["state"] == state).count();
        let (settled, lost) = (count("SETTLED"), count("LOST"));
        assert_eq!(settled + lost, list(&iteration["modelCalls"]).len(), "{iteration}");
        let sent = turns.remove(&(number(&iteration["number"]) - 1)).unwrap_or_default();
        assert!((settled..=settled + lost).contains(&sent.len()), "{} requests: {iteration}", sent.len());
        assert!(settled <= 1, "{iteration}");
        assert!(sent.windows(2).all(|pair| pair[0].digest == pair[1].digest), "{sent:?}");
    }
    assert!(turns.is_empty(), "requests without a row: {turns:?}");
}

//! Scenarios for tests and benchmarks, chosen by the model's name and steered by the task.
//!
//! - `echo` answers with the last words of the user.
//! - `burst` sends `deltas` pieces in `over_ms` milliseconds, spread evenly over `notes` turns that each end in a call of
//!   `note`, and the answer. The task says `deltas=2000 over_ms=3000 notes=3`.
//! - `tools` makes the calls that the task writes as JSON: `{"calls": [[{"tool": "note", "arguments": {"text": "x"}}]],
//!   "answer": "done"}`, one inner list a turn. Arguments that are a text go out as they are. `texts` holds a text for
//!   each turn; `"repeat": true` makes the last turn's calls for ever; `first_ms` and `piece_ms` pace it; the answer's
//!   `{{last_result}}` is the newest tool result.
//! - `fail` goes wrong as the task says: `status=429`, `error`, `cut`, `stall`, `silent`, `garbage`, `empty`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::captures::{Values, fill};
use super::play::{Answer, Refusal};
use super::reply::{Pace, Part, Reply, ReplyBuilder};
use super::request::ChatRequest;

/// Their names, which are model names.
pub const NAMES: &[&str] = &["echo", "burst", "tools", "fail"];

const MAX_DELTAS: u64 = 1_000_000;
const MAX_OVER_MS: u64 = 600_000;
const MAX_NOTES: u64 = 1_000;

/// The text of the delta with this number (from 0) of a `burst`; every tenth holds characters of several bytes.
pub fn burst_delta(number: u64) -> String {
    if number % 10 == 9 { format!("d{number}é🦀 ") } else { format!("d{number} ") }
}

/// None when the model is none of these.
pub(super) fn answer(request: &ChatRequest) -> Option<Result<Answer, Refusal>> {
    match request.model.as_str() {
        "echo" => Some(Ok(Answer::Reply(echo(request)))),
        "burst" => Some(burst(request).map(Answer::Reply)),
        "tools" => Some(tools(request).map(Answer::Reply)),
        "fail" => Some(fail(request)),
        _ => None,
    }
}

fn echo(request: &ChatRequest) -> Reply {
    ReplyBuilder::new(Pace::default(), request.turn())
        .text(&request.last_user_text())
        .build(request.max_output_tokens())
}

fn burst(request: &ChatRequest) -> Result<Reply, Refusal> {
    let task = request.task();
    let deltas = number(&task, "deltas", 100, MAX_DELTAS)?;
    let over_ms = number(&task, "over_ms", 1000, MAX_OVER_MS)?;
    let notes = number(&task, "notes", 1, MAX_NOTES)?;
    let turn = (request.turn() as u64).min(notes);
    let share = |turn: u64| deltas * turn / (notes + 1);
    let (from, to) = (share(turn), share(turn + 1));
    let mut reply = ReplyBuilder::new(Pace::default(), request.turn());
    for number in from..to {
        let at = Duration::from_millis(over_ms * (number - from) / deltas);
        reply = reply.part_at(at, Part::Text(burst_delta(number)));
    }
    if turn < notes {
        reply = reply.call("note", &json!({"text": format!("note {} of {notes}", turn + 1)}).to_string());
    }
    Ok(reply.build(request.max_output_tokens()))
}

fn number(task: &str, name: &str, default: u64, max: u64) -> Result<u64, Refusal> {
    let bad = || Refusal::new(400, "bad_task", format!("`{name}` in the task is no number from 0 to {max}"));
    let said = task.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let value = said.map_or(Ok(default), |text| text.parse::<u64>().map_err(|_| bad()))?;
    if value <= max { Ok(value) } else { Err(bad()) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolsTask {
    calls: Vec<Vec<WrittenCall>>,
    #[serde(default)]
    answer: String,
    #[serde(default)]
    texts: Vec<String>,
    #[serde(default)]
    repeat: bool,
    #[serde(default)]
    first_ms: u64,
    #[serde(default)]
    piece_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCall {
    tool: String,
    arguments: Value,
}

fn tools(request: &ChatRequest) -> Result<Reply, Refusal> {
    let task = request.task();
    let json = task.find('{').zip(task.rfind('}')).and_then(|(from, to)| task.get(from..=to)).unwrap_or("");
    let task: ToolsTask = serde_json::from_str(json)
        .map_err(|error| Refusal::new(400, "bad_task", format!("the task holds no JSON for `tools`: {error}")))?;
    let turn = request.turn();
    let pace = Pace { first_ms: task.first_ms, piece_ms: task.piece_ms, ..Pace::default() };
    let mut reply = ReplyBuilder::new(pace, turn);
    if let Some(text) = task.texts.get(turn) {
        reply = reply.text(text);
    }
    let calls = task.calls.get(turn).or_else(|| task.calls.last().filter(|_| task.repeat));
    for call in calls.into_iter().flatten() {
        let arguments = call.arguments.as_str().map_or_else(|| call.arguments.to_string(), str::to_owned);
        reply = reply.call(&call.tool, &arguments);
    }
    if calls.is_none_or(Vec::is_empty) {
        let last = request.results_before(turn).pop().ok_or_else(|| "there is no tool result".to_owned());
        let values = Values::from([("last_result".to_owned(), last)]);
        let answer = if task.answer.is_empty() { "done" } else { &task.answer };
        let answer =
            fill(answer, &values).map_err(|missing| Refusal::new(500, "missing_value", missing.to_string()))?;
        reply = reply.text(&answer);
    }
    Ok(reply.build(request.max_output_tokens()))
}

fn fail(request: &ChatRequest) -> Result<Answer, Refusal> {
    let task = request.task();
    let start = ReplyBuilder::new(Pace::default(), request.turn());
    for word in task.split_whitespace() {
        let reply = match word {
            "error" => start.text("A part, and then ").part(Part::Error("the scripted engine died".to_owned())),
            // What was written before must have left when the connection is cut.
            "cut" => start.text("A part, and then ").part_at(Duration::from_millis(50), Part::Cut),
            "stall" => start.text("A part, and then ").part(Part::Stall),
            "garbage" => start.part(Part::Garbage("data: {this is no JSON\n\n".to_owned())),
            "empty" => start,
            "silent" => return Ok(Answer::Silence),
            _ => match word.strip_prefix("status=").map(str::parse::<u16>) {
                Some(Ok(status)) if (300..600).contains(&status) => {
                    return Err(Refusal::new(status, "scripted_failure", format!("scripted failure {status}")));
                }
                _ => continue,
            },
        };
        return Ok(Answer::Reply(reply.build(request.max_output_tokens())));
    }
    Err(Refusal::new(400, "bad_task", "the task does not say how to fail"))
}

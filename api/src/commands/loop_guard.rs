//! `vitrine loop-guard FILE`: what the loop guard says of a run that a file tells.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use domain::error::InvalidInput;
use domain::loop_guard::transcript::{Caught, Report, Transcript};
use domain::resource::LoopAction;
use serde_json::{Value, json};

use super::LoopGuardArgs;
use super::tools::{fail, print, read};
use crate::wiring::WiringError;

/// The exit status when there is a loop; 0 means that there is none, 1 that the file could not be judged.
const LOOP_FOUND: u8 = 3;
/// Calls that the text shows at most; the JSON has all.
const MOST_SHOWN: usize = 20;

pub(super) fn run(args: &LoopGuardArgs) -> ExitCode {
    let transcript = match open(&args.file) {
        Ok(transcript) => transcript,
        Err(error) => return fail(&*error),
    };
    let report = transcript.judge();
    let text = if args.json { as_json(&transcript, &report) } else { as_text(&transcript, &report) };
    match print(&text) {
        ExitCode::SUCCESS if !report.caught.is_empty() => ExitCode::from(LOOP_FOUND),
        printed => printed,
    }
}

fn open(path: &Path) -> Result<Transcript, WiringError> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes)?;
        bytes
    } else {
        read(path)?
    };
    let name = path.display();
    let text = String::from_utf8(bytes).map_err(|_| format!("{name}: the file must be UTF-8"))?;
    Transcript::parse(&text).map_err(|faults| format!("{name}: {}", list(&faults)).into())
}

/// One fault on the same line, several on lines of their own.
fn list(faults: &[InvalidInput]) -> String {
    let lines: Vec<String> = faults.iter().map(|fault| format!("{}{}", place(&fault.path), fault.message)).collect();
    match lines.as_slice() {
        [line] => line.clone(),
        lines => format!("{} faults\n  {}", lines.len(), lines.join("\n  ")),
    }
}

/// `calls[3].iteration: `, as one would write it.
fn place(path: &[String]) -> String {
    let mut place = String::new();
    for part in path {
        match part.parse::<usize>() {
            Ok(index) => place.push_str(&format!("[{index}]")),
            Err(_) if place.is_empty() => place.push_str(part),
            Err(_) => place.push_str(&format!(".{part}")),
        }
    }
    if place.is_empty() { place } else { format!("{place}: ") }
}

fn as_text(transcript: &Transcript, report: &Report) -> String {
    let policy = &transcript.policy;
    let mut text = String::new();
    if let Some(about) = &transcript.about {
        line(&mut text, about);
    }
    line(
        &mut text,
        &format!(
            "policy: {} at identical calls {}, repeated errors {}, cycles {}, polls {}",
            name(policy.on_loop),
            policy.max_identical_calls,
            policy.max_repeated_errors,
            policy.max_cycles,
            policy.max_polls
        ),
    );
    let total = transcript.calls.len();
    let Some(first) = report.caught.first() else {
        line(&mut text, &format!("verdict: no loop in {total} calls"));
        return text;
    };
    let (kind, count) = (name(first.finding.kind), report.caught.len());
    line(
        &mut text,
        &format!("verdict: {kind}, first at call {} of {total} (iteration {})", first.call, first.iteration),
    );
    for caught in report.caught.iter().take(MOST_SHOWN) {
        let Caught { call, iteration, finding } = caught;
        line(&mut text, &format!("  call {call}, iteration {iteration}: {}", finding.sentence()));
    }
    if count > MOST_SHOWN {
        line(&mut text, &format!("  ... and {} more; --json lists all", count - MOST_SHOWN));
    }
    line(&mut text, &consequence(transcript, report));
    text
}

fn consequence(transcript: &Transcript, report: &Report) -> String {
    let (caught, behind) = (report.caught.len(), transcript.calls.len() - report.judged);
    match transcript.policy.on_loop {
        LoopAction::Warn => format!("the model is warned {caught} times, and every call runs"),
        LoopAction::Block => format!("{caught} calls are not run, {} are", report.ran),
        LoopAction::Stop if behind == 0 => format!("{} calls run, and the execution stops", report.ran),
        LoopAction::Stop => {
            format!("{} calls run, and the execution stops; {behind} behind are never judged", report.ran)
        }
    }
}

fn as_json(transcript: &Transcript, report: &Report) -> String {
    let found = |caught: &Caught| {
        let mut members = json!(caught.finding);
        members["call"] = json!(caught.call);
        members["iteration"] = json!(caught.iteration);
        members["message"] = json!(caught.finding.sentence());
        members
    };
    let findings: Vec<Value> = report.caught.iter().map(found).collect();
    let document = json!({
        "policy": transcript.policy,
        "verdict": if findings.is_empty() { "HONEST" } else { "LOOP" },
        "calls": transcript.calls.len(),
        "judged": report.judged,
        "ran": report.ran,
        "asExpected": transcript.expect.as_ref().map(|expect| report.begins_with(expect)),
        "findings": findings,
    });
    format!("{document:#}")
}

/// The name of a plain enum's variant, as the API writes it.
fn name(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn line(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

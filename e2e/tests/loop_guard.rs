//! `vitrine loop-guard`: a verdict with its evidence for a transcript, and errors that name their field.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use e2e::Result;
use e2e::process::binary;
use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn judge(arguments: &[&str], input: &str) -> Result<Output> {
    let mut child = Command::new(binary()?)
        .arg("loop-guard")
        .args(arguments)
        .current_dir(repository())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    child.stdin.take().ok_or("no standard input")?.write_all(input.as_bytes())?;
    Ok(child.wait_with_output()?)
}

fn status_and_text(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// The documented example runs, and prints what stands in the document.
#[test]
fn the_example_of_the_document_prints_what_it_says() -> Result {
    let document = std::fs::read_to_string(repository().join("docs/loop-guard.md"))?;
    let (_, behind) = document.split_once("$ vitrine loop-guard ").ok_or("no example")?;
    let (file, behind) = behind.split_once('\n').ok_or("no output")?;
    let (expected, _) = behind.split_once("```").ok_or("the example does not end")?;
    assert_eq!(status_and_text(&judge(&[file], "")?), (Some(3), expected.to_owned()));
    Ok(())
}

#[test]
fn an_honest_transcript_has_the_exit_status_0() -> Result {
    let (status, text) = status_and_text(&judge(&["loop-corpus/honest/polling-until-done.json"], "")?);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("verdict: no loop in 10 calls"), "{text}");
    Ok(())
}

#[test]
fn json_holds_every_finding() -> Result {
    let output = judge(&["--json", "loop-corpus/looping/blocked-and-still-trying.json"], "")?;
    assert_eq!(output.status.code(), Some(3));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!((&report["verdict"], &report["ran"]), (&"LOOP".into(), &2.into()), "{report}");
    let counts: Vec<_> = report["findings"].as_array().ok_or("no findings")?.iter().map(|f| &f["count"]).collect();
    assert_eq!(counts, [3, 4, 5, 6]);
    assert_eq!(report["findings"][0]["iterations"], serde_json::json!([1, 2, 3]));
    Ok(())
}

#[test]
fn a_bad_file_is_told_with_each_field_its_rule_and_the_fix() -> Result {
    let cases = [
        ("{\"calls\": [", "the file must be one JSON object: EOF while parsing"),
        ("{}", "calls: is missing; list the calls"),
        (r#"{"calls": [{"tool": "f", "arguments": {}}]}"#, "calls[0].iteration: is missing; it must be a whole number"),
        (r#"{"policy": {"maxPolls": 1}, "calls": []}"#, "policy.maxPolls: must be from 2 to 1000000"),
        (
            r#"{"policy": {"onloop": "STOP"}, "calls": []}"#,
            "policy.onloop: is not known; remove it, or use one of onLoop",
        ),
    ];
    for (input, wanted) in cases {
        let (status, text) = status_and_text(&judge(&["-"], input)?);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains(wanted), "{input}: {text}");
    }
    let (status, text) = status_and_text(&judge(&["no/such/file.json"], "")?);
    assert!(status == Some(1) && text.contains("no/such/file.json: "), "{text}");
    Ok(())
}

/// Name, transcript and report of each file.
fn corpus(kind: &str) -> Result<Vec<(String, Value, Value)>> {
    let mut reports = Vec::new();
    for entry in std::fs::read_dir(repository().join("loop-corpus").join(kind))? {
        let path = entry?.path();
        let name = path.to_str().ok_or("a name that is no UTF-8")?.to_owned();
        let output = judge(&["--json", &name], "")?;
        let report: Value = serde_json::from_slice(&output.stdout).map_err(|_| status_and_text(&output).1)?;
        let is_caught = report["verdict"] == "LOOP";
        assert_eq!(output.status.code(), Some(if is_caught { 3 } else { 0 }), "{name}");
        reports.push((name, serde_json::from_slice(&std::fs::read(&path)?)?, report));
    }
    Ok(reports)
}

#[test]
fn precision_and_recall_on_the_corpus_are_whole() -> Result {
    let (looping, honest) = (corpus("looping")?, corpus("honest")?);
    assert!(looping.len() >= 40 && honest.len() >= 40, "{} {}", looping.len(), honest.len());
    let caught = |(_, _, report): &&(String, Value, Value)| report["verdict"] == "LOOP";
    let hits = looping.iter().filter(caught).count();
    let false_alarms: Vec<_> = honest.iter().filter(caught).map(|(name, ..)| name).collect();
    let misses: Vec<_> = looping.iter().filter(|file| !caught(file)).map(|(name, ..)| name).collect();
    let precision = hits as f64 / (hits + false_alarms.len()) as f64;
    let recall = hits as f64 / looping.len() as f64;
    let summary = format!(
        "loop guard on {} looping and {} honest transcripts: precision {precision:.3}, recall {recall:.3}",
        looping.len(),
        honest.len()
    );
    // What macros print is shown of a failing test only; this is to be seen.
    writeln!(std::io::stderr(), "{summary}")?;
    assert!(
        false_alarms.is_empty() && misses.is_empty(),
        "{summary}; false alarms {false_alarms:?}; missed {misses:?}"
    );
    Ok(())
}

#[test]
fn each_transcript_of_the_corpus_says_what_is_found_in_it() -> Result {
    let mut kinds = std::collections::BTreeSet::new();
    for (name, transcript, report) in corpus("looping")? {
        assert_eq!(report["asExpected"], true, "{name}: {} {}", transcript["expect"], report["findings"][0]);
        assert!(transcript["about"].is_string(), "{name}");
        kinds.insert(format!("{} {}", transcript["expect"]["kind"], transcript["expect"]["period"]));
    }
    for (name, transcript, report) in corpus("honest")? {
        assert!(transcript["about"].is_string() && report["asExpected"].is_null(), "{name}");
    }
    let all = [
        "CYCLE\" 2",
        "CYCLE\" 3",
        "CYCLE\" 4",
        "CYCLE\" 5",
        "POLL_LIMIT\" 1",
        "REPEATED_CALL\" 1",
        "REPEATED_ERROR\" 1",
    ];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all.map(|kind| format!("\"{kind}")));
    Ok(())
}

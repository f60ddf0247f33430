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
    let (status, text) = status_and_text(&judge(&["domain/loop-corpus/honest/polling-until-done.json"], "")?);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("verdict: no loop in 10 calls"), "{text}");
    Ok(())
}

#[test]
fn json_holds_every_finding() -> Result {
    let output = judge(&["--json", "domain/loop-corpus/looping/blocked-and-still-trying.json"], "")?;
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

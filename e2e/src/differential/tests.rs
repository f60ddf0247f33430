//! The comparison itself: it must not let a difference pass, nor an entry that has outlived its reason.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::driver::{Answer, Report};
use super::fields::Normaliser;
use super::known::Known;
use super::plan::Server;
use super::{Unmatched, compare};

fn report(client: &str, answers: &[(&str, Value)]) -> Report {
    let server = Server { url: "http://127.0.0.1:1".into(), api_key: String::new(), image: String::new() };
    let normaliser = Normaliser::new(client, &server, &[]);
    let answer = |line: &Value| match line["unsupported"].as_str() {
        Some(what) => Answer::Unsupported(what.into()),
        None => Answer::Given(normaliser.fields(line).unwrap()),
    };
    let answers: BTreeMap<String, Answer> = answers.iter().map(|(name, line)| ((*name).into(), answer(line))).collect();
    Report { client: client.into(), answers }
}

fn known(text: &str) -> Known {
    toml::from_str(text).unwrap()
}

fn judge(reports: &[Report], known: &Known) -> Vec<String> {
    super::judge(reports, known, Unmatched::Fault)
}

const NOTHING: &str = "";
const KNOWN_OUTPUT: &str = r#"
[[difference]]
operation = "run: *"
clients = ["theirs"]
field = "stdout"
ours = '"a"'
theirs = '"a\n"'
why = "it adds a newline"
reference = "its documentation"
"#;

fn ours() -> Report {
    report("ours", &[("run: a", json!({ "result": { "stdout": "a", "exit_code": 0 } }))])
}

#[test]
fn agreement_is_no_fault() {
    let theirs = report("theirs", &[("run: a", json!({ "result": { "stdout": "a", "exit_code": 0.0 } }))]);
    assert_eq!(judge(&[ours(), theirs], &known(NOTHING)), Vec::<String>::new());
}

#[test]
fn a_difference_is_a_fault_until_the_list_has_it() {
    let theirs = report("theirs", &[("run: a", json!({ "result": { "stdout": "a\n", "exit_code": 0 } }))]);
    let faults = judge(&[ours(), theirs.clone()], &known(NOTHING));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains("field = 'stdout'") && faults[0].contains(r#"theirs = '"a\n"'"#), "{}", faults[0]);
    assert_eq!(judge(&[ours(), theirs], &known(KNOWN_OUTPUT)), Vec::<String>::new());
}

#[test]
fn another_value_than_the_listed_one_is_a_fault() {
    let theirs = report("theirs", &[("run: a", json!({ "result": { "stdout": "b", "exit_code": 0 } }))]);
    let faults = judge(&[ours(), theirs], &known(KNOWN_OUTPUT));
    assert_eq!(faults.len(), 2, "the difference, and the entry that does not match it: {faults:?}");
}

#[test]
fn an_entry_that_matches_nothing_is_a_fault() {
    let theirs = report("theirs", &[("run: a", json!({ "result": { "stdout": "a", "exit_code": 0 } }))]);
    let reports = [ours(), theirs];
    assert_eq!(super::judge(&reports, &known(KNOWN_OUTPUT), Unmatched::Fine), Vec::<String>::new());
    let faults = judge(&reports, &known(KNOWN_OUTPUT));
    assert!(faults.len() == 1 && faults[0].contains("matches no difference any more"), "{faults:?}");
}

#[test]
fn a_success_against_a_failure_is_one_difference() {
    let failed = json!({ "error": { "class": "answered", "status": 404, "code": "X" } });
    let theirs = report("theirs", &[("run: a", failed)]);
    let found = compare(&ours(), &theirs);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].ours, r#"result exit_code=0 stdout="a""#);
    assert_eq!(found[0].theirs, r#"error class="answered" code="X" status=404"#);
}

#[test]
fn a_refusal_by_the_client_against_one_by_the_server_is_one_difference() {
    let error = |class: &str, status: Option<u16>| json!({ "error": { "class": class, "status": status } });
    let ours = report("ours", &[("run: a", error("refused", None))]);
    let found = compare(&ours, &report("theirs", &[("run: a", error("answered", Some(400)))]));
    assert_eq!(found.iter().map(|found| found.field.as_str()).collect::<Vec<_>>(), ["outcome"]);
}

#[test]
fn a_call_that_is_missing_must_be_listed() {
    let theirs = report("theirs", &[("run: a", json!({ "unsupported": "run" }))]);
    assert_eq!(judge(&[ours(), theirs.clone()], &known(NOTHING)).len(), 1);
    let gap = "[[gap]]\nclient = 'theirs'\ncall = 'run'\nwhy = 'it cannot'\n";
    assert_eq!(judge(&[ours(), theirs], &known(gap)), Vec::<String>::new());
}

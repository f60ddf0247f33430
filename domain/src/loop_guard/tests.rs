use super::*;
use crate::resource::LoopPolicy;

/// Calls as `tool:arguments=outcome`; an outcome that begins with `!` is an error, and one is unknown without `=`. Each
/// group is one reply. Returns the number of the first call that is caught, from 1, and the finding.
fn first(replies: &[&[&str]], policy: &LoopPolicy) -> Option<(usize, Finding)> {
    let mut guard = LoopGuard::default();
    let mut number = 0;
    for (reply, iteration) in replies.iter().zip(1..) {
        for (call, ordinal) in reply.iter().zip(0..) {
            number += 1;
            let name = call.split('=').next().unwrap();
            let tool = name.split(':').next().unwrap();
            let is_read_only = tool == "note";
            let call = Call { tool, fingerprint: name, iteration, ordinal, is_read_only };
            if let Verdict::Loop(finding) = guard.judge(&call, policy) {
                return Some((number, finding));
            }
        }
        for (call, ordinal) in reply.iter().zip(0..) {
            let Some((name, outcome)) = call.split_once('=') else { continue };
            guard.note(
                iteration,
                ordinal,
                match outcome.strip_prefix('!') {
                    Some(error) => Outcome::error(error, name),
                    None => Outcome::result(outcome),
                },
            );
        }
    }
    None
}

/// One call a reply.
fn alone(calls: &[&str]) -> Option<(usize, LoopKind, Vec<u32>)> {
    let replies: Vec<&[&str]> = calls.iter().map(std::slice::from_ref).collect();
    first(&replies, &LoopPolicy::default()).map(|(call, finding)| (call, finding.kind, finding.iterations))
}

#[test]
fn the_third_identical_call_with_unchanged_results_is_caught() {
    let caught = alone(&["a=1", "a=1", "a=1", "a=1"]);
    assert_eq!(caught, Some((3, LoopKind::RepeatedCall, vec![1, 2, 3])));
}

#[test]
fn calls_whose_results_change_are_work() {
    assert_eq!(alone(&["a=1", "a=2", "a=3", "a=4", "a=5"]), None);
    let pages: Vec<String> = (0..20).map(|page| format!("a:{page}=same")).collect();
    assert_eq!(alone(&pages.iter().map(String::as_str).collect::<Vec<_>>()), None);
}

#[test]
fn moving_on_to_a_partner_tool_and_back_resets_nothing() {
    let caught = alone(&["a=1", "b=1", "a=1", "a=1", "b=1", "a=1"]);
    assert_eq!(caught, Some((6, LoopKind::RepeatedCall, vec![3, 4, 6])));
    let hops = ["note:x=n", "a=1", "note:y=n", "a=1", "note:z=n", "a=1"];
    assert_eq!(alone(&hops), Some((6, LoopKind::RepeatedCall, vec![2, 4, 6])));
}

#[test]
fn what_another_call_did_anew_makes_a_repeat_honest() {
    assert_eq!(alone(&["test=red", "edit:1=ok", "test=red", "edit:2=ok", "test=red", "edit:3=ok", "test=green"]), None);
}

#[test]
fn cycles_of_two_to_five_calls_are_caught_when_the_third_round_is_complete() {
    for period in 2..=5_u32 {
        let calls: Vec<String> = (0..3 * period).map(|at| format!("t{}=same", at % period)).collect();
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        let iterations: Vec<u32> = (1..=3 * period).collect();
        assert_eq!(alone(&calls), Some((calls.len(), LoopKind::Cycle, iterations)), "{period}");
    }
}

#[test]
fn a_round_that_is_made_of_shorter_rounds_is_no_cycle_of_its_own() {
    let flapping =
        ["s=up", "w=ok", "s=down", "w=ok", "s=up", "w=ok", "s=down", "w=ok", "s=up", "w=ok", "s=down", "w=ok"];
    assert_eq!(alone(&flapping), None);
    let toggled = ["t=1", "e:a=ok", "t=2", "e:b=ok"].repeat(3);
    let (call, kind, _) = alone(&toggled).unwrap();
    assert_eq!((call, kind), (12, LoopKind::Cycle));
}

#[test]
fn calls_of_one_reply_count_without_looking_at_results() {
    let policy = LoopPolicy::default();
    let (call, finding) = first(&[&["a", "a", "a"]], &policy).unwrap();
    assert_eq!((call, finding.kind, finding.iterations), (3, LoopKind::RepeatedCall, vec![1, 1, 1]));
    let (call, finding) = first(&[&["a", "b", "a", "b", "a", "b"]], &policy).unwrap();
    assert_eq!((call, finding.kind, finding.period), (6, LoopKind::Cycle, 2));
    let (call, _) = first(&[&["a=1", "b=1"], &["a=1", "b=1"], &["a=1", "b=1"]], &policy).unwrap();
    assert_eq!(call, 6);
}

#[test]
fn the_same_error_of_a_tool_is_caught_at_its_next_call_whatever_the_arguments() {
    let caught = alone(&["g=1", "f:1=!no route", "g=1", "f:2=!no route", "g=1", "f:3=!no route", "f:4"]);
    assert_eq!(caught, Some((7, LoopKind::RepeatedError, vec![2, 4, 6])));
    assert_eq!(alone(&["f:1=!no route", "f:2=!no route", "f:3=ok", "f:4=!no route", "f:5=!no route", "f:6=ok"]), None);
    assert_eq!(alone(&["f:1=!one", "f:2=!two", "f:3=!three", "f:4=!four", "f:5=ok"]), None);
}

#[test]
fn errors_of_one_reply_count_once() {
    let policy = LoopPolicy::default();
    let bad: &[&str] = &["f:1=!no", "f:2=!no", "f:3=!no", "f:4=!no"];
    assert_eq!(first(&[bad, &["f:5=ok"]], &policy), None);
    let again: &[&str] = &["f:6=!no", "f:7=!no"];
    let (call, finding) = first(&[bad, again, again, &["f:8"]], &policy).unwrap();
    assert_eq!((call, finding.count, finding.iterations), (9, 3, vec![1, 2, 3]));
}

#[test]
fn polling_has_a_limit_of_its_own() {
    let polls: Vec<String> = (0..12).map(|at| format!("s={at}")).collect();
    let (call, kind, iterations) = alone(&polls.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    assert_eq!((call, kind, iterations), (11, LoopKind::PollLimit, (1..=11).collect()));
    // Work in between gives it back, unless the results never change.
    let worked = |outcome: fn(usize) -> usize| {
        let calls = (0..12).flat_map(|at| [format!("s={}", outcome(at)), format!("e:{at}=ok")]);
        let calls: Vec<String> = calls.collect();
        alone(&calls.iter().map(String::as_str).collect::<Vec<_>>()).map(|(call, kind, _)| (call, kind))
    };
    assert_eq!(worked(|at| at), None);
    assert_eq!(worked(|_| 0), Some((21, LoopKind::PollLimit)));
}

#[test]
fn what_a_person_forgave_is_forgotten_and_pardons_are_used_up() {
    let policy = LoopPolicy::default();
    let mut guard = LoopGuard::default();
    let judge = |guard: &mut LoopGuard, iteration| {
        let call = Call { tool: "a", fingerprint: "a", iteration, ordinal: 0, is_read_only: false };
        let verdict = guard.judge(&call, &policy);
        guard.note(iteration, 0, Outcome::result("same"));
        verdict
    };
    assert_eq!(judge(&mut guard, 1), Verdict::Proceed);
    assert_eq!(judge(&mut guard, 2), Verdict::Proceed);
    guard.forgive(1);
    assert_eq!(judge(&mut guard, 3), Verdict::Proceed);
    assert_eq!(judge(&mut guard, 4), Verdict::Proceed);
    assert!(matches!(judge(&mut guard, 5), Verdict::Pardoned(_)));
    assert!(matches!(judge(&mut guard, 6), Verdict::Loop(finding) if finding.iterations == [3, 4, 5, 6]));
    assert_eq!(guard.calls(), 6);
}

#[test]
fn the_guards_own_words_are_no_part_of_an_outcome() {
    let warned = with_warning("same", "Warning: \n you repeat yourself");
    assert_eq!(Outcome::result(&warned), Outcome::result("same"));
    assert_eq!(Outcome::error(&with_warning("no", "stop"), ""), Outcome::error("no", ""));
    assert_ne!(Outcome::result("same\n[loop guard] a\nb"), Outcome::result("same"));
}

#[test]
fn a_program_that_only_says_no_has_answered() {
    use crate::tool_call::ToolCallState::{Cancelled, Failed, Refused, Succeeded};
    let of = |state, code: &str, text: &str| Outcome::of(state, Some(code), text, "{}");
    assert!(!of(Failed, "EXIT_CODE", "\n[EXIT_CODE: exit code 1]").unwrap().is_error());
    assert!(of(Failed, "EXIT_CODE", "boom\n[EXIT_CODE: exit code 1]").unwrap().is_error());
    assert!(of(Refused, "INVALID_TOOL_ARGUMENTS", "bad").unwrap().is_error());
    for ours in ["LOOP_DETECTED", "BUDGET_EXCEEDED", "NOT_RUN"] {
        assert_eq!(of(Refused, ours, "no"), None);
    }
    assert_eq!(of(Cancelled, "CANCELLED", "no"), None);
    assert_eq!(Outcome::of(Succeeded, None, "1", ""), Some(Outcome::result("1")));
}

#[test]
fn a_transcript_tells_every_fault_with_its_place() {
    let text = r#"{"policy": {"onLoop": "HALT", "maxCycles": 1}, "call": [], "calls": [
        {"iteration": 2, "tool": "", "arguments": 7, "result": "a", "error": "b"},
        {"iteration": 1, "tool": "f", "arguments": {}},
        {"tool": "f", "arguments": {}, "readOnly": "yes"}, 8]}"#;
    let faults = transcript::Transcript::parse(text).unwrap_err();
    let places: Vec<_> = faults.iter().map(|fault| format!("{} {}", fault.path.join("."), fault.code)).collect();
    assert_eq!(
        places,
        [
            "call UNKNOWN_FIELD",
            "policy.onLoop MALFORMED",
            "policy.maxCycles OUT_OF_RANGE",
            "calls.0.tool MALFORMED",
            "calls.0.arguments MALFORMED",
            "calls.0.error CONFLICT",
            "calls.2.iteration MISSING",
            "calls.2.readOnly MALFORMED",
            "calls.3 MALFORMED",
        ]
    );
    let cut = transcript::Transcript::parse(r#"{"calls": ["#).unwrap_err();
    assert!(cut[0].message.contains("line 1 column"), "{}", cut[0].message);
    assert_eq!(transcript::Transcript::parse("{}").unwrap_err()[0].path, ["calls"]);
    let order = r#"{"calls": [{"iteration": 2, "tool": "f", "arguments": {}}, {"iteration": 1, "tool": "f", "arguments": "{}"}]}"#;
    assert_eq!(transcript::Transcript::parse(order).unwrap_err()[0].code, "OUT_OF_ORDER");
}

#[test]
fn a_transcript_goes_on_behind_a_call_that_was_blocked_or_warned_about() {
    let calls = r#"{"iteration": 1, "tool": "f", "arguments": {"id": 18446744073709551616}, "result": {"a": 1}}"#;
    let calls = (1..=5).map(|iteration| calls.replace("\"iteration\": 1", &format!("\"iteration\": {iteration}")));
    let calls = calls.collect::<Vec<_>>().join(",");
    for (action, judged, ran, caught) in [("STOP", 3, 2, 1), ("BLOCK", 5, 2, 3), ("WARN", 5, 5, 3)] {
        let text = format!(r#"{{"policy": {{"onLoop": "{action}"}}, "calls": [{calls}]}}"#);
        let report = transcript::Transcript::parse(&text).unwrap().judge();
        assert_eq!((report.judged, report.ran, report.caught.len()), (judged, ran, caught), "{action}");
    }
}

use super::*;
use crate::sandbox::Program;

fn tools(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn arguments_that_a_provider_cut_off_are_not_repaired() {
    for cut in [r#"{"path":"/tmp/a","content":"line1"#, "{", "[]", "null", r#"{"a":1} x"#, r#"{"a":1,"a":2}"#] {
        assert!(parse_strict(cut).is_err(), "{cut}");
    }
    assert_eq!(parse_strict("").unwrap().len(), 0);
}

#[test]
fn fingerprints_ignore_key_order_and_white_space_and_nothing_else() {
    let same = fingerprint("f", r#"{"x":1,"y":[1,{"a":null,"b":2}]}"#);
    assert_eq!(same, fingerprint("f", "{ \"y\": [1.0, {\"b\":2,\"a\":null}], \"x\": 1 }"));
    assert_ne!(same, fingerprint("g", r#"{"x":1,"y":[1,{"a":null,"b":2}]}"#));
}

#[test]
fn fingerprints_tell_neighbouring_ids_apart_of_any_length() {
    let neighbours = [
        ("9007199254740992", "9007199254740993"),
        ("9223372036854775807", "9223372036854775806"),
        ("-9223372036854775808", "-9223372036854775807"),
        ("18446744073709551615", "18446744073709551614"),
        ("340282366920938463463374607431768211455", "340282366920938463463374607431768211454"),
    ];
    for (one, other) in neighbours {
        let of = |id: &str| fingerprint("f", &format!(r#"{{"rows":[{{"id":{id}}}]}}"#));
        assert_ne!(of(one), of(other), "{one}");
        assert_eq!(of(one), fingerprint("f", &format!(r#" {{ "rows" : [ {{ "id" : {one} }} ] }} "#)));
    }
}

#[test]
fn fingerprints_know_a_number_in_each_of_its_spellings() {
    let of = |number: &str| fingerprint("f", &format!(r#"{{"n":{number}}}"#));
    for (one, other) in
        [("1", "1.0"), ("100", "1e2"), ("0", "-0"), ("0", "-0.0"), ("0.5", "5e-1"), ("1e300", "1.0e300")]
    {
        assert_eq!(of(one), of(other), "{one} {other}");
    }
    assert_ne!(of("1"), of("-1"));
    assert_ne!(of("1"), of("\"1\""));
    assert_eq!(fingerprint("f", ""), fingerprint("f", "{}"));
    assert_eq!(fingerprint("f", r#"{"a":"\u0041"}"#), fingerprint("f", r#"{"a":"A"}"#));
}

#[test]
fn a_tool_that_was_not_granted_is_unknown() {
    let refused = understand(&tools(&["note"]), "run_shell", r#"{"command":"id"}"#).unwrap_err();
    assert_eq!((refused.state, refused.error.unwrap().0.as_str()), (ToolCallState::Refused, "UNKNOWN_TOOL"));
}

#[test]
fn a_known_tool_is_understood_and_its_arguments_are_checked() {
    let allowed = tools(&["run_shell", "write_file"]);
    let run = understand(&allowed, "run_shell", r#"{"command":"id"}"#);
    assert_eq!(run, Ok(Invocation::Run(Program::Shell("id".to_owned()))));
    let unknown_key = understand(&allowed, "run_shell", r#"{"command":"id","uid":0}"#).unwrap_err();
    assert_eq!(unknown_key.error.unwrap().0, "INVALID_TOOL_ARGUMENTS");
    for path in ["../etc/passwd", "/etc/passwd", "a//b", "a/./b", "", "a\nb"] {
        let arguments = serde_json::json!({ "path": path, "content": "" }).to_string();
        assert!(understand(&allowed, "write_file", &arguments).is_err(), "{path:?}");
    }
}

#[test]
fn capped_output_keeps_head_and_tail_and_counts_the_rest() {
    let mut output = CappedOutput::new(4, 4);
    assert_eq!(output.push("ab"), "ab");
    assert_eq!(output.push("cdefgh"), "cd");
    assert_eq!((output.text().as_str(), output.omitted_bytes()), ("abcdefgh", 0));
    assert_eq!(output.push("ijk"), "");
    assert_eq!(output.omitted_bytes(), 3);
    assert_eq!(output.text(), "abcd\n[... 3 bytes omitted ...]\nhijk");
}

#[test]
fn capped_output_never_splits_a_character() {
    let mut output = CappedOutput::new(3, 3);
    assert_eq!(output.push("aéé"), "aé");
    output.push("ééé");
    assert_eq!(output.tail(), "é");
}

#[test]
fn every_known_tool_has_a_definition_of_its_own_name() {
    for name in KNOWN_TOOLS {
        assert_eq!(BuiltInTool::by_name(name).unwrap().definition().name, *name);
    }
}

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
        let refused = understand(&allowed, "write_file", &arguments).unwrap_err();
        assert_eq!(refused.error.unwrap().0, "INVALID_PATH", "{path:?}");
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

#[test]
fn a_tool_takes_the_arguments_that_its_contract_names_and_no_others() {
    let all = tools(KNOWN_TOOLS);
    for name in KNOWN_TOOLS {
        let contract = BuiltInTool::by_name(name).unwrap().definition().parameters;
        let known: Vec<_> = contract["properties"].as_object().unwrap().keys().cloned().collect();
        let required = contract["required"].as_array().unwrap();
        let minimal: Arguments =
            required.iter().map(|name| (name.as_str().unwrap().to_owned(), name.clone())).collect();
        let minimal = if *name == "browse" { with(minimal, "path", "a.html".into()) } else { minimal };
        assert!(understand(&all, name, &serde_json::to_string(&minimal).unwrap()).is_ok(), "{name} {minimal:?}");
        let refused =
            understand(&all, name, &serde_json::to_string(&with(minimal.clone(), "bogus", true.into())).unwrap());
        assert!(refused.unwrap_err().text.contains("bogus: is no argument of this tool"), "{name}");
        for property in &known {
            // A value of a wrong type is found whatever the field is, and the field is named.
            let wrong = understand(
                &all,
                name,
                &serde_json::to_string(&with(minimal.clone(), property, serde_json::json!([]))).unwrap(),
            );
            assert!(wrong.unwrap_err().text.contains(&format!("{property}: must be ")), "{name} {property}");
        }
    }
}

fn with(mut arguments: Arguments, name: &str, value: serde_json::Value) -> Arguments {
    arguments.insert(name.to_owned(), value);
    arguments
}

#[test]
fn arguments_that_contradict_each_other_are_refused_with_a_fix() {
    let all = tools(KNOWN_TOOLS);
    for (tool, arguments, message) in [
        ("read_file", r#"{"path":"a","start_line":1,"offset":0}"#, "start_line: cannot stand beside offset"),
        ("read_file", r#"{"path":"a","start_line":3,"end_line":2}"#, "end_line: must not be less"),
        ("edit_file", r#"{"path":"a","old_text":"","new_text":"b"}"#, "old_text: must not be empty. Use write_file"),
        ("edit_file", r#"{"path":"a","old_text":"b","new_text":"b"}"#, "new_text: is the same"),
        (
            "edit_file",
            r#"{"path":"a","old_text":"b","new_text":"","count":1,"all":true}"#,
            "count: cannot stand beside all",
        ),
        ("grep", r#"{"pattern":"("}"#, "pattern: must be a regular expression"),
        ("grep", r#"{"pattern":"a","glob":"[a"}"#, "glob: has a bracket that is not closed"),
        ("list_files", r#"{"path":"..","depth":33}"#, "path: must have no empty part"),
        ("run_shell", r#"{"command":" "}"#, "command: must not be empty"),
    ] {
        let refused = understand(&all, tool, arguments).unwrap_err();
        assert!(refused.text.contains(message), "{}", refused.text);
    }
}

#[test]
fn a_nul_never_stands_in_a_result() {
    let mut result = ToolResult::succeeded("he\0lo");
    result.take_nul_out();
    assert_eq!((result.text.as_str(), result.lossy), ("he\u{fffd}lo", true));
}

use super::captures::{Capture, Values, fill};
use super::script::{Script, ScriptError};

fn no_files(name: &str) -> Result<String, ScriptError> {
    Err(ScriptError::Unreadable { path: name.into(), source: std::io::ErrorKind::NotFound.into() })
}

fn error_of(text: &str) -> String {
    Script::parse_toml(text, no_files).unwrap_err().to_string()
}

const HEAD: &str = "[[scenarios]]\nname = \"s\"\nmodel = \"m\"\n";

#[test]
fn the_demo_follows_the_format() {
    assert_eq!(Script::demo().unwrap().scenarios.len(), 1);
}

#[test]
fn no_figure_stands_in_the_demo() {
    let script = Script::demo().unwrap();
    for turn in &script.scenarios[0].turns {
        let arguments: String =
            turn.tool_calls.iter().flat_map(|call| call.arguments.values()).map(ToString::to_string).collect();
        for text in [&turn.text, &arguments] {
            assert!(!text.contains(|c: char| c.is_numeric()), "{text}");
        }
    }
}

#[test]
fn toml_and_json_are_the_same_format() {
    let toml = format!("{HEAD}[[scenarios.turns]]\ntext = \"hello\"\n");
    let json = r#"{"scenarios": [{"name": "s", "model": "m", "turns": [{"text": "hello"}]}]}"#;
    let toml = Script::parse_toml(&toml, no_files).unwrap();
    let json = Script::parse_json(json, no_files).unwrap();
    assert_eq!(format!("{toml:?}"), format!("{json:?}"));
}

#[test]
fn a_script_that_makes_no_sense_is_refused_with_the_place() {
    let turn = |rest: &str| format!("{HEAD}[[scenarios.turns]]\n{rest}\n");
    for (text, words) in [
        (String::new(), "scenarios"),
        ("scenarios = []".to_owned(), "no scenario"),
        (format!("{HEAD}turns = []"), "scenario `s`: there is no turn"),
        (turn("txt = \"a\""), "unknown field `txt`"),
        (turn(""), "turn 1: it has neither text nor tool calls"),
        (turn("text = \"{{x}}\""), "turn 1: nothing captures {{x}}"),
        (turn("text = \"a\"\ncaptures = [{ line = \"R \" }]"), "neither `rest` nor `values`"),
        (turn("text = \"a\"\ncaptures = [{ line = \"\", rest = \"x\" }]"), "beginning of its line"),
        (turn("text = \"a\"\ncaptures = [{ line = \"R\", values = { x = \"y\" } }]"), "does not begin with `/`"),
        (turn("tool_calls = [{ tool = \"t\", arguments = { a = \"{{x}}\" } }]"), "nothing captures {{x}}"),
        (turn("tool_calls = [{ tool = \"t\", files = { a = \"gone.py\" } }]"), "cannot read gone.py"),
        (turn("text = \"a\"").replace("\"m\"", "\"echo\""), "model `echo` is built in"),
        (turn("text = \"a\"").repeat(2), "chosen by the same model"),
    ] {
        let error = error_of(&text);
        assert!(error.contains(words), "{error} lacks {words}");
    }
}

fn capture(rest: Option<&str>, values: &[(&str, &str)]) -> Capture {
    Capture {
        line: "R ".to_owned(),
        rest: rest.map(str::to_owned),
        values: values.iter().map(|(name, pointer)| ((*name).to_owned(), (*pointer).to_owned())).collect(),
    }
}

#[test]
fn values_come_from_the_last_line_that_begins_so() {
    let results = ["R {\"n\":1}\nnoise".to_owned(), "x R no\r\nR {\"n\":2,\"l\":[\"a\",3],\"o\":{}}\r\n".to_owned()];
    let mut values = Values::new();
    capture(Some("all"), &[("n", "/n"), ("list", "/l"), ("o", "/o"), ("gone", "/g")]).read(&results, &mut values);
    assert_eq!(fill("{{n}}, {{ list }}!", &values).unwrap(), "2, a\n3!");
    assert!(fill("{{all}}", &values).unwrap().starts_with("{\"n\":2"));
    assert!(fill("{{o}}", &values).unwrap_err().to_string().contains("{{o}}: what the JSON has at `/o`"));
    assert!(fill("{{gone}}", &values).unwrap_err().to_string().contains("nothing at `/g`"));
    assert!(fill("{{other}}", &values).unwrap_err().to_string().contains("nothing captures it"));
}

#[test]
fn a_line_that_is_not_there_leaves_every_value_missing() {
    let mut values = Values::new();
    capture(None, &[("n", "/n")]).read(&["nothing".to_owned()], &mut values);
    assert!(fill("{{n}}", &values).unwrap_err().to_string().contains("begins with `R `"));
    capture(None, &[("n", "/n")]).read(&["R {".to_owned()], &mut values);
    assert!(fill("{{n}}", &values).unwrap_err().to_string().contains("is no JSON"));
}

//! Bodies that real providers sent in kind, and what each must come to.

use std::collections::BTreeSet;

use domain::model_call::{FinishReason, ModelFailureKind};
use domain::money::TokenUsage;
use serde_json::{Value, json};

pub struct Case {
    pub name: &'static str,
    pub body: Vec<u8>,
    pub text: &'static str,
    pub calls: Vec<(&'static str, &'static str)>,
    pub usage: Option<TokenUsage>,
    pub end: Result<FinishReason, ModelFailureKind>,
}

impl Case {
    fn new(name: &'static str, body: impl Into<Vec<u8>>, end: Result<FinishReason, ModelFailureKind>) -> Self {
        Self { name, body: body.into(), text: "", calls: Vec::new(), usage: None, end }
    }

    fn text(mut self, text: &'static str) -> Self {
        self.text = text;
        self
    }

    fn calls(mut self, calls: &[(&'static str, &'static str)]) -> Self {
        self.calls = calls.to_vec();
        self
    }

    fn usage(self, input: u64, output: u64) -> Self {
        self.whole_usage(TokenUsage { input, output, ..TokenUsage::default() })
    }

    fn whole_usage(mut self, usage: TokenUsage) -> Self {
        self.usage = Some(usage);
        self
    }
}

pub fn fixtures() -> Value {
    serde_json::from_str(include_str!("fixtures.json")).unwrap()
}

pub fn cases() -> Vec<Case> {
    let all = fixtures();
    let body = |path: &str| all.pointer(path).unwrap().as_str().unwrap().to_owned();
    let hex = data_encoding::HEXLOWER.decode(body("/X07/hex").as_bytes()).unwrap();
    let cut = [("write_file", "{\"path\":\"/tmp/a\",\"content\":\"line1")];
    let length = body("/X06/bytes").replace("\"tool_calls\"}", "\"length\"}");
    use FinishReason::{Length, Stop, ToolCalls};
    use ModelFailureKind::{Protocol, ProviderError, RateLimited, StreamTruncated};
    let mut cases = vec![
        Case::new("F02 X01 usage behind the finish reason", body("/X01/bytes"), Ok(Stop)).text("Hello").usage(9, 3),
        Case::new("F10 X02 no space, CRLF, no [DONE]", body("/X02/bytes"), Ok(Stop)).text("AB").usage(4, 2),
        Case::new("F04 X03 empty ids", body("/X03/bytes"), Ok(ToolCalls)).calls(&[("weather", r#"{"city":"Oslo"}"#)]),
        Case::new("F03 X04 no index", body("/X04/bytes"), Ok(ToolCalls))
            .calls(&[("f", r#"{"a":1}"#), ("g", r#"{"b":2}"#)]),
        Case::new("F06 X05 one id twice", body("/X05/turn1"), Ok(ToolCalls))
            .calls(&[("put", r#"{"k":1}"#), ("put", r#"{"k":2}"#)]),
        Case::new("F06 X05 the id again", body("/X05/turn2"), Ok(ToolCalls)).calls(&[("put", r#"{"k":3}"#)]),
        Case::new("F07 X06 cut arguments", body("/X06/bytes"), Ok(ToolCalls)).calls(&cut).usage(20, 16),
        Case::new("F07 X06 cut at the cap", length, Ok(Length)).calls(&cut).usage(20, 16),
        Case::new("F08 calls though it says stop", spoken(CALL, "stop"), Ok(Stop)).calls(&[("f", "{}")]),
        Case::new("F08 text though it says calls", spoken(TEXT, "tool_calls"), Ok(ToolCalls)).text("t"),
        Case::new("F08 nothing though it says calls", spoken("{}", "tool_calls"), Err(Protocol)),
        Case::new("F11 X07 multi-byte characters", hex, Ok(Stop)).text("你好🦀é"),
        Case::new("F12 X08 an error object", body("/X08/object"), Err(RateLimited)).text("par"),
        Case::new("F12 X08 an error string", body("/X08/string"), Err(ProviderError)),
        Case::new("F12 X08 an error event", body("/X08/event_name"), Err(ProviderError)),
        Case::new("F13 X09 the end behind a finish reason", body("/X09/a"), Ok(Stop)).text("ok"),
        Case::new("F13 X09 the end in the middle", body("/X09/b"), Err(StreamTruncated)).text("half an ans"),
        Case::new("F13 X09 the end behind a call", body("/X09/c"), Err(StreamTruncated)).calls(&[("pay", "{}")]),
        Case::new("F13 X09 no last blank line", body("/X09/d"), Ok(Stop)).text("ok"),
    ];
    cases.extend(usages().into_iter().map(|(path, usage)| {
        let said = json!({"choices": [], "usage": all.pointer(path).unwrap()});
        let stream = format!("{}data: {said}\n\ndata: [DONE]\n\n", spoken(TEXT, "stop"));
        Case::new("F14 X10 parts of usage", stream, Ok(Stop)).text("t").whole_usage(usage)
    }));
    cases
}

/// What each usage of X10 comes to: parts are cut to their whole, and never added to it.
pub fn usages() -> [(&'static str, TokenUsage); 4] {
    let usage = |input, cached_input, output, reasoning| TokenUsage { input, cached_input, output, reasoning };
    [
        ("/X10/usage", usage(1000, 800, 500, 400)),
        ("/X10/odd/0", usage(10, 10, 5, 0)),
        ("/X10/odd/1", usage(10, 0, 5, 0)),
        ("/X10/odd/2", usage(10, 0, 5, 0)),
    ]
}

const CALL: &str = r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}"#;
const TEXT: &str = r#"{"content":"t"}"#;

/// A delta, then a chunk with the finish reason.
fn spoken(delta: &str, reason: &str) -> String {
    let chunk = |delta: &str, reason: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n")
    };
    format!("{}{}", chunk(delta, "null"), chunk("{}", &format!("\"{reason}\"")))
}

/// The table of cases and fixtures, and the test that plays each: a number that no case carries is a gap.
#[test]
fn every_case_of_a_provider_is_played() {
    let table = [
        ("F02", "X01"),
        ("F03", "X04"),
        ("F04", "X03"),
        ("F06", "X05"),
        ("F07", "X06"),
        ("F08", ""),
        ("F10", "X02"),
        ("F11", "X07"),
        ("F12", "X08"),
        ("F13", "X09"),
        ("F14", "X10"),
    ];
    let names: Vec<_> = cases().into_iter().map(|case| case.name).collect();
    for (case, fixture) in table {
        let numbers = [case, fixture];
        assert!(names.iter().any(|name| numbers.iter().all(|number| name.contains(number))), "{numbers:?}");
    }
    let fixtures = fixtures();
    let members: Vec<_> = fixtures.as_object().unwrap().keys().map(String::as_str).collect();
    let wanted: BTreeSet<_> = table.iter().map(|(_, fixture)| *fixture).filter(|name| !name.is_empty()).collect();
    assert_eq!(members, wanted.into_iter().collect::<Vec<_>>());
}

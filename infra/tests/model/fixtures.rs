//! Bodies that real providers sent in kind, and what each must come to.

use domain::model_call::{FinishReason, ModelFailureKind};
use domain::money::TokenUsage;
use serde_json::Value;

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

    fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(TokenUsage { input, output, ..TokenUsage::default() });
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
    use ModelFailureKind::{ProviderError, RateLimited, StreamTruncated};
    vec![
        Case::new("X01 usage behind the finish reason", body("/X01/bytes"), Ok(Stop)).text("Hello").usage(9, 3),
        Case::new("X02 no space, CRLF, no [DONE]", body("/X02/bytes"), Ok(Stop)).text("AB").usage(4, 2),
        Case::new("X03 empty ids", body("/X03/bytes"), Ok(ToolCalls)).calls(&[("weather", r#"{"city":"Oslo"}"#)]),
        Case::new("X04 no index", body("/X04/bytes"), Ok(ToolCalls)).calls(&[("f", r#"{"a":1}"#), ("g", r#"{"b":2}"#)]),
        Case::new("X05 one id twice", body("/X05/turn1"), Ok(ToolCalls))
            .calls(&[("put", r#"{"k":1}"#), ("put", r#"{"k":2}"#)]),
        Case::new("X05 the id again", body("/X05/turn2"), Ok(ToolCalls)).calls(&[("put", r#"{"k":3}"#)]),
        Case::new("X06 cut arguments", body("/X06/bytes"), Ok(ToolCalls)).calls(&cut).usage(20, 16),
        Case::new("X06 cut at the cap", length, Ok(Length)).calls(&cut).usage(20, 16),
        Case::new("X07 multi-byte characters", hex, Ok(Stop)).text("你好🦀é"),
        Case::new("X08 an error object", body("/X08/object"), Err(RateLimited)).text("par"),
        Case::new("X08 an error string", body("/X08/string"), Err(ProviderError)),
        Case::new("X08 an error event", body("/X08/event_name"), Err(ProviderError)),
        Case::new("X09 the end behind a finish reason", body("/X09/a"), Ok(Stop)).text("ok"),
        Case::new("X09 the end in the middle", body("/X09/b"), Err(StreamTruncated)).text("half an ans"),
        Case::new("X09 the end behind a call", body("/X09/c"), Err(StreamTruncated)).calls(&[("pay", "{}")]),
        Case::new("X09 no last blank line", body("/X09/d"), Ok(Stop)).text("ok"),
    ]
}

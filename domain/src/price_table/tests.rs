use super::*;
use crate::clock::Timestamp;
use crate::money::{NanoUsd, Price};

const GOOD: &str = r#"{
  "formatVersion": 1,
  "prices": [
    {
      "provider": "openai", "deployment": "gpt-9", "currency": "USD", "validFrom": "2026-01-01T00:00:00Z",
      "perMillion": { "input": "0.25", "cachedInput": 0.025, "output": "2.000000001", "reasoning": "2.5" }
    },
    {
      "provider": "local", "deployment": "tiny", "currency": "USD", "validFrom": "2026-01-01T01:00:00+01:00",
      "perMillion": { "input": "0", "output": "0" }
    }
  ]
}"#;

/// Path and code of each fault of a file.
fn faults(text: &str) -> Vec<(String, &'static str)> {
    let faults = read_price_file(text, &["table"]).unwrap_err();
    assert!(faults.iter().all(|fault| !fault.message.is_empty()), "{faults:?}");
    faults.into_iter().map(|fault| (fault.path.join("."), fault.code)).collect()
}

/// The one fault of the good file with one piece of it replaced.
fn fault_with(old: &str, new: &str) -> (String, &'static str) {
    assert!(GOOD.contains(old), "{old}");
    let found = faults(&GOOD.replacen(old, new, 1));
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn reads_texts_and_numbers_digit_by_digit() {
    let lines = read_price_file(GOOD, &[]).unwrap();
    let from = Timestamp::from_rfc3339("2026-01-01T00:00:00Z").unwrap();
    let model = |provider: &str, deployment: &str| ModelName {
        provider: provider.to_owned(),
        deployment: deployment.to_owned(),
    };
    let first = Price {
        input_per_million: NanoUsd(250_000_000),
        cached_input_per_million: NanoUsd(25_000_000),
        output_per_million: NanoUsd(2_000_000_001),
        reasoning_per_million: Some(NanoUsd(2_500_000_000)),
    };
    let free = Price {
        input_per_million: NanoUsd(0),
        cached_input_per_million: NanoUsd(0),
        output_per_million: NanoUsd(0),
        reasoning_per_million: None,
    };
    assert_eq!(
        lines,
        [
            PriceLine { model: model("openai", "gpt-9"), valid_from: from, price: first },
            PriceLine { model: model("local", "tiny"), valid_from: from, price: free },
        ]
    );
}

#[test]
fn cached_input_costs_as_much_as_other_input_where_nothing_is_said() {
    let lines = read_price_file(&GOOD.replacen("\"cachedInput\": 0.025, ", "", 1), &[]).unwrap();
    assert_eq!(lines[0].price.cached_input_per_million, NanoUsd(250_000_000));
}

#[test]
fn refuses_more_digits_than_a_billionth() {
    let path = "table.prices.0.perMillion.output".to_owned();
    assert_eq!(fault_with("\"2.000000001\"", "\"2.0000000001\""), (path.clone(), "TOO_PRECISE"));
    // What a program prints after 0.1 + 0.2, and what a float could not even hold.
    assert_eq!(fault_with("\"2.000000001\"", "0.30000000000000004"), (path.clone(), "TOO_PRECISE"));
    let exact = GOOD.replacen("\"2.000000001\"", "123456.123456789", 1);
    let lines = read_price_file(&exact, &[]).unwrap();
    assert_eq!(lines[0].price.output_per_million, NanoUsd(123_456_123_456_789));
}

#[test]
fn refuses_what_is_no_plain_amount() {
    for bad in ["-1", "1e-3", "\"1e3\"", "\"\"", "\" 1\"", "null", "true", "[1]", "\".5\"", "\"0,25\"", "\"\\u0031\""] {
        assert_eq!(fault_with("\"0.25\"", bad), ("table.prices.0.perMillion.input".to_owned(), "MALFORMED"), "{bad}");
    }
    let dear = fault_with("\"0.25\"", "\"1000000.000000001\"");
    assert_eq!(dear, ("table.prices.0.perMillion.input".to_owned(), "OUT_OF_RANGE"));
}

#[test]
fn names_each_fault_of_each_line_at_once() {
    let bad = r#"{"prices": [
        {"provider": "", "deployment": "d", "currency": "EUR", "validFrom": "yesterday", "perMillion": {"input": "x"}},
        7,
        {"provider": "p", "deployment": "d", "currency": "USD", "validFrom": "2026-01-01T00:00:00Z", "color": 1,
         "perMillion": {"input": "1", "output": "1", "output": "2"}}
    ]}"#;
    let expected = [
        ("table.prices.0.provider", "MALFORMED"),
        ("table.prices.0.validFrom", "MALFORMED"),
        ("table.prices.0.currency", "UNKNOWN_CURRENCY"),
        ("table.prices.0.perMillion.input", "MALFORMED"),
        ("table.prices.0.perMillion.output", "MISSING"),
        ("table.prices.1", "MALFORMED"),
        ("table.prices.2.color", "UNKNOWN_FIELD"),
        ("table.prices.2.perMillion.output", "DUPLICATE"),
    ];
    assert_eq!(faults(bad), expected.map(|(path, code)| (path.to_owned(), code)));
}

#[test]
fn a_model_has_one_price_from_one_moment() {
    let twice = GOOD.replacen("\"local\", \"deployment\": \"tiny\"", "\"openai\", \"deployment\": \"gpt-9\"", 1);
    assert_eq!(faults(&twice), [("table.prices.1".to_owned(), "DUPLICATE")]);
}

#[test]
fn refuses_a_file_that_is_none() {
    for (text, code) in [("", "MALFORMED"), ("[]", "MALFORMED"), ("{\"prices\": []} x", "MALFORMED")] {
        assert_eq!(faults(text), [("table".to_owned(), code)], "{text}");
    }
    assert_eq!(faults("{}"), [("table.prices".to_owned(), "MISSING")]);
    assert_eq!(faults("{\"prices\": []}"), [("table.prices".to_owned(), "OUT_OF_RANGE")]);
    assert_eq!(
        fault_with("\"formatVersion\": 1", "\"formatVersion\": 2"),
        ("table.formatVersion".to_owned(), "UNKNOWN_FORMAT")
    );
    assert_eq!(faults(&" ".repeat(MOST_BYTES + 1)), [("table".to_owned(), "TOO_LARGE")]);
}

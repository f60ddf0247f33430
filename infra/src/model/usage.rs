//! Reads a provider's token counts.

use domain::money::TokenUsage;
use serde_json::Value;

/// No request has more tokens of a kind; a greater count is a fault of the endpoint, and no sum may break on it.
const MOST_TOKENS: u64 = 1_000_000_000;

/// The counts, or None when they say nothing or cannot be. Details are parts of the whole: one that is greater is cut to it.
pub(super) fn read_usage(usage: &Value) -> Option<TokenUsage> {
    let count = |path: &str| usage.pointer(path).and_then(whole_number);
    let total = count("/total_tokens");
    let rest = |part: Option<u64>| total.zip(part).map(|(total, part)| total.saturating_sub(part));
    let (prompt, completion) = (count("/prompt_tokens"), count("/completion_tokens"));
    let input = prompt.or_else(|| rest(completion))?;
    let output = completion.or_else(|| rest(prompt))?;
    if input == 0 && output == 0 {
        return None;
    }
    if input > MOST_TOKENS || output > MOST_TOKENS {
        tracing::warn!(usage.input = input, usage.output = output, "the usage cannot be and is estimated instead");
        return None;
    }
    let cached = count("/prompt_tokens_details/cached_tokens").unwrap_or(0);
    let reasoning = count("/completion_tokens_details/reasoning_tokens").unwrap_or(0);
    if cached > input || reasoning > output {
        tracing::warn!(usage.cached = cached, usage.reasoning = reasoning, "a part of the usage exceeds its whole");
    }
    Some(TokenUsage { input, cached_input: cached.min(input), output, reasoning: reasoning.min(output) })
}

/// Some endpoints print counts as floats.
fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        let text = format!("{float:.0}");
        if float >= 0.0 { text.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_count_that_cannot_be_says_nothing() {
        for count in [json!(i64::MAX), json!(u64::MAX), json!(1e30), json!(MOST_TOKENS + 1)] {
            assert_eq!(read_usage(&json!({"prompt_tokens": count, "completion_tokens": 1})), None, "{count}");
            assert_eq!(read_usage(&json!({"prompt_tokens": 1, "completion_tokens": count})), None, "{count}");
        }
        let most = read_usage(&json!({"prompt_tokens": MOST_TOKENS, "completion_tokens": 1})).unwrap();
        assert_eq!((most.input, most.output), (MOST_TOKENS, 1));
    }
}

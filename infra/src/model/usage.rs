//! Reads a provider's token counts.

use domain::money::TokenUsage;
use serde_json::Value;

/// The counts, or None when they say nothing. Details are parts of the whole: one that is greater is cut to it.
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

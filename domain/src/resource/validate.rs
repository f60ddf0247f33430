//! Rules that a specification must meet before it is stored.

use url::Url;

use super::model::{AgentSpec, ModelSpec, Spec};
use super::validate_connection::connection;
use super::validate_profile::profile;
use crate::error::InvalidInput;

/// Retries of one model call at most.
const MAX_RETRIES: u32 = 10;
/// Fallback models of an agent at most.
const MAX_FALLBACKS: usize = 8;

/// A slug is 1 to 63 lower-case letters, digits and dashes, and starts and ends with a letter or a digit.
pub fn validate_slug(slug: &str) -> Result<(), InvalidInput> {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let inner = slug.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if slug.len() <= 63 && inner && edge(slug.bytes().next()) && edge(slug.bytes().last()) {
        return Ok(());
    }
    Err(InvalidInput::new(
        ["slug"],
        "MALFORMED",
        "must be 1 to 63 lower-case letters, digits or dashes, with no dash at either end, for example lock-auditor",
    ))
}

/// A name is 1 to 200 characters, none of them a control character.
pub fn validate_name(name: &str) -> Result<(), InvalidInput> {
    let count = name.chars().count();
    if (1..=200).contains(&count) && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(InvalidInput::new(["name"], "MALFORMED", "must be 1 to 200 characters without control characters"))
}

/// Checks a specification; `known_tools` are the names that an agent may list. All faults are reported at once.
pub fn validate_spec(spec: &Spec, known_tools: &[&str]) -> Vec<InvalidInput> {
    match spec {
        Spec::Model(spec) => model(spec),
        Spec::Credential(_) => Vec::new(),
        Spec::SandboxConnection(spec) => connection(spec),
        Spec::SandboxProfile(spec) => profile(spec),
        Spec::Agent(spec) => agent(spec, known_tools),
    }
}

fn model(spec: &ModelSpec) -> Vec<InvalidInput> {
    let mut faults = Vec::new();
    for (field, value) in [("provider", &spec.provider), ("deployment", &spec.deployment), ("alias", &spec.alias)] {
        if value.trim().is_empty() || value.len() > 200 {
            faults.push(InvalidInput::new(["spec", field], "MALFORMED", "must be 1 to 200 bytes"));
        }
    }
    let is_built_in = spec.is_scripted() && spec.base_url == ModelSpec::SCRIPTED_URL;
    if !is_built_in && web_url(&spec.base_url).is_none() {
        faults.push(InvalidInput::new(
            ["spec", "baseUrl"],
            "MALFORMED",
            "must be an http or https URL without user, query or fragment, for example https://api.openai.com/v1",
        ));
    }
    for reserved in ["model", "messages", "stream", "stream_options", "tools", "max_tokens", "n"] {
        if spec.parameters.contains_key(reserved) {
            faults.push(InvalidInput::new(
                ["spec", "parameters", reserved],
                "RESERVED",
                "is set by Vitrine itself; remove it from the parameters",
            ));
        }
    }
    if spec.max_output_tokens == 0 || spec.max_output_tokens >= spec.context_window {
        faults.push(InvalidInput::new(
            ["spec", "maxOutputTokens"],
            "OUT_OF_RANGE",
            "must be at least 1 and less than contextWindow",
        ));
    }
    if spec.max_retries > MAX_RETRIES {
        let rule = format!("must be from 0 to {MAX_RETRIES}");
        faults.push(InvalidInput::new(["spec", "maxRetries"], "OUT_OF_RANGE", rule));
    }
    let negative = spec.price.is_some_and(|version| {
        let price = version.price;
        [price.input_per_million, price.cached_input_per_million, price.output_per_million].iter().any(|p| p.0 < 0)
    });
    if negative {
        faults.push(InvalidInput::new(["spec", "price"], "OUT_OF_RANGE", "must not be negative"));
    }
    faults
}

fn agent(spec: &AgentSpec, known_tools: &[&str]) -> Vec<InvalidInput> {
    let mut faults = spec.limits.validate(&["spec", "limits"]);
    faults.extend(spec.warning_levels.validate(&["spec", "warningLevels"]));
    if spec.instructions.len() > 64 * 1024 {
        faults.push(InvalidInput::new(["spec", "instructions"], "TOO_LONG", "must be at most 64 KiB"));
    }
    faults.extend(fallbacks(spec));
    for (index, tool) in spec.tools.iter().enumerate() {
        let place = index.to_string();
        if !known_tools.contains(&tool.as_str()) {
            let message = format!("is no known tool; known are {}", known_tools.join(", "));
            faults.push(InvalidInput::new(["spec", "tools", &place], "UNKNOWN_TOOL", message));
        } else if spec.tools[..index].contains(tool) {
            faults.push(InvalidInput::new(["spec", "tools", &place], "DUPLICATE", "is listed twice; remove one"));
        } else if crate::tool_call::needs_sandbox(tool) && spec.sandbox_profile_id.is_none() {
            let message = format!("{tool} runs code: set sandboxProfileId, or remove the tool");
            faults.push(InvalidInput::new(["spec", "tools", &place], "SANDBOX_PROFILE_MISSING", message));
        }
    }
    faults.extend(spec.loop_policy.validate(&["spec", "loopPolicy"]));
    faults
}

fn fallbacks(spec: &AgentSpec) -> Vec<InvalidInput> {
    let models: Vec<_> = spec.models().collect();
    let mut faults = Vec::new();
    if spec.fallback_model_ids.len() > MAX_FALLBACKS {
        let rule = format!("must be at most {MAX_FALLBACKS} models");
        faults.push(InvalidInput::new(["spec", "fallbackModelIds"], "TOO_MANY", rule));
    }
    for (index, model) in spec.fallback_model_ids.iter().enumerate() {
        if models[..=index].contains(model) {
            let rule = "is asked before already; remove it from the list";
            faults.push(InvalidInput::new(["spec", "fallbackModelIds", &index.to_string()], "DUPLICATE", rule));
        }
    }
    faults
}

/// Reads the address of a server: http or https with a host, and nothing that would not reach it as it is written.
pub(super) fn web_url(text: &str) -> Option<Url> {
    let is_plain = |byte: u8| !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"@?#\\".contains(&byte);
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let is_written_out = text.len() <= 2048 && text.bytes().all(is_plain) && !rest.starts_with('/');
    // A port of 0 is none that anybody listens at.
    Url::parse(text).ok().filter(|url| is_written_out && url.host().is_some() && url.port() != Some(0))
}

//! Operations on network policies and metrics.

use sandbox::opensandbox::{EgressAction, EgressRule, Metrics, NetworkPolicy, PolicyRoute};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::Failure;
use super::operation::Operation;
use super::session::Session;

/// How many samples of a watch are reported.
const SAMPLES: usize = 2;

/// A policy as the list of operations writes it.
#[derive(Deserialize)]
pub struct Policy {
    default_action: String,
    egress: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    action: String,
    target: String,
}

pub async fn get_policy(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let status = session.sandbox(operation)?.network_policy(PolicyRoute::Sidecar).await?;
    let describe = |rule: &EgressRule| json!({ "action": rule.action.as_str(), "target": rule.target });
    let egress: Vec<Value> = status.policy.egress.iter().map(describe).collect();
    Ok(json!({ "default_action": status.policy.default_action.as_str(), "egress": egress }))
}

pub async fn patch_policy(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let rules = operation.need::<Vec<Rule>>("rules")?.into_iter().map(rule).collect::<Result<Vec<_>, _>>()?;
    sandbox.add_egress_rules(PolicyRoute::Sidecar, &rules).await?;
    Ok(json!({}))
}

/// Removes rules, and reports the policy that holds then.
pub async fn delete_rules(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let targets: Vec<String> = operation.need("targets")?;
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    sandbox.remove_egress_rules(PolicyRoute::Sidecar, &targets).await?;
    get_policy(session, operation).await
}

pub async fn metrics(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    Ok(describe(&session.sandbox(operation)?.metrics().await?))
}

pub async fn watch_metrics(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let mut watch = session.sandbox(operation)?.watch_metrics().await?;
    let mut samples = Vec::new();
    while samples.len() < SAMPLES
        && let Some(sample) = watch.next().await?
    {
        samples.push(describe(&sample));
    }
    Ok(json!({ "samples": samples }))
}

/// What the list of operations asks for, in our client's words.
pub fn policy(given: Policy) -> Result<NetworkPolicy, Failure> {
    let egress = given.egress.into_iter().map(rule).collect::<Result<_, _>>()?;
    Ok(NetworkPolicy { default_action: action(&given.default_action)?, egress })
}

fn rule(given: Rule) -> Result<EgressRule, Failure> {
    Ok(EgressRule { action: action(&given.action)?, target: given.target })
}

fn action(word: &str) -> Result<EgressAction, Failure> {
    match word {
        "allow" => Ok(EgressAction::Allow),
        "deny" => Ok(EgressAction::Deny),
        other => Err(Failure::Plan(format!("action {other}"))),
    }
}

fn describe(metrics: &Metrics) -> Value {
    json!({
        "cpu_count": metrics.cpus,
        "cpu_used_percent": metrics.cpu_used_percent,
        "mem_total_mib": metrics.mem_total_mib,
        "mem_used_mib": metrics.mem_used_mib,
        "measured_at_ms": metrics.measured_at_ms,
    })
}

//! Trying out whether this host can hold a sandbox: one is made, runs, and is removed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::create;
use super::error::{Error, Refusal};
use super::execd;
use super::protocol::Program;
use super::runtime::{RuntimeOptions, bind};
use super::{Cgroups, catalogue, ids};

/// What was found.
#[derive(Debug)]
pub struct TriedOut {
    /// The limits that hold, as sandboxes name them; what stands behind a colon does without a control group.
    pub enforced: Vec<&'static str>,
    /// Why there are no control groups for memory and processes, or nothing.
    pub no_groups: Option<&'static str>,
    pub start_time: Duration,
    /// Why there is no browser here, or nothing.
    pub no_browser: Option<String>,
}

/// Makes a sandbox below a directory that is its own alone.
pub async fn try_out(state_dir: PathBuf) -> Result<TriedOut, Error> {
    let failed = |text: String| Error::NoSandbox(text);
    let listen = (std::net::Ipv4Addr::LOCALHOST, 0).into();
    let api_key = ids::token().map_err(Error::io("no randomness"))?.into();
    let options = RuntimeOptions { listen, api_key, state_dir, cgroups: Cgroups::Auto, die_with_parent: None };
    let runtime = bind(options).await?;
    let registry = runtime.registry();
    let request = json!({
        "image": { "uri": catalogue::CODE },
        "entrypoint": ["tail", "-f", "/dev/null"],
        "resourceLimits": {},
        "networkPolicy": {},
    });
    let request = serde_json::from_value(request).map_err(|error| failed(error.to_string()))?;
    let order = create::check(&registry, request).map_err(|refusal| match refusal {
        Refusal::Rule(error) => failed(error.message),
        Refusal::Schema { message, .. } => failed(message),
    })?;
    let begun = Instant::now();
    let outcome = async {
        let sandbox = registry.create(order).await?;
        execd::start_entrypoint(&sandbox, &registry.tasks, Program::Argv(vec!["true".to_owned()])).await?;
        Ok(begun.elapsed())
    };
    let outcome = outcome.await.map_err(|error: super::error::ApiError| failed(error.message));
    registry.close().await;
    let no_browser = catalogue::resolve(catalogue::BROWSER).err();
    let (enforced, no_groups) = (registry.enforced(), registry.without_groups());
    Ok(TriedOut { enforced, no_groups, start_time: outcome?, no_browser })
}

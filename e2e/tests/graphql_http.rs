//! The server answers HTTP as the official GraphQL-over-HTTP audit suite (npm `graphql-http`) wants it.

use e2e::Result;
use e2e::node::{install, run};
use e2e::process::{Server, ServerOptions};
use serde_json::{Value, json};

/// How many audits the pinned version has. Fewer would mean that some were not run.
const AUDITS: usize = 61;

#[tokio::test]
async fn every_audit_of_the_official_suite_passes() -> Result {
    let script = install("graphql-clients")?;
    let data = tempfile::tempdir()?;
    let server = Server::start(&ServerOptions::new(&data.path().join("data")))?;
    let api_key = server.api_key.as_deref().ok_or("no API key at the first start")?;
    let lines =
        run(&script, "audit.mjs", &json!({ "url": format!("{}/graphql", server.url), "apiKey": api_key })).await?;
    let failed: Vec<&Value> = lines.iter().filter(|audit| audit["status"] != "ok").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(lines.len(), AUDITS);
    Ok(())
}

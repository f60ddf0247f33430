//! Operations of the Lifecycle API.

use std::time::Duration;

use sandbox::opensandbox::{CreateSandbox, ListFilter, SandboxInfo, SandboxLabel, SandboxState};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::answer::Failure;
use super::operation::Operation;
use super::policies::policy;
use super::session::Session;

const READY_WITHIN: Duration = Duration::from_secs(30);
/// Tells the sandboxes of one driver from those of the others.
const CLIENT_KEY: &str = "differential.client";

pub async fn create(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let label: String = operation.need("as")?;
    let image = operation.find("image")?.unwrap_or_else(|| session.image.clone());
    let mut create = CreateSandbox::new(SandboxLabel::new(label.clone())?, image);
    create.time_to_live = operation.find("timeout_s")?.map(Duration::from_secs);
    create.resource_limits = operation.map("resource")?;
    create.env = operation.map("env")?;
    create.metadata = operation.map("metadata")?;
    create.network_policy = operation.find("network_policy")?.map(policy).transpose()?;
    create.metadata.insert(CLIENT_KEY.to_owned(), session.client_name.clone());
    let sandbox = session.client(operation)?.create_ready(&create, READY_WITHIN).await?;
    let result = json!({ "id": sandbox.id() });
    session.keep_sandbox(label, sandbox);
    Ok(result)
}

pub async fn get(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let id = session.sandbox_id(operation)?;
    Ok(describe(&session.client(operation)?.get(&id).await?))
}

pub async fn list(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    operation.refuse(&["page_size"])?;
    let mut metadata = operation.map("metadata")?;
    metadata.insert(CLIENT_KEY.to_owned(), session.client_name.clone());
    let filter = ListFilter { states: operation.find("states")?.unwrap_or_default(), metadata };
    let page = operation.find("page")?.unwrap_or(1);
    let page = session.client(operation)?.list(&filter, page).await?;
    let items: Vec<Value> = page.items.iter().map(describe).collect();
    Ok(json!({ "items": items, "has_next_page": page.has_next_page }))
}

pub async fn kill(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let id = session.sandbox_id(operation)?;
    session.client(operation)?.kill(&id).await?;
    Ok(json!({}))
}

pub async fn renew(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let id = session.sandbox_id(operation)?;
    let at = OffsetDateTime::now_utc() + time::Duration::seconds(operation.need("in_s")?);
    let expires_at = session.client(operation)?.renew(&id, at).await?;
    Ok(json!({ "expires_at": moment(Some(expires_at)) }))
}

pub async fn endpoint(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let endpoint = sandbox.endpoint(operation.need("port")?).await?;
    let url = endpoint.url().as_str();
    let address = url.split_once("://").map_or(url, |(_, address)| address).trim_end_matches('/');
    let mut headers: Vec<&str> = endpoint.headers().keys().map(http::HeaderName::as_str).collect();
    headers.sort_unstable();
    Ok(json!({ "endpoint": address, "headers": headers.join(", ") }))
}

pub async fn pause(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    session.sandbox(operation)?.pause().await?;
    Ok(json!({}))
}

pub async fn resume(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    sandbox.resume().await?;
    sandbox.wait_ready(READY_WITHIN).await?;
    Ok(json!({}))
}

fn describe(info: &SandboxInfo) -> Value {
    json!({
        "id": info.id,
        "state": state(&info.state),
        "reason": info.reason,
        "expires_at": moment(info.expires_at),
        "created_at": moment(info.created_at),
        "metadata": info.metadata,
        "extensions": info.extensions,
    })
}

fn state(state: &SandboxState) -> String {
    match state {
        SandboxState::Other(text) => text.clone(),
        known => format!("{known:?}"),
    }
}

pub fn moment(at: Option<OffsetDateTime>) -> Option<String> {
    at.and_then(|at| at.format(&Rfc3339).ok())
}

//! A Snapshot is a copy of a sandbox's files that a server keeps. Not every server can: then it is `not_supported`.

use http::Method;
use serde::Deserialize;
use serde_json::json;
use time::OffsetDateTime;

use super::client::{Client, MAX_PAGES, PAGE_SIZE};
use super::error::Error;
use super::lifecycle::{check_id, parse_time};
use super::transport::Shape;

const CAPABILITY: &str = "snapshot";
const MAX_REASON_CHARS: usize = 128;

/// Where a snapshot is in its life, in the server's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotState {
    /// Being made.
    Creating,
    /// Sandboxes can be made from it.
    Ready,
    /// Being removed.
    Deleting,
    /// It could not be made.
    Failed,
    /// A state that this client does not know. Not an end.
    Other(String),
}

/// What the server says about a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// The server's id.
    pub id: String,
    /// The sandbox that it was made of.
    pub sandbox_id: String,
    /// The name that it was given.
    pub name: Option<String>,
    /// Where it is in its life.
    pub state: SnapshotState,
    /// Why, as one of the server's words.
    pub reason: Option<String>,
    /// When it was asked for.
    pub created_at: Option<OffsetDateTime>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSnapshot {
    id: String,
    sandbox_id: String,
    name: Option<String>,
    status: RawStatus,
    created_at: Option<String>,
}

#[derive(Deserialize)]
struct RawStatus {
    state: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct RawPage {
    items: Vec<RawSnapshot>,
    pagination: Option<RawPagination>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPagination {
    has_next_page: bool,
}

impl Shape for RawSnapshot {
    const MEMBERS: &'static [&'static str] = &["id", "sandboxId", "name", "status", "createdAt"];
}

impl RawSnapshot {
    fn check(self) -> Result<SnapshotInfo, Error> {
        Ok(SnapshotInfo {
            id: check_id(self.id)?,
            sandbox_id: check_id(self.sandbox_id)?,
            name: self.name,
            state: match self.status.state.as_str() {
                "Creating" => SnapshotState::Creating,
                "Ready" => SnapshotState::Ready,
                "Deleting" => SnapshotState::Deleting,
                "Failed" => SnapshotState::Failed,
                other => SnapshotState::Other(other.chars().take(64).collect()),
            },
            reason: self.status.reason.map(|reason| reason.chars().take(MAX_REASON_CHARS).collect()),
            created_at: self.created_at.as_deref().and_then(|text| parse_time(text).ok()),
        })
    }
}

impl Client {
    /// Asks for a snapshot of a running sandbox, which is ready when [`Client::snapshot`] says so. Sent once.
    pub async fn create_snapshot(&self, sandbox_id: &str, name: Option<&str>) -> Result<SnapshotInfo, Error> {
        let body = name.map_or_else(|| json!({}), |name| json!({ "name": name }));
        let url = self.url(&["sandboxes", sandbox_id, "snapshots"])?;
        let call = self.call(Method::POST, url, Some(body)).await?;
        let answer = self.transport().once(&call, CAPABILITY, self.transport().timeouts.create).await;
        let answer = answer.map_err(|error| error.unless_supported(CAPABILITY))?;
        let raw: Result<RawSnapshot, _> = answer.object(CAPABILITY, self.unknown());
        raw.and_then(RawSnapshot::check).map_err(|error| error.after_sending(CAPABILITY))
    }

    /// What the server says about a snapshot.
    pub async fn snapshot(&self, id: &str) -> Result<SnapshotInfo, Error> {
        let answer = self.read(self.url(&["snapshots", id])?).await;
        let answer = answer.map_err(|error| error.unless_supported(CAPABILITY))?;
        answer.object::<RawSnapshot>(CAPABILITY, self.unknown())?.check()
    }

    /// The snapshots of a sandbox, or all of them. A list without an end is refused.
    pub async fn list_snapshots(&self, sandbox_id: Option<&str>) -> Result<Vec<SnapshotInfo>, Error> {
        let mut found = Vec::new();
        for page in 1..=MAX_PAGES {
            let mut url = self.url(&["snapshots"])?;
            if let Some(id) = sandbox_id {
                url.query_pairs_mut().append_pair("sandboxId", id);
            }
            url.query_pairs_mut()
                .append_pair("page", &page.to_string())
                .append_pair("pageSize", &PAGE_SIZE.to_string());
            let answer = self.read(url).await.map_err(|error| error.unless_supported(CAPABILITY))?;
            let page: RawPage = answer.json("list of snapshots")?;
            found.extend(page.items.into_iter().map(RawSnapshot::check).collect::<Result<Vec<_>, _>>()?);
            if !page.pagination.is_some_and(|pagination| pagination.has_next_page) {
                return Ok(found);
            }
        }
        Err(Error::protocol("list of snapshots does not end"))
    }

    /// Removes a snapshot; one that is gone already counts as success.
    pub async fn delete_snapshot(&self, id: &str) -> Result<(), Error> {
        let call = self.call(Method::DELETE, self.url(&["snapshots", id])?, None).await?;
        match self.transport().repeat(&call).await.map_err(|error| error.unless_supported(CAPABILITY)) {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

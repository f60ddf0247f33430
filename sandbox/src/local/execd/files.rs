//! The routes that look at and change files, each one question to a helper in the sandbox.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, RawQuery};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

use super::command::parse;
use crate::local::error::ApiError;
use crate::local::protocol::{Access, Move, Replacement, Request};
use crate::local::sandbox::Sandbox;

/// A sandbox, as the entrance has found it.
type Inside = Extension<Arc<Sandbox>>;

pub async fn info(Extension(sandbox): Inside, RawQuery(query): RawQuery) -> Result<Json<Value>, ApiError> {
    let paths = Parameters::parse(query).all("path");
    Ok(Json(sandbox.channel.ask(&Request::Info { paths }).await?))
}

pub async fn search(Extension(sandbox): Inside, RawQuery(query): RawQuery) -> Result<Json<Value>, ApiError> {
    let query = Parameters::parse(query);
    let path = query.required("path")?;
    let pattern = query.first("pattern").filter(|pattern| !pattern.is_empty()).unwrap_or_else(|| "**".to_owned());
    Ok(Json(sandbox.channel.ask(&Request::Search { path, pattern }).await?))
}

pub async fn list(Extension(sandbox): Inside, RawQuery(query): RawQuery) -> Result<Json<Value>, ApiError> {
    let query = Parameters::parse(query);
    let path = query.required("path")?;
    let depth = query.first("depth").map_or(Ok(1), |text| text.parse());
    let depth = depth.map_err(|_| ApiError::bad_body("depth must be a number that is not negative"))?;
    Ok(Json(sandbox.channel.ask(&Request::List { path, depth }).await?))
}

pub async fn make_directories(Extension(sandbox): Inside, body: Bytes) -> Result<StatusCode, ApiError> {
    let entries: BTreeMap<String, Option<Access>> = parse(&body)?;
    let entries = entries.into_iter().map(|(path, access)| (path, access.unwrap_or_default())).collect();
    done(&sandbox, Request::MakeDirectories { entries }).await
}

pub async fn remove_directories(Extension(sandbox): Inside, RawQuery(query): RawQuery) -> Result<StatusCode, ApiError> {
    done(&sandbox, Request::RemoveDirectories { paths: Parameters::parse(query).all("path") }).await
}

pub async fn remove_files(Extension(sandbox): Inside, RawQuery(query): RawQuery) -> Result<StatusCode, ApiError> {
    done(&sandbox, Request::RemoveFiles { paths: Parameters::parse(query).all("path") }).await
}

pub async fn rename(Extension(sandbox): Inside, body: Bytes) -> Result<StatusCode, ApiError> {
    let moves: Vec<Move> = parse(&body)?;
    done(&sandbox, Request::Move { moves }).await
}

pub async fn permissions(Extension(sandbox): Inside, body: Bytes) -> Result<StatusCode, ApiError> {
    let entries: BTreeMap<String, Access> = parse(&body)?;
    done(&sandbox, Request::Permissions { entries }).await
}

pub async fn replace(Extension(sandbox): Inside, RawQuery(query): RawQuery, body: Bytes) -> Result<Response, ApiError> {
    let is_verbose = Parameters::parse(query).first("verbose").is_some_and(|text| text == "true" || text == "1");
    let entries: BTreeMap<String, Replacement> = parse(&body)?;
    let counts = sandbox.channel.ask(&Request::Replace { entries }).await?;
    Ok(if is_verbose { Json(counts).into_response() } else { StatusCode::OK.into_response() })
}

async fn done(sandbox: &Sandbox, request: Request) -> Result<StatusCode, ApiError> {
    sandbox.channel.ask(&request).await?;
    Ok(StatusCode::OK)
}

/// Query parameters, which may repeat.
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub fn parse(query: Option<String>) -> Self {
        Self(url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    pub fn first(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
    }

    pub fn required(&self, name: &str) -> Result<String, ApiError> {
        self.first(name).filter(|value| !value.is_empty()).ok_or_else(|| ApiError::missing_query(name))
    }

    fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    }
}

//! execd is the API of one sandbox: commands, sessions, files, metrics.
//!
//! Rule: it runs in the runtime and not in the sandbox, so code inside can neither replace it nor read its token;
//! everything it does inside goes through the sandbox's channel.

mod command;
mod files;
mod log;
mod metrics;
mod output;
mod raw;
mod records;
mod sessions;
mod stream;
mod transfer;

use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, delete, get, post};
use axum::{Json, Router};
use http::StatusCode;
use serde_json::json;

use super::error::ApiError;
use super::server::{Shared, is_same};

pub use command::start_entrypoint;
pub use output::Wire;
pub use raw::Kept;
pub use records::Commands;
pub use sessions::Sessions;

pub const TOKEN_HEADER: &str = "X-EXECD-ACCESS-TOKEN";

/// How a request proves that it may reach the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// By the sandbox's token.
    Token,
    /// By the API key, which was checked before.
    ServerProxy,
}

pub fn router(shared: Arc<Shared>, entrance: Entrance) -> Router<Arc<Shared>> {
    let files = Router::new()
        .route("/files/info", get(files::info))
        .route("/files/search", get(files::search))
        .route("/files", delete(files::remove_files))
        .route("/files/mv", post(files::rename))
        .route("/files/permissions", post(files::permissions))
        .route("/files/replace", post(files::replace))
        .route("/files/upload", post(transfer::upload).layer(DefaultBodyLimit::disable()))
        .route("/files/download", get(transfer::download))
        .route("/directories", post(files::make_directories).delete(files::remove_directories))
        .route("/directories/list", get(files::list));
    Router::new()
        .route("/ping", get(|| ready(StatusCode::OK)))
        .route("/command", post(command::run).delete(command::interrupt))
        .route("/command/status/{command}", get(|sandbox, path| ready(command::status(sandbox, path))))
        .route("/command/{command}/logs", get(command::logs))
        .route("/vitrine/raw-output/{command}/{stream}", get(command::raw_output))
        .route("/session", post(sessions::create))
        .route("/session/{session}/run", post(sessions::run))
        .route("/session/{session}", delete(sessions::close))
        .route("/metrics", get(metrics::once))
        .route("/metrics/watch", get(|shared, sandbox| ready(metrics::watch(shared, sandbox))))
        .route("/proxy/{port}", any(|| ready((StatusCode::BAD_GATEWAY, "Bad Gateway"))))
        .route("/proxy/{port}/", any(|| ready((StatusCode::BAD_GATEWAY, "Bad Gateway"))))
        .route("/proxy/{port}/{*path}", any(|| ready((StatusCode::BAD_GATEWAY, "Bad Gateway"))))
        .merge(files)
        .fallback(|| ready((StatusCode::NOT_FOUND, "404 page not found")))
        .layer(middleware::from_fn_with_state((shared, entrance), enter))
}

/// Finds the sandbox that the path names and checks the token.
async fn enter(
    State((shared, entrance)): State<(Arc<Shared>, Entrance)>,
    Path(path): Path<HashMap<String, String>>,
    mut request: Request,
    next: Next,
) -> Response {
    let sandbox = path.get("id").and_then(|id| shared.registry.get(id));
    if entrance == Entrance::Token {
        let token = request.headers().get(TOKEN_HEADER);
        let is_allowed = |sandbox: &Arc<super::sandbox::Sandbox>| {
            token.is_some_and(|token| is_same(token.as_bytes(), &sandbox.token))
        };
        // Without a valid token a sandbox that exists looks like one that does not.
        if !sandbox.as_ref().is_some_and(is_allowed) {
            let message = format!("Unauthorized: invalid or missing header {TOKEN_HEADER}");
            return (StatusCode::UNAUTHORIZED, Json(json!({ "error": message }))).into_response();
        }
    }
    let Some(sandbox) = sandbox else { return ApiError::unknown_sandbox("").into_response() };
    if sandbox.ended.is_cancelled() {
        return ApiError::runtime("the sandbox has ended").into_response();
    }
    if sandbox.pause.is_on() {
        let message = "the sandbox is paused: resume it first";
        return ApiError::new(StatusCode::CONFLICT, "LOCAL::SANDBOX_PAUSED", message).into_response();
    }
    request.extensions_mut().insert(sandbox);
    next.run(request).await
}

//! What a sandbox uses: its own share, never the host's.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, State};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::stream;
use crate::local::clock;
use crate::local::error::ApiError;
use crate::local::protocol::Request;
use crate::local::sandbox::Sandbox;
use crate::local::server::Shared;

const SAMPLE_MS: u64 = 200;
const WATCH_PERIOD: Duration = Duration::from_secs(2);
const MIB: f64 = 1024.0 * 1024.0;

pub async fn once(Extension(sandbox): Extension<Arc<Sandbox>>) -> Result<Json<Value>, ApiError> {
    Ok(Json(sample(&sandbox).await?))
}

/// One sample every two seconds, each JSON followed by a blank line, until the client or the sandbox is gone.
pub fn watch(State(shared): State<Arc<Shared>>, Extension(sandbox): Extension<Arc<Sandbox>>) -> Response {
    let (client, body) = mpsc::channel(1);
    shared.registry.tasks.spawn(async move {
        loop {
            let next = Instant::now() + WATCH_PERIOD;
            let sample = match sample(&sandbox).await {
                Ok(sample) => sample,
                Err(error) => json!({ "error": error.message }),
            };
            let is_sent = client.send(Ok(format!("{sample}\n\n").into())).await.is_ok();
            if !is_sent || sandbox.ended.is_cancelled() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = sandbox.ended.cancelled() => return,
                () = client.closed() => return,
            }
        }
    });
    stream::response(body)
}

async fn sample(sandbox: &Sandbox) -> Result<Value, ApiError> {
    let usage = sandbox.channel.ask(&Request::Usage { sample_ms: SAMPLE_MS }).await?;
    let number = |name: &str| usage.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let limits = &sandbox.profile.limits;
    let cpu_count = limits.cpu_milli.map_or_else(|| number("cpu_count"), |milli| to_f64(milli) / 1000.0);
    let used = sandbox.group.memory_used().map_or_else(|| number("resident_bytes"), to_f64);
    Ok(json!({
        "cpu_count": cpu_count,
        "cpu_used_pct": number("cpu_ms") / to_f64(SAMPLE_MS) * 100.0 / cpu_count.max(0.001),
        "mem_total_mib": to_f64(limits.memory_bytes) / MIB,
        "mem_used_mib": used / MIB,
        "timestamp": clock::now_ms(),
    }))
}

fn to_f64(number: u64) -> f64 {
    // Exact up to 2^53, which is more bytes than any host has.
    number as f64
}

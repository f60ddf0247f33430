//! What a sandbox has and uses, once or as it changes.

use std::collections::VecDeque;

use http::Method;
use reqwest::Response;
use serde::Deserialize;

use super::error::{Error, Reply};
use super::sandbox::Sandbox;
use super::stream::FrameDecoder;
use super::transport::{Shape, SharedRedactor, Transport};

/// The longest line of a watch that is read.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// What the server's host has and uses. A real execd reports memory and CPU use of the whole host.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Metrics {
    /// CPUs that the sandbox may use.
    #[serde(rename = "cpu_count")]
    pub cpus: f64,
    /// CPU in use, in percent.
    #[serde(rename = "cpu_used_pct")]
    pub cpu_used_percent: f64,
    /// Memory, in MiB.
    pub mem_total_mib: f64,
    /// Memory in use, in MiB.
    pub mem_used_mib: f64,
    /// When it was measured, in milliseconds since 1970.
    #[serde(rename = "timestamp")]
    pub measured_at_ms: f64,
}

impl Shape for Metrics {
    const MEMBERS: &'static [&'static str] =
        &["cpu_count", "cpu_used_pct", "mem_total_mib", "mem_used_mib", "timestamp"];
}

#[derive(Deserialize)]
struct RawFailure {
    error: String,
}

impl Sandbox {
    /// What its host has and uses. Takes a second on a real execd, which measures for so long.
    pub async fn metrics(&self) -> Result<Metrics, Error> {
        let execd = self.execd().await?;
        let answer = self.read(&execd.call(Method::GET, execd.url(&["metrics"])?)).await?;
        answer.object("metrics", self.client().unknown())
    }

    /// The same again and again, about every two seconds, until the watch is dropped.
    pub async fn watch_metrics(&self) -> Result<MetricsWatch, Error> {
        let execd = self.execd().await?;
        let call = execd.call(Method::GET, execd.url(&["metrics", "watch"])?);
        let transport = self.transport().clone();
        let response = transport.open(transport.request(&call), transport.timeouts.idle, call.redactor).await?;
        let (frames, redactor) = (FrameDecoder::new(MAX_LINE_BYTES), execd.redactor.clone());
        Ok(MetricsWatch { response, transport, frames, redactor, found: VecDeque::new(), has_ended: false })
    }
}

/// An open watch. Some servers end a line with one newline, some with two.
pub struct MetricsWatch {
    response: Response,
    transport: Transport,
    frames: FrameDecoder,
    redactor: SharedRedactor,
    found: VecDeque<Vec<u8>>,
    has_ended: bool,
}

impl MetricsWatch {
    /// What is used next; `None` when the server has ended the watch. A server that says nothing for the idle deadline
    /// is an error, as is a failure that it tells.
    pub async fn next(&mut self) -> Result<Option<Metrics>, Error> {
        loop {
            if let Some(frame) = self.found.pop_front() {
                return self.read(&frame).map(Some);
            }
            if self.has_ended {
                return Ok(None);
            }
            let chunk = self.transport.chunk(&mut self.response).await?;
            self.has_ended = chunk.is_none();
            let found = &mut self.found;
            let on_frame = |frame: &[u8]| found.push_back(frame.to_vec());
            let taken = match chunk {
                Some(bytes) => self.frames.push(&bytes, on_frame),
                None => self.frames.finish(on_frame),
            };
            taken.map_err(|error| Error::protocol(error.to_string()))?;
        }
    }

    fn read(&self, frame: &[u8]) -> Result<Metrics, Error> {
        if let Ok(RawFailure { error }) = serde_json::from_slice(frame) {
            let reply = Reply { status: 200, message: self.redactor.message(&error), ..Reply::default() };
            return Err(Error::ServerFailed(reply));
        }
        serde_json::from_slice(frame).map_err(|_| Error::protocol("metrics cannot be read"))
    }
}

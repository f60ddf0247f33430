//! The Transport sends one HTTP call and reads its answer within limits.
//!
//! Rule: no redirect is followed and no proxy of the environment is used; connecting, waiting and the whole call have
//! a deadline each; no body is read beyond its limit. Only a call named safe to repeat is repeated.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use reqwest::Response;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use url::Url;

use super::connection::{Timeouts, is_closed_address};
use super::error::{Deadline, Error};
use super::redact::Redactor;
use super::reply;

const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
const MAX_JSON_BYTES: usize = 8 * 1024 * 1024;
const MAX_ATTEMPTS: u32 = 3;
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// Below the keep-alive of the real server (5 s), so that no call is sent on a connection that it is closing.
const POOL_IDLE: Duration = Duration::from_secs(3);

/// One HTTP request that can be sent again.
pub(super) struct Call<'a> {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
    pub redactor: &'a Redactor,
}

/// The whole body of a success.
pub(super) struct Answer(Bytes);

impl Answer {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The body as JSON; `what` names it in the error.
    pub fn json<T: DeserializeOwned>(&self, what: &str) -> Result<T, Error> {
        serde_json::from_slice(&self.0).map_err(|error| unreadable(what, &error))
    }

    /// The body as an object; members outside [`Shape::MEMBERS`] are ignored and counted in `unknown`.
    pub fn object<T: Shape>(&self, what: &str, unknown: &AtomicU64) -> Result<T, Error> {
        let members: serde_json::Map<String, Value> = self.json(what)?;
        let count = members.keys().filter(|name| !T::MEMBERS.contains(&name.as_str())).count();
        unknown.fetch_add(count as u64, Ordering::Relaxed);
        serde_json::from_value(Value::Object(members)).map_err(|error| unreadable(what, &error))
    }
}

/// An object of the protocol.
pub(super) trait Shape: DeserializeOwned {
    /// The members that the protocol has, whether this client reads them or not.
    const MEMBERS: &'static [&'static str];
}

/// Names a missing member. The rest of the parser's own message could quote the body.
fn unreadable(what: &str, error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let missing = text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    Error::protocol(match missing {
        Some(name) => format!("{what} has no {name}"),
        None => format!("{what} cannot be read"),
    })
}

#[derive(Clone)]
pub(super) struct Transport {
    http: reqwest::Client,
    pub timeouts: Timeouts,
}

impl Transport {
    pub fn new(timeouts: Timeouts, base_url: &Url) -> Result<Self, Error> {
        // Another part of the process may have installed it already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder();
        if base_url.scheme() == "http" {
            // No call of this connection is encrypted, so the certificates of the system are neither read nor needed.
            builder = builder.tls_backend_preconfigured(trust_nobody());
        }
        let http = builder
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(timeouts.connect)
            .pool_idle_timeout(POOL_IDLE)
            .tcp_nodelay(true)
            .dns_resolver(GuardedResolver)
            .build()
            .map_err(|error| Error::ConnectionInvalid(format!("HTTP client cannot be built: {error}")))?;
        Ok(Self { http, timeouts })
    }

    /// Sends a call that must not be repeated, and reads its answer.
    pub async fn once(&self, call: &Call<'_>, operation: &'static str, total: Duration) -> Result<Answer, Error> {
        self.attempt(call, total).await.map_err(|error| error.after_sending(operation))
    }

    /// Sends a call once; a failure says nothing about its effect.
    pub async fn attempt(&self, call: &Call<'_>, total: Duration) -> Result<Answer, Error> {
        timeout(total, self.exchange(call, total)).await.unwrap_or(Err(Error::DeadlineExceeded(Deadline::Total)))
    }

    /// Sends a call that is safe to repeat, up to three times within the request deadline.
    pub async fn repeat(&self, call: &Call<'_>) -> Result<Answer, Error> {
        let deadline = Instant::now() + self.timeouts.request;
        let mut backoff = FIRST_BACKOFF;
        for attempt in 1.. {
            let result = timeout_at(deadline, self.exchange(call, self.timeouts.idle))
                .await
                .unwrap_or(Err(Error::DeadlineExceeded(Deadline::Total)));
            let Err(error) = result else { return result };
            // A server that says when to come back is not asked before.
            let pause = error.reply().and_then(|reply| reply.retry_after).unwrap_or(backoff);
            if attempt == MAX_ATTEMPTS || !is_passing(&error) || Instant::now() + pause >= deadline {
                return Err(error);
            }
            sleep(pause).await;
            backoff *= 2;
        }
        Err(Error::DeadlineExceeded(Deadline::Total))
    }

    async fn exchange(&self, call: &Call<'_>, head: Duration) -> Result<Answer, Error> {
        let response = self.open(self.request(call), head, call.redactor).await?;
        let (body, is_whole) = self.read(response, MAX_JSON_BYTES).await?;
        if !is_whole {
            return Err(Error::protocol(format!("answer is longer than {MAX_JSON_BYTES} bytes")));
        }
        Ok(Answer(body))
    }

    /// A request to which a streamed body can be added.
    pub fn request(&self, call: &Call<'_>) -> reqwest::RequestBuilder {
        let request = self.http.request(call.method.clone(), call.url.clone()).headers(call.headers.clone());
        match &call.body {
            Some(body) => request.header(CONTENT_TYPE, HeaderValue::from_static("application/json")).body(body.clone()),
            None => request,
        }
    }

    /// Waits for the head of the answer; anything but a success becomes an error.
    pub async fn open(
        &self,
        request: reqwest::RequestBuilder,
        head: Duration,
        redactor: &Redactor,
    ) -> Result<Response, Error> {
        // A body that the server stops taking counts as waiting, too.
        let response = timeout(head, request.send())
            .await
            .map_err(|_| Error::DeadlineExceeded(Deadline::Idle))?
            .map_err(from_reqwest)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        // The status is the answer, whether its explanation arrives or not.
        let body = match self.read(response, MAX_ERROR_BODY_BYTES).await {
            Ok((body, true)) => body,
            Ok((body, false)) => body.slice(..body.len().saturating_sub(redactor.longest())),
            Err(_) => Bytes::new(),
        };
        Err(reply::to_error(status, &headers, &body, redactor))
    }

    /// Reads at most `limit` bytes, and says whether that was all.
    pub async fn read(&self, mut response: Response, limit: usize) -> Result<(Bytes, bool), Error> {
        let mut body = BytesMut::new();
        while let Some(chunk) = self.chunk(&mut response).await? {
            let room = limit - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                return Ok((body.freeze(), false));
            }
        }
        Ok((body.freeze(), true))
    }

    /// The next piece of a body within the idle deadline.
    pub async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, Error> {
        timeout(self.timeouts.idle, response.chunk())
            .await
            .map_err(|_| Error::DeadlineExceeded(Deadline::Idle))?
            .map_err(from_reqwest)
    }
}

fn trust_nobody() -> rustls::ClientConfig {
    rustls::ClientConfig::builder().with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
}

pub(super) fn from_reqwest(error: reqwest::Error) -> Error {
    let error = error.without_url();
    if error.is_builder() {
        Error::invalid("request cannot be built")
    } else if error.is_connect() && error.is_timeout() {
        Error::DeadlineExceeded(Deadline::Connect)
    } else if error.is_connect() {
        Error::Unreachable(error)
    } else {
        Error::Disconnected(error)
    }
}

fn is_passing(error: &Error) -> bool {
    match error {
        Error::Unreachable(_) | Error::Disconnected(_) | Error::DeadlineExceeded(_) => true,
        Error::ServerFailed(reply) => matches!(reply.status, 429 | 502..=504),
        _ => false,
    }
}

/// Resolves names, and drops the addresses that no allowed name may lead to.
struct GuardedResolver;

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let is_localhost = name.as_str().eq_ignore_ascii_case("localhost");
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found
                .filter(|address| !is_closed_address(address.ip()))
                .filter(|address| !is_localhost || address.ip().is_loopback())
                .collect();
            if allowed.is_empty() {
                return Err("name leads to no allowed address".into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// Shared by everything that speaks for one connection.
pub(super) type SharedRedactor = Arc<Redactor>;

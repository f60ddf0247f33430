//! What programs of a sandbox tried to reach, as Vitrine's own local runtime keeps it beside the policy.
//!
//! Rule: other servers do not have this; their answer is no error of the sandbox.

use std::net::Ipv4Addr;

use http::Method;
use serde::Deserialize;

use super::egress::EGRESS_PORT;
use super::error::Error;
use super::sandbox::Sandbox;

/// Attempts that are read at one time at most; more of them come with the next read.
const MAX_ATTEMPTS: usize = 4096;
const MAX_WORD_CHARS: usize = 64;
const MAX_HOST_CHARS: usize = 253;

/// One try to reach a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The address of its own at which the program asked the proxy.
    pub via: Option<Ipv4Addr>,
    /// The host as the program named it.
    pub host: String,
    /// The port.
    pub port: Option<u16>,
    /// Whether it was let through.
    pub is_allowed: bool,
    /// Why it was not, as one of the runtime's words.
    pub reason: Option<String>,
}

/// The attempts behind a place in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Oldest first.
    pub attempts: Vec<Attempt>,
    /// The place behind the last one.
    pub next: u64,
}

#[derive(Deserialize)]
struct RawAttempts {
    attempts: Vec<RawAttempt>,
    next: u64,
}

#[derive(Deserialize)]
struct RawAttempt {
    sequence: u64,
    via: Option<Ipv4Addr>,
    host: Option<String>,
    port: Option<u16>,
    verdict: String,
    reason: Option<String>,
}

impl RawAttempts {
    fn check(self) -> Attempts {
        let next = self.attempts.iter().take(MAX_ATTEMPTS).next_back().map_or(self.next, |last| last.sequence);
        let attempts = self.attempts.into_iter().take(MAX_ATTEMPTS).map(RawAttempt::check).collect();
        Attempts { attempts, next }
    }
}

impl RawAttempt {
    fn check(self) -> Attempt {
        let bounded = |text: String, most: usize| text.chars().filter(|c| !c.is_control()).take(most).collect();
        Attempt {
            via: self.via,
            host: bounded(self.host.unwrap_or_default(), MAX_HOST_CHARS),
            port: self.port,
            is_allowed: self.verdict == "allowed",
            reason: self.reason.map(|reason| bounded(reason, MAX_WORD_CHARS)),
        }
    }
}

impl Sandbox {
    /// What was tried behind this place.
    pub async fn egress_attempts(&self, after: u64) -> Result<Attempts, Error> {
        let port = self.port(EGRESS_PORT).await?;
        let mut url = port.url(&["vitrine", "attempts"])?;
        url.query_pairs_mut().append_pair("after", &after.to_string());
        let answer = self.transport().repeat(&port.call(Method::GET, url)).await?;
        Ok(answer.json::<RawAttempts>("egress attempts")?.check())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_names_is_bounded_and_its_place_is_the_last_that_was_read() {
        let host = "h".repeat(1000);
        let raw = format!(
            r#"{{"attempts":[{{"sequence":4,"at":"x","via":"127.64.0.3","method":"CONNECT","host":"{host}","port":443,"verdict":"allowed","reason":null}},
                {{"sequence":9,"host":"a\u0007b","port":null,"verdict":"new","reason":"not_listed"}}],"next":9,"bytes":{{}}}}"#
        );
        let Attempts { attempts, next } = serde_json::from_str::<RawAttempts>(&raw).unwrap().check();
        assert_eq!((next, attempts[0].host.len(), attempts[0].is_allowed), (9, 253, true));
        assert_eq!((attempts[0].via, attempts[1].via), (Some(Ipv4Addr::new(127, 64, 0, 3)), None));
        // What is not plainly allowed is shown as denied.
        assert_eq!((attempts[1].host.as_str(), attempts[1].is_allowed), ("ab", false));
    }
}

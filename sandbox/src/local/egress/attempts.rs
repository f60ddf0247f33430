//! What code in a sandbox has tried to reach: a bounded list, the oldest entry leaves first.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::local::clock;

/// So many attempts are kept.
const KEPT: usize = 4096;
/// So many are told at once.
const PAGE: usize = 500;

/// Why an attempt led nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The policy does not allow the host.
    NotListed,
    /// The host's address is not public.
    PrivateAddress,
    /// TLS names another host than the request did, or none.
    SniMismatch,
    /// The name has no address.
    NotResolved,
    /// Nobody answers at the address.
    Unreachable,
    /// The request is not one that can be read in one way only.
    Malformed,
}

impl Reason {
    pub fn text(self) -> &'static str {
        match self {
            Self::NotListed => "not_listed",
            Self::PrivateAddress => "private_address",
            Self::SniMismatch => "sni_mismatch",
            Self::NotResolved => "not_resolved",
            Self::Unreachable => "unreachable",
            Self::Malformed => "malformed",
        }
    }
}

/// Who wanted what: the address at which it asked says who, as far as programs keep to the one that they were given.
#[derive(Clone, Debug, Serialize)]
pub struct Wish {
    pub via: Ipv4Addr,
    pub method: &'static str,
    pub host: String,
    pub port: u16,
}

impl Wish {
    /// What can be told of a request that cannot be read.
    pub fn unreadable(via: Ipv4Addr) -> Self {
        Self { via, method: "HTTP", host: String::new(), port: 0 }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    pub sequence: u64,
    pub at: String,
    #[serde(flatten)]
    pub wish: Wish,
    pub verdict: &'static str,
    pub reason: Option<Reason>,
}

#[derive(Default)]
pub struct Attempts(Mutex<Ring>);

#[derive(Default)]
struct Ring {
    kept: VecDeque<Attempt>,
    last: u64,
}

impl Attempts {
    pub fn add(&self, wish: Wish, reason: Option<Reason>) {
        let verdict = if reason.is_none() { "allowed" } else { "denied" };
        let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ring.last += 1;
        let attempt = Attempt { sequence: ring.last, at: clock::text(clock::now()), wish, verdict, reason };
        if ring.kept.len() == KEPT {
            ring.kept.pop_front();
        }
        ring.kept.push_back(attempt);
    }

    /// The attempts after `sequence`, a page at most.
    pub fn after(&self, sequence: u64) -> Vec<Attempt> {
        let ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ring.kept.iter().filter(|attempt| attempt.sequence > sequence).take(PAGE).cloned().collect()
    }
}

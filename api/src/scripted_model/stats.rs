//! Counts requests, so that a test can tell whether a call was sent once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest, Sha256};

const MAX_LOG: usize = 20_000;

#[derive(Debug, Default)]
pub(super) struct Stats(Mutex<Counts>);

#[derive(Debug, Default, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counts {
    requests: u64,
    by_scenario: BTreeMap<String, u64>,
    /// By the header `x-vitrine-model-call`, where a client sends one.
    by_key: BTreeMap<String, u64>,
    /// The newest requests, oldest first.
    log: VecDeque<LogEntry>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct LogEntry {
    model: String,
    scenario: String,
    turn: usize,
    /// SHA-256 of the request's body.
    digest: String,
}

/// A request, as it is counted.
pub(super) struct Counted<'a> {
    pub(super) model: &'a str,
    pub(super) scenario: &'a str,
    pub(super) turn: usize,
    pub(super) key: Option<&'a str>,
    pub(super) body: &'a [u8],
}

impl Stats {
    pub(super) fn count(&self, request: &Counted<'_>) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.requests += 1;
        *counts.by_scenario.entry(request.scenario.to_owned()).or_default() += 1;
        if let Some(key) = request.key
            && (counts.by_key.len() < MAX_LOG || counts.by_key.contains_key(key))
        {
            *counts.by_key.entry(key.to_owned()).or_default() += 1;
        }
        if counts.log.len() == MAX_LOG {
            counts.log.pop_front();
        }
        counts.log.push_back(LogEntry {
            model: request.model.to_owned(),
            scenario: request.scenario.to_owned(),
            turn: request.turn,
            digest: HEXLOWER.encode(&Sha256::digest(request.body)),
        });
    }

    pub(super) fn snapshot(&self) -> Counts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

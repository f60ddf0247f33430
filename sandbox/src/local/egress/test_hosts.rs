//! Names for tests, which may have no traffic beyond loopback. A build without the feature `testing` has none of this.
//!
//! `VITRINE_TEST_EGRESS_HOSTS` is a list `name=answer|answer,...`. Each time the name is resolved the next answer is
//! given, the last one for ever. An answer is addresses with ports, joined by `+`. An address that begins with `!`
//! keeps to the rules for addresses; any other one is exempt from them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::destination::Found;

const VARIABLE: &str = "VITRINE_TEST_EGRESS_HOSTS";

#[derive(Clone, Debug, Default)]
pub struct TestHosts(Arc<Mutex<HashMap<String, Vec<Vec<Found>>>>>);

impl TestHosts {
    pub fn from_environment() -> Self {
        let text = std::env::vars().find(|(name, _)| name == VARIABLE).map(|(_, text)| text).unwrap_or_default();
        let entries = text.split(',').filter_map(|entry| {
            let (name, answers) = entry.split_once('=')?;
            Some((name.trim().to_owned(), answers.split('|').map(answer).collect()))
        });
        Self(Arc::new(Mutex::new(entries.collect())))
    }

    pub fn resolve(&self, name: &str, port: u16) -> Option<Vec<Found>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = all.get_mut(name)?;
        let next = if answers.len() > 1 { answers.remove(0) } else { answers.first().cloned().unwrap_or_default() };
        let with_port = |mut found: Found| {
            if found.at.port() == 0 {
                found.at.set_port(port);
            }
            found
        };
        Some(next.into_iter().map(with_port).collect())
    }
}

fn answer(text: &str) -> Vec<Found> {
    let found = |text: &str| {
        let (is_exempt, text) = text.trim().strip_prefix('!').map_or((true, text.trim()), |text| (false, text));
        let address = text.parse::<SocketAddr>().ok();
        let address = address.or_else(|| Some(SocketAddr::new(text.parse().ok()?, 0)));
        address.map(|at| Found { at, is_exempt })
    };
    text.split('+').filter_map(found).collect()
}

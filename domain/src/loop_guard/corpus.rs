//! The corpus: transcripts of runs that loop and of runs that do not. The guard must tell them apart without a mistake.
//!
//! A transcript that a policy judged wrongly belongs there, with what it should have been.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::transcript::{Expectation, Report, Transcript};

/// Of each kind there are at least so many.
const LEAST: usize = 40;

fn corpus(kind: &str) -> Vec<(String, Transcript, Report)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("loop-corpus").join(kind);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let transcript = Transcript::parse(&std::fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        assert!(transcript.about.is_some(), "{name}: about is missing");
        let report = transcript.judge();
        (name, transcript, report)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn precision_and_recall_are_whole() {
    let (looping, honest) = (corpus("looping"), corpus("honest"));
    assert!(looping.len() >= LEAST && honest.len() >= LEAST, "{} {}", looping.len(), honest.len());
    let caught = |corpus: &[(String, Transcript, Report)]| -> Vec<String> {
        corpus.iter().filter(|(_, _, report)| !report.caught.is_empty()).map(|(name, ..)| name.clone()).collect()
    };
    let (hits, false_alarms) = (caught(&looping), caught(&honest));
    let precision = hits.len() as f64 / (hits.len() + false_alarms.len()) as f64;
    let recall = hits.len() as f64 / looping.len() as f64;
    let misses: Vec<_> = looping.iter().map(|(name, ..)| name).filter(|name| !hits.contains(name)).collect();
    let summary = format!(
        "loop guard on {} looping and {} honest transcripts: precision {precision:.3}, recall {recall:.3}",
        looping.len(),
        honest.len()
    );
    // The harness keeps what is printed by macros to itself; this is to be seen.
    writeln!(std::io::stderr(), "{summary}").unwrap();
    assert!(
        false_alarms.is_empty() && misses.is_empty(),
        "{summary}; false alarms {false_alarms:?}, missed {misses:?}"
    );
}

#[test]
fn each_loop_is_found_as_its_file_says() {
    for (name, transcript, report) in corpus("looping") {
        let first = &report.caught[0];
        let found = Expectation {
            call: first.call,
            kind: first.finding.kind,
            period: first.finding.period,
            iterations: first.finding.iterations.clone(),
        };
        assert_eq!(Some(found), transcript.expect, "{name}");
    }
    assert!(corpus("honest").iter().all(|(_, transcript, _)| transcript.expect.is_none()));
}

#[test]
fn every_kind_and_every_period_is_there() {
    let mut kinds: Vec<String> = corpus("looping")
        .into_iter()
        .filter_map(|(_, transcript, _)| transcript.expect)
        .map(|expect| format!("{:?} {}", expect.kind, expect.period))
        .collect();
    kinds.sort();
    kinds.dedup();
    let all = ["Cycle 2", "Cycle 3", "Cycle 4", "Cycle 5", "PollLimit 1", "RepeatedCall 1", "RepeatedError 1"];
    assert_eq!(kinds, all);
}

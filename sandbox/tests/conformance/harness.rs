//! The harness runs rows against one target and says of each what came of it.
//!
//! It is our own, since a row that does not apply must neither pass nor vanish, and no test of the standard harness can
//! say so while it runs. Its last line has the form of the standard one.

use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::FutureExt;
use futures_util::stream::{self, StreamExt};

use crate::rows::{rows, rows_that_stop_the_server};
use crate::target::{Capability, Target};

const AT_ONCE: usize = 4;
/// For a gibibyte both ways beside three other rows, on a slow machine: it ends what would hang for ever.
const ROW_TIMEOUT: Duration = Duration::from_secs(1200);

pub type Run = fn(Arc<Target>) -> Pin<Box<dyn Future<Output = ()>>>;

/// A row of the checklist.
pub struct Row {
    /// `row_NN_` and what holds.
    pub name: &'static str,
    pub check: Check,
}

pub enum Check {
    /// Runs on a target that has this capability, or on any.
    Run { needs: Option<Capability>, run: Run },
    /// No server that behaves can show it; the text says where it is shown.
    Elsewhere(&'static str),
}

enum Outcome {
    Passed,
    Failed(String),
    NotApplicable(String),
}

pub fn main() -> ExitCode {
    let wanted = Wanted::of(std::env::args().skip(1));
    let (mut plain, mut last) = (rows(), rows_that_stop_the_server());
    plain.retain(|row| wanted.has(row.name));
    last.retain(|row| wanted.has(row.name));
    if wanted.is_list {
        plain.iter().chain(&last).for_each(|row| say(&format!("{}: test", row.name)));
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let tally = runtime.block_on(run_all(plain, last));
    tally.conclude(wanted.is_whole())
}

/// What the command line asks for, as far as it means something here: parts of names, `--skip` and `--list`.
#[derive(Default)]
struct Wanted {
    parts: Vec<String>,
    skipped: Vec<String>,
    is_list: bool,
}

impl Wanted {
    fn of(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut wanted = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => wanted.is_list = true,
                "--skip" => wanted.skipped.extend(arguments.next()),
                "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => drop(arguments.next()),
                option if option.starts_with('-') => {}
                part => wanted.parts.push(part.to_owned()),
            }
        }
        wanted
    }

    fn has(&self, name: &str) -> bool {
        let is_in = |parts: &[String]| parts.iter().any(|part| name.contains(part));
        (self.parts.is_empty() || is_in(&self.parts)) && !is_in(&self.skipped)
    }

    fn is_whole(&self) -> bool {
        self.parts.is_empty() && self.skipped.is_empty()
    }
}

async fn run_all(plain: Vec<Row>, last: Vec<Row>) -> Tally {
    let mut tally = Tally { started: Instant::now(), passed: 0, failed: Vec::new(), not_applicable: 0 };
    if plain.is_empty() && last.is_empty() {
        return tally;
    }
    let message = keep_panics();
    let target = Arc::new(Target::start().await);
    say(&format!("\nconformance of {}", target.describe()));
    let mut done = stream::iter(plain)
        .map(|row| judge(row, target.clone(), message.clone()))
        .buffer_unordered(AT_ONCE)
        .boxed_local();
    while let Some((name, outcome)) = done.next().await {
        tally.note(name, outcome);
    }
    drop(done);
    // Each of these alone: they take the server away from everybody.
    for row in last {
        let (name, outcome) = judge(row, target.clone(), message.clone()).await;
        tally.note(name, outcome);
    }
    target.clean_up().await;
    tally
}

async fn judge(row: Row, target: Arc<Target>, message: Arc<Mutex<String>>) -> (&'static str, Outcome) {
    let outcome = match row.check {
        Check::Elsewhere(place) => Outcome::NotApplicable(place.to_owned()),
        Check::Run { needs: Some(needed), .. } if !target.has(needed) => {
            Outcome::NotApplicable(format!("the target does not declare `{}`", needed.name()))
        }
        Check::Run { run, .. } => {
            match tokio::time::timeout(ROW_TIMEOUT, AssertUnwindSafe(run(target)).catch_unwind()).await {
                Ok(Ok(())) => Outcome::Passed,
                Ok(Err(_)) => Outcome::Failed(message.lock().unwrap().clone()),
                Err(_) => Outcome::Failed("it did not end".to_owned()),
            }
        }
    };
    (row.name, outcome)
}

/// Keeps the text of the last panic instead of printing it. All rows run on one thread, so it is the right one.
fn keep_panics() -> Arc<Mutex<String>> {
    let message = Arc::new(Mutex::new(String::new()));
    let kept = message.clone();
    std::panic::set_hook(Box::new(move |panic| *kept.lock().unwrap() = panic.to_string()));
    message
}

struct Tally {
    started: Instant,
    passed: usize,
    failed: Vec<(&'static str, String)>,
    not_applicable: usize,
}

impl Tally {
    fn note(&mut self, name: &'static str, outcome: Outcome) {
        match outcome {
            Outcome::Passed => {
                self.passed += 1;
                say(&format!("test {name} ... ok"));
            }
            Outcome::Failed(why) => {
                say(&format!("test {name} ... FAILED"));
                self.failed.push((name, why));
            }
            Outcome::NotApplicable(why) => {
                self.not_applicable += 1;
                say(&format!("test {name} ... not applicable: {why}"));
            }
        }
    }

    fn conclude(&self, is_whole: bool) -> ExitCode {
        for (name, why) in &self.failed {
            say(&format!("\n---- {name} ----\n{why}"));
        }
        let has_run_none = is_whole && self.passed + self.failed.len() == 0;
        if has_run_none {
            say("error: none of the rows could be run");
        }
        let is_good = self.failed.is_empty() && !has_run_none;
        say(&format!(
            "\ntest result: {}. {} passed; {} failed; {} not applicable; finished in {:.2}s\n",
            if is_good { "ok" } else { "FAILED" },
            self.passed,
            self.failed.len(),
            self.not_applicable,
            self.started.elapsed().as_secs_f64(),
        ));
        if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").unwrap();
}

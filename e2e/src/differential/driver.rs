//! A Driver is a program that performs a plan with one client and writes one line of JSON per operation.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::fields::{Fields, Normaliser};
use super::plan::{Server, plan};
use crate::Result;
use crate::process::wait_for;

/// Several times what a whole plan takes.
const LONGEST: Duration = Duration::from_secs(150);

/// A program and its arguments.
#[derive(Debug, Clone)]
pub struct Driver {
    /// The client's name in reports and lists.
    pub client: &'static str,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<PathBuf>,
}

/// What came of one operation.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A result or an error.
    Given(Fields),
    /// The client has no such call or argument, which is named.
    Unsupported(String),
}

/// What a client reports, by the operations' names.
#[derive(Debug, Clone)]
pub struct Report {
    /// The client's name.
    pub client: String,
    /// Its answers.
    pub answers: BTreeMap<String, Answer>,
}

impl Report {
    /// How many operations ran.
    pub fn ran(&self) -> usize {
        self.answers.values().filter(|answer| matches!(answer, Answer::Given(_))).count()
    }
}

impl Driver {
    /// Performs the operations; fails unless each of them was answered.
    pub fn perform(&self, server: &Server, operations: &[Value]) -> Result<Report> {
        // Not only the client's name: what a run has left that was killed must not be seen by the next.
        let mark = format!("{}-{}", self.client, std::process::id());
        let plan = plan(server, &mark, operations);
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        let mut stdin = child.stdin.take().ok_or("no standard input")?;
        let stdout = child.stdout.take().ok_or("no standard output")?;
        let stderr = child.stderr.take().ok_or("no standard error")?;
        let (stdout, stderr) = (thread::spawn(|| text_of(stdout)), thread::spawn(|| text_of(stderr)));
        stdin.write_all(plan.to_string().as_bytes())?;
        drop(stdin);
        let status = end_of(&mut child);
        let lines = stdout.join().map_err(|_| "a reader failed")??;
        let complaint = stderr.join().map_err(|_| "a reader failed")??;
        if !status.as_ref().is_ok_and(std::process::ExitStatus::success) {
            let behind = lines.lines().last().unwrap_or("no operation");
            return Err(format!("the driver of {} failed behind {behind}: {status:?}\n{complaint}", self.client).into());
        }
        self.read(&lines, &mark, server, operations)
    }

    fn read(&self, lines: &str, mark: &str, server: &Server, operations: &[Value]) -> Result<Report> {
        let lines: Vec<Value> = lines.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?;
        let normaliser = Normaliser::new(mark, server, &lines);
        let mut answers = BTreeMap::new();
        for line in &lines {
            let name = line["name"].as_str().ok_or("an answer has no name")?;
            let answer = match line["unsupported"].as_str() {
                Some(what) => Answer::Unsupported(what.to_owned()),
                None => Answer::Given(normaliser.fields(line)?),
            };
            answers.insert(name.to_owned(), answer);
        }
        let asked: BTreeSet<&str> = operations.iter().filter_map(|operation| operation["name"].as_str()).collect();
        let given: BTreeSet<&str> = answers.keys().map(String::as_str).collect();
        if asked.len() != operations.len() || asked != given {
            return Err(format!("{} has not answered each operation once: {:?}", self.client, &asked - &given).into());
        }
        Ok(Report { client: self.client.to_owned(), answers })
    }
}

fn text_of(mut pipe: impl Read) -> Result<String> {
    let mut text = String::new();
    pipe.read_to_string(&mut text)?;
    Ok(text)
}

fn end_of(child: &mut Child) -> Result<std::process::ExitStatus> {
    let ended = wait_for(LONGEST, || Ok(child.try_wait()?));
    if ended.is_err() {
        child.kill()?;
        child.wait()?;
    }
    ended
}

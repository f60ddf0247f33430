//! The server is killed with SIGKILL again and again while executions run. Afterwards nothing may show of it but calls
//! that are marked as lost: answers, logs, budgets and the count of provider requests are those of honest book-keeping.
//!
//! Each execution talks to a scripted model of its own, which outlives the server and logs every request that it got.

use std::collections::BTreeMap;
use std::time::Duration;

use e2e::Result;
use e2e::agents::{AgentSpec, create};
use e2e::books::{self, Books};
use e2e::client::{Client, is_terminal, text};
use e2e::leftovers::leftovers;
use e2e::process::{ScriptedModel, Server, ServerOptions, eventually};
use e2e::random::Random;
use serde_json::{Value, json};

const KILLS: usize = 30;
const SEED: u64 = 20_261_129;
/// Executions of the scenarios `tools` and `burst`; each of them five times.
const PLAIN: usize = 10;
const SANDBOXED: usize = 3;
const TURNS: usize = 40;
/// A text of a dozen pieces, so that a turn lasts about 0.4 s and most kills hit one in its middle.
const THOUGHT: &str =
    "I look at the next part of the list, compare it with the last one, and write down what is new in it.";

struct Job {
    execution: String,
    model: ScriptedModel,
    /// The answer of an undisturbed run; None when a kill may change what the model gets to read.
    answer: Option<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_kills_leave_answers_logs_and_books_as_they_should_be() -> Result {
    let dir = tempfile::tempdir()?;
    let mut options = ServerOptions::new(&dir.path().join("data"));
    options.environment =
        vec![("VITRINE_LEASE_SECONDS".to_owned(), "3".to_owned()), ("VITRINE_CONCURRENCY".to_owned(), "16".to_owned())];
    options.port = quiet_port()?;
    let server = Server::start(&options)?;
    let client = server.client(server.api_key.as_ref().ok_or("no key")?)?;
    let answers = undisturbed(&client).await?;
    let jobs = start(&client, answers).await?;

    let interrupted = kill_again_and_again(server, &options, &client).await?;
    assert!(interrupted >= 15, "only {interrupted} of the kills hit executions while they ran");

    let server = Server::start(&options)?;
    for job in &jobs {
        eventually(Duration::from_secs(60), "the execution ends", async || {
            let now = client.execution(&job.execution).await?;
            Ok(is_terminal(&text(&now, "/status")?).then_some(()))
        })
        .await?;
    }
    eventually(Duration::from_secs(30), "the reaper has swept", async || {
        let mut are_gone = true;
        for job in &jobs {
            let now = client.execution(&job.execution).await?;
            let sandboxes = now["sandboxes"].as_array().ok_or("no sandboxes")?;
            are_gone &= sandboxes.iter().all(|sandbox| sandbox["state"] == "GONE");
        }
        Ok(are_gone.then_some(()))
    })
    .await?;
    for job in &jobs {
        check(&client, job).await?;
    }
    let status = server.stop()?;
    assert!(status.success(), "the last stop was not orderly: {status}");
    assert_eq!(leftovers(&options.data_dir)?, [] as [String; 0]);
    Ok(())
}

/// A free port that the system gives to no outgoing connection, so that it is free again after each kill.
fn quiet_port() -> Result<u16> {
    let ports = 61_000 + u16::try_from(std::process::id() % 4000)?..;
    ports
        .into_iter()
        .find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .ok_or("no free port".into())
}

/// The plain tasks; without a pace, a run of one takes no time.
fn plain_task(index: usize, is_paced: bool) -> (&'static str, String) {
    let piece_ms = if is_paced { 30 } else { 0 };
    if index % 2 == 1 {
        let over_ms = TURNS * 13 * piece_ms;
        return ("burst", format!("deltas={} over_ms={over_ms} notes={TURNS}", 400 + index));
    }
    let note =
        |turn: usize, part: usize| json!({"tool": "note", "arguments": {"text": format!("{index}/{turn}/{part}")}});
    let calls: Vec<Vec<Value>> = (0..TURNS).map(|turn| (0..=turn % 3).map(|part| note(turn, part)).collect()).collect();
    let answer = format!("List {index} is done: {{{{last_result}}}}");
    let task = json!({"calls": calls, "texts": vec![THOUGHT; TURNS], "answer": answer, "piece_ms": piece_ms});
    ("tools", task.to_string())
}

fn sandbox_task(index: usize) -> String {
    let shell = |turn: usize| {
        let command =
            format!("for i in 1 2 3 4 5; do echo {index} {turn} $i; sleep 0.1; done; echo x > outputs/{turn}");
        json!([{"tool": "run_shell", "arguments": {"command": command}}, {"tool": "note", "arguments": {"text": format!("{turn}")}}])
    };
    // A command that was interrupted is not repeated, so that each kill takes one along.
    let calls: Vec<Value> = (0..20).map(shell).collect();
    json!({"calls": calls, "answer": "Ran it.", "first_ms": 200}).to_string()
}

/// The answers of the plain tasks, from runs that nothing disturbs.
async fn undisturbed(client: &Client) -> Result<Vec<String>> {
    let mut agents = BTreeMap::new();
    for scenario in ["tools", "burst"] {
        agents.insert(scenario, create(client, &AgentSpec::new(&format!("calm-{scenario}"), scenario)).await?);
    }
    let mut executions = Vec::new();
    for index in 0..PLAIN {
        let (scenario, task) = plain_task(index, false);
        executions.push(client.start(&agents[scenario], &task, &format!("calm {index}")).await?);
    }
    let mut answers = Vec::new();
    for id in executions {
        let ended = eventually(Duration::from_secs(30), "the undisturbed run ends", async || {
            let now = client.execution(&id).await?;
            Ok(is_terminal(&text(&now, "/status")?).then_some(now))
        })
        .await?;
        assert_eq!(ended["status"], "SUCCEEDED", "{ended}");
        answers.push(text(&ended, "/answer")?);
    }
    Ok(answers)
}

async fn start(client: &Client, answers: Vec<String>) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for index in 0..PLAIN + SANDBOXED {
        let answer = answers.get(index).cloned();
        let (scenario, task) = match answer {
            Some(_) => plain_task(index, true),
            None => ("tools", sandbox_task(index)),
        };
        let model = ScriptedModel::start()?;
        let mut spec = AgentSpec::new(&format!("job-{index}"), scenario);
        spec.base_url.clone_from(&model.url);
        if answer.is_none() {
            spec = spec.with_sandbox();
        }
        let agent = create(client, &spec).await?;
        let execution = client.start(&agent, &task, &format!("job {index}")).await?;
        jobs.push(Job { execution, model, answer });
    }
    Ok(jobs)
}

/// Returns how many kills came while executions ran. Two of three kills wait until the server has claimed what its
/// predecessor left; the others come as they come, also before it is done with starting.
async fn kill_again_and_again(first: Server, options: &ServerOptions, client: &Client) -> Result<usize> {
    let mut random = Random::new(SEED);
    let mut interrupted = 0;
    let mut attempts = 0;
    let mut first = Some(first);
    for round in 0..KILLS {
        let server = first.take().map_or_else(|| Server::start(options), Ok)?;
        if round % 3 != 2 {
            eventually(Duration::from_secs(60), "executions are claimed", async || {
                let now = Attempts::count(client).await?;
                Ok((now.in_all > attempts || now.running == 0).then_some(()))
            })
            .await
            .map_err(|error| format!("round {round}: {error}"))?;
        }
        // The moment is what is random here; there is nothing to wait for.
        tokio::time::sleep(Duration::from_millis(random.below(1100))).await;
        let now = Attempts::count(client).await?;
        interrupted += usize::from(now.running > 0 && now.in_all > attempts);
        attempts = now.in_all;
        server.kill()?;
    }
    Ok(interrupted)
}

/// Attempts of all executions together; those of executions that have ended stay in the sum, so that it only grows.
struct Attempts {
    in_all: u64,
    running: usize,
}

impl Attempts {
    async fn count(client: &Client) -> Result<Self> {
        let data = client.query("{ executions(first: 50) { nodes { status attempt } } }", json!({})).await?;
        let nodes = data["executions"]["nodes"].as_array().ok_or("no executions")?;
        let is_running = |node: &&Value| node["status"].as_str().is_some_and(|status| !is_terminal(status));
        Ok(Self {
            in_all: nodes.iter().filter_map(|node| node["attempt"].as_u64()).sum(),
            running: nodes.iter().filter(is_running).count(),
        })
    }
}

async fn check(client: &Client, job: &Job) -> Result {
    let books = Books::read(client, &job.execution).await?;
    books::assert_closed(&books);
    books::assert_log_is_whole(client, &books).await?;
    books::assert_requests_match(&books, &job.model.log().await?);
    assert!(books.attempt() >= 8, "{} attempts are too few for {KILLS} kills: {}", books.attempt(), books.execution);
    if let Some(answer) = &job.answer {
        assert_eq!(books.execution["status"], "SUCCEEDED", "{}", books.execution["stopReason"]);
        assert_eq!(books.execution["answer"].as_str(), Some(answer.as_str()));
    }
    Ok(())
}

//! Two servers on one MariaDB, with one artifact directory and one key, as replicas have them. The one that holds the
//! leases is stopped past their end; the other takes over; when the first wakes up, it writes nothing.

use std::time::Duration;

use e2e::Result;
use e2e::agents::{AgentSpec, create};
use e2e::books::{self, Books};
use e2e::client::{Client, is_terminal, text};
use e2e::follow::whole_log;
use e2e::mariadb::MariaDb;
use e2e::process::{ScriptedModel, eventually};
use e2e::replicas::{Replica, await_abandonment, owners, replicas};
use serde_json::{Value, json};

const EXECUTIONS: usize = 4;
const TURNS: usize = 12;
/// What the stale server could write to.
const TABLES: &[&str] = &[
    "execution",
    "execution_command",
    "idempotency",
    "node_attempt",
    "agent_iteration",
    "model_call",
    "tool_call",
    "workspace_checkpoint",
    "sandbox",
    "artifact",
    "event_segment",
];

struct Job {
    execution: String,
    model: ScriptedModel,
}

/// The stale server wakes up when all is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_slept_past_its_leases_writes_nothing_behind_the_end() -> Result {
    let (dir, database) = (tempfile::tempdir()?, MariaDb::start()?);
    let replicas = replicas(dir.path(), &database)?;
    let jobs = start(&replicas[0].client, "end").await?;
    let (stale, other, held) = stop_a_holder(&replicas, &database, &jobs).await?;
    end_of_all(&other.client, &jobs).await?;

    let before = database.dump(TABLES)?;
    stale.server.signal("CONT")?;
    await_abandonment(stale, &held).await?;
    assert!(before == database.dump(TABLES)?, "the stale server wrote");
    check(&[stale, other], &jobs).await
}

/// The stale server wakes up while the other one is at work on the same executions.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_slept_past_its_leases_disturbs_nobody_at_work() -> Result {
    let (dir, database) = (tempfile::tempdir()?, MariaDb::start()?);
    let replicas = replicas(dir.path(), &database)?;
    let jobs = start(&replicas[0].client, "work").await?;
    let (stale, other, held) = stop_a_holder(&replicas, &database, &jobs).await?;
    eventually(Duration::from_secs(20), "the other server takes over", async || {
        let owners = owners(&database)?;
        let is_taken = |id: &String| owners.iter().any(|(held, pid)| held == id && *pid == other.server.pid());
        Ok(held.iter().all(is_taken).then_some(()))
    })
    .await?;
    stale.server.signal("CONT")?;
    await_abandonment(stale, &held).await?;
    end_of_all(&other.client, &jobs).await?;
    check(&[stale, other], &jobs).await
}

async fn start(client: &Client, name: &str) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for index in 0..EXECUTIONS {
        let model = ScriptedModel::start()?;
        let mut spec = AgentSpec::new(&format!("{name}-{index}"), "tools");
        spec.base_url.clone_from(&model.url);
        let agent = create(client, &spec).await?;
        let note = |turn: usize| json!([{"tool": "note", "arguments": {"text": format!("{index}/{turn}")}}]);
        let calls: Vec<Value> = (0..TURNS).map(note).collect();
        let texts = vec!["One word after the other, until the list is written down."; TURNS];
        let task = json!({"calls": calls, "texts": texts, "answer": format!("Done {index}."), "piece_ms": 60});
        let execution = client.start(&agent, &task.to_string(), &format!("{name} {index}")).await?;
        jobs.push(Job { execution, model });
    }
    Ok(jobs)
}

/// Waits until all executions are in their middle, and stops the server that holds the first one. Returns it, the other
/// one, and what it held.
async fn stop_a_holder<'a>(
    replicas: &'a [Replica; 2],
    database: &MariaDb,
    jobs: &[Job],
) -> Result<(&'a Replica, &'a Replica, Vec<String>)> {
    for job in jobs {
        eventually(Duration::from_secs(20), "the execution is in its middle", async || {
            let now = replicas[0].client.execution(&job.execution).await?;
            Ok(now["currentIteration"].as_u64().filter(|iteration| *iteration >= 3))
        })
        .await?;
    }
    let owners = owners(database)?;
    let (_, holder) =
        owners.iter().find(|(id, _)| *id == jobs[0].execution).ok_or("nobody holds the first execution")?;
    let [first, second] = replicas;
    let (stale, other) = if first.server.pid() == *holder { (first, second) } else { (second, first) };
    stale.server.signal("STOP")?;
    let held = owners.iter().filter(|(_, pid)| pid == holder).map(|(id, _)| id.clone()).collect();
    Ok((stale, other, held))
}

async fn end_of_all(client: &Client, jobs: &[Job]) -> Result {
    for job in jobs {
        eventually(Duration::from_secs(60), "the execution ends", async || {
            let now = client.execution(&job.execution).await?;
            Ok(is_terminal(&text(&now, "/status")?).then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// Both servers tell the same, and the books are right.
async fn check(replicas: &[&Replica; 2], jobs: &[Job]) -> Result {
    let mut taken_over = 0;
    for (index, job) in jobs.iter().enumerate() {
        let books = Books::read(&replicas[1].client, &job.execution).await?;
        assert_eq!(
            (&books.execution["status"], &books.execution["answer"]),
            (&json!("SUCCEEDED"), &json!(format!("Done {index}.")))
        );
        books::assert_closed(&books);
        books::assert_requests_match(&books, &job.model.log().await?);
        let mut logs = Vec::new();
        for replica in replicas {
            books::assert_log_is_whole(&replica.client, &books).await?;
            let log = whole_log(&replica.client, &job.execution).await?;
            logs.push(log.into_iter().map(|event| event.payload).collect::<Vec<_>>());
        }
        assert!(logs[0] == logs[1], "the servers tell different logs");
        taken_over += usize::from(books.attempt() > 1);
    }
    assert!(taken_over > 0, "no execution was taken over");
    Ok(())
}

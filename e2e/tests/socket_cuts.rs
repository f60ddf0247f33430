//! Socket cuts: clients that lose their connection again and again read the same bytes as the store holds.
//!
//! A cut drops the TCP connection without a close frame: in the middle of the handshake, or at any event. What a client
//! has read when it is cut counts; it comes back with the cursor of its last event and nothing else.

use std::path::Path;
use std::time::{Duration, Instant};

use e2e::Result;
use e2e::agents::{AgentSpec, create};
use e2e::client::{Client, is_terminal};
use e2e::follow::{Follower, Received, whole_log};
use e2e::process::{Server, ServerOptions};
use e2e::stored::stored_events;
use serde_json::Value;
use tokio::task::JoinSet;

const DELTAS: u64 = 2000;
const TASK: &str = "deltas=2000 over_ms=3000 notes=3";
const CLIENTS: u64 = 50;
const CUTS_LIVE: usize = 10;
const CUTS_LATER: usize = 10;
const PATIENCE: Duration = Duration::from_secs(60);

/// Every client is cut ten times while the run is live, and ten times after the server was started again: the first
/// connection of that half has a cursor from before.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_cuts_change_no_byte() -> Result {
    let data = tempfile::tempdir()?;
    let mut server = Running::start(&data.path().join("data"))?;
    let agent = create(&server.client, &AgentSpec::new("cuts", "burst")).await?;
    let execution = server.client.start(&agent, TASK, "cuts").await?;
    let mut clients = JoinSet::new();
    for seed in 1..=CLIENTS {
        let (client, execution) = (server.client.clone(), execution.clone());
        clients
            .spawn(async move { Reader::new(seed).read_with_cuts(&client, &execution, CUTS_LIVE, DELTAS / 2).await });
    }
    let slow = follow_slowly(server.client.clone(), execution.clone());
    let (readers, slow) = tokio::join!(clients.join_all(), slow);
    let state = server.client.ended(&execution).await?;
    assert_eq!(state["status"].as_str(), Some("SUCCEEDED"), "{state}");

    server.restart()?;
    let mut clients = JoinSet::new();
    for reader in readers {
        let (client, execution, reader) = (server.client.clone(), execution.clone(), reader?);
        clients.spawn(async move {
            let reader = reader.read_with_cuts(&client, &execution, CUTS_LATER, DELTAS).await?;
            reader.read_to_end(&client, &execution).await
        });
    }
    let readers = clients.join_all().await.into_iter().collect::<Result<Vec<_>>>()?;
    assert_eq!(readers.iter().map(|reader| reader.cuts).sum::<usize>(), 1000);
    let stored = stored_events(&server.data_dir(), &execution)?;
    assert!(stored.len() as u64 >= DELTAS, "{} events", stored.len());
    for reader in &readers {
        assert_same(&format!("client {}", reader.seed), &reader.events, &stored);
    }
    assert_same("the slow client", &slow?, &stored);
    assert_same("a fresh client", &whole_log(&server.client, &execution).await?, &stored);
    assert_eq!(text_of(&stored)?, emitted(DELTAS));
    Ok(())
}

/// The server stops in order in the middle of the run, and the next one goes on with it: clients that follow through
/// the stop see one log, and its text, folded, is what the model sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_in_the_middle_of_a_run_leaves_one_log() -> Result {
    let data = tempfile::tempdir()?;
    let mut server = Running::start(&data.path().join("data"))?;
    let agent = create(&server.client, &AgentSpec::new("restart", "burst")).await?;
    let execution = server.client.start(&agent, "deltas=400 over_ms=1600 notes=3", "restart").await?;
    let mut clients = JoinSet::new();
    for seed in 1..=5 {
        let (client, execution) = (server.client.clone(), execution.clone());
        clients.spawn(async move { Reader::new(seed).read_through(&client, &execution).await });
    }
    let mut follower = Follower::open(&server.client, &execution, None).await?;
    while follower.next().await?.is_some_and(|event| event.sequence < 150) {}
    server.restart()?;
    let state = server.client.execution(&execution).await?;
    assert!(!is_terminal(state["status"].as_str().unwrap_or("")), "the stop came too late: {state}");

    let readers = clients.join_all().await.into_iter().collect::<Result<Vec<_>>>()?;
    let stored = stored_events(&server.data_dir(), &execution)?;
    for reader in &readers {
        assert!(reader.cuts > 0, "client {} was never interrupted", reader.seed);
        assert_same(&format!("client {}", reader.seed), &reader.events, &stored);
    }
    assert_eq!(text_of(&stored)?, emitted(400));
    let state = server.client.execution(&execution).await?;
    assert_eq!((state["status"].as_str(), state["attempt"].as_i64()), (Some("SUCCEEDED"), Some(2)));
    Ok(())
}

/// A server that can be started again on the same directory and port.
struct Running {
    server: Option<Server>,
    options: ServerOptions,
    client: Client,
}

impl Running {
    fn start(data_dir: &Path) -> Result<Self> {
        let mut options = ServerOptions::new(data_dir);
        let server = Server::start(&options)?;
        let port = server.url.rsplit(':').next().and_then(|port| port.parse().ok());
        options.port = port.ok_or_else(|| format!("no port in {}", server.url))?;
        let client = server.client(server.api_key.as_deref().ok_or("no API key at the first start")?)?;
        Ok(Self { server: Some(server), options, client })
    }

    fn restart(&mut self) -> Result {
        let server = self.server.take().ok_or("the server does not run")?;
        let status = server.stop()?;
        assert!(status.success(), "the server ended with {status}");
        self.server = Some(Server::start(&self.options)?);
        Ok(())
    }

    fn data_dir(&self) -> std::path::PathBuf {
        self.options.data_dir.clone()
    }
}

/// One client: what it has read, over all its connections.
struct Reader {
    seed: u64,
    random: u64,
    events: Vec<Received>,
    cuts: usize,
}

impl Reader {
    fn new(seed: u64) -> Self {
        Self { seed, random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), events: Vec::new(), cuts: 0 }
    }

    /// A number below `bound` (xorshift).
    fn random_below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    /// Reads up to an event with about the sequence `to`, and is cut `cuts` times on the way.
    async fn read_with_cuts(mut self, client: &Client, execution: &str, cuts: usize, to: u64) -> Result<Self> {
        let from = self.events.len() as u64;
        let mut places: Vec<u64> = (0..cuts).map(|_| from + self.random_below(to - from)).collect();
        places.sort_unstable();
        for place in places {
            if self.random_below(4) == 0 {
                let moment = Duration::from_millis(self.random_below(6));
                let opening = Follower::open(client, execution, self.cursor());
                let _cut_in_the_handshake = tokio::time::timeout(moment, opening).await;
            } else {
                let mut follower = Follower::open(client, execution, self.cursor()).await?;
                while (self.events.len() as u64) < place {
                    self.events.push(follower.next().await?.ok_or("complete before its end")?);
                }
            }
            self.cuts += 1;
        }
        Ok(self)
    }

    async fn read_to_end(mut self, client: &Client, execution: &str) -> Result<Self> {
        let rest = Follower::open(client, execution, self.cursor()).await?.rest().await?;
        self.events.extend(rest);
        Ok(self)
    }

    /// Reads to the end, however often the server goes away meanwhile.
    async fn read_through(mut self, client: &Client, execution: &str) -> Result<Self> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.read_until_cut(client, execution).await {
                Ok(()) => return Ok(self),
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => {
                    self.cuts += 1;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }

    async fn read_until_cut(&mut self, client: &Client, execution: &str) -> Result {
        let mut follower = Follower::open(client, execution, self.cursor()).await?;
        while let Some(event) = follower.next().await? {
            self.events.push(event);
        }
        Ok(())
    }

    fn cursor(&self) -> Option<&str> {
        self.events.last().map(|event| event.cursor.as_str())
    }
}

/// Reads an event a second while the burst runs, and the rest at once.
async fn follow_slowly(client: Client, execution: String) -> Result<Vec<Received>> {
    let mut follower = Follower::open(&client, &execution, None).await?;
    let mut events = Vec::new();
    for _ in 0..8 {
        events.push(follower.next().await?.ok_or("complete before its end")?);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    events.extend(follower.rest().await?);
    Ok(events)
}

fn assert_same(who: &str, received: &[Received], stored: &[String]) {
    for (index, (event, line)) in received.iter().zip(stored).enumerate() {
        assert_eq!(event.sequence, index as u64 + 1, "{who}: a hole or a duplicate");
        assert_eq!(&event.payload, line, "{who}: other bytes at {}", event.sequence);
    }
    assert_eq!(received.len(), stored.len(), "{who}: another number of events");
}

/// The text of all deltas that stand: those that a later attempt supersedes are dropped.
fn text_of(stored: &[String]) -> Result<String> {
    let mut deltas: Vec<(u64, String)> = Vec::new();
    for line in stored {
        let event: Value = serde_json::from_str(line)?;
        match event["kind"].as_str() {
            Some("NodeAttemptStarted") => {
                let from = event["supersedesFrom"].as_u64().unwrap_or(u64::MAX);
                deltas.retain(|(sequence, _)| *sequence < from);
            }
            Some("ModelCallDelta") => {
                let text = event["text"].as_str().ok_or("a delta without text")?;
                deltas.push((event["sequence"].as_u64().ok_or("no sequence")?, text.to_owned()));
            }
            _ => {}
        }
    }
    Ok(deltas.into_iter().map(|(_, text)| text).collect())
}

/// What the scripted `burst` sends: numbered pieces, every tenth with characters of several bytes.
fn emitted(deltas: u64) -> String {
    let piece = |number| if number % 10 == 9 { format!("d{number}é🦀 ") } else { format!("d{number} ") };
    (0..deltas).map(piece).collect()
}

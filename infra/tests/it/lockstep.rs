//! One random list of operations, applied step by step to SQLite and to MariaDB: every answer and, at the end, every row
//! is equal. And: however claims, commits and appends interleave, sequences have no gap.

use std::fmt::Debug;
use std::time::Duration;

use domain::access::{Action, Grant};
use domain::clock::Timestamp;
use domain::ctx::PageRequest;
use domain::error::StoreError;
use domain::execution::{
    Change, Command, CommandKind, Commit, ExecutionFilter, ExecutionRef, ExecutionStatus, Fence, NewExecution, Progress,
};
use domain::sandbox::Sandbox;
use domain::testing::{Home, Ports, Samples};
use tokio_util::task::TaskTracker;

use crate::random::Random;
use crate::world::World;

const STEPS: usize = 400;

/// An operation with all its values, so that both stores get the same ones.
#[derive(Debug, Clone)]
enum Operation {
    Start(Box<NewExecution>),
    ClaimNext(Duration),
    Claim(ExecutionRef, Duration),
    Renew(ExecutionRef, u64, Duration),
    Commit(Box<Commit>),
    Append(Vec<Commit>),
    Command(ExecutionRef, Command),
    SandboxGone(Sandbox),
    Read(ExecutionRef, u64, usize),
    List(ExecutionFilter, PageRequest),
    Look(ExecutionRef),
    Grant(Grant),
    Revoke(Grant),
}

/// What the generator knows: it guesses fences and is often wrong, which is the point.
struct Generator {
    random: Random,
    samples: Samples,
    home: Home,
    started: Vec<NewExecution>,
    fences: Vec<Fence>,
    sandboxes: Vec<Sandbox>,
    grants: Vec<Grant>,
    commands: Vec<Command>,
}

impl Generator {
    fn next(&mut self) -> Operation {
        if self.started.is_empty() {
            return self.start();
        }
        let (pick, lease) = (self.random.below(self.fences.len()), self.lease());
        let fence = self.fences[pick];
        match self.random.below(16) {
            0 => self.start(),
            1 | 2 => Operation::ClaimNext(lease),
            3 => Operation::Claim(fence.execution, lease),
            4 => Operation::Renew(fence.execution, fence.epoch, lease),
            5..=7 => Operation::Commit(Box::new(self.commit(pick))),
            8 => {
                let count = self.random.below(4);
                Operation::Append((0..count).map(|_| self.append(pick)).collect())
            }
            9 => Operation::Command(fence.execution, self.command()),
            10 => self.sandbox_gone(pick),
            11 => Operation::Read(fence.execution, self.random.next() % 9, self.random.below(2000)),
            12 => Operation::List(self.filter(), self.page()),
            13 => self.grant(),
            _ => Operation::Look(fence.execution),
        }
    }

    fn at(&mut self) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000 + i64::try_from(self.random.next() % 50).unwrap())
    }

    /// Long, or over at once: nothing between depends on how fast an engine is.
    fn lease(&mut self) -> Duration {
        if self.random.one_in(2) { Duration::ZERO } else { Duration::from_secs(3600) }
    }

    fn start(&mut self) -> Operation {
        let at = self.at();
        let mut new = self.samples.new_execution(&self.home, at);
        if !self.started.is_empty() && self.random.one_in(2) {
            let known = &self.started[self.random.below(self.started.len())];
            new.idempotency_key.clone_from(&known.idempotency_key);
            if self.random.one_in(2) {
                new.request_hash.clone_from(&known.request_hash);
            }
        }
        self.fences.push(Fence { execution: new.execution.reference(), epoch: 0, next_sequence: 2 });
        self.started.push(new.clone());
        Operation::Start(Box::new(new))
    }

    fn append(&mut self, pick: usize) -> Commit {
        let mut fence = self.fences[if self.random.one_in(2) { pick } else { self.random.below(self.fences.len()) }];
        if self.random.one_in(6) {
            fence.next_sequence += 1;
        }
        let count = 1 + self.random.next() % 3;
        self.samples.commit(fence, count, Vec::new())
    }

    fn commit(&mut self, pick: usize) -> Commit {
        let mut commit = self.append(pick);
        let (epoch, at, number) = (commit.fence.epoch, self.at(), 1 + u32::try_from(self.random.below(3)).unwrap());
        commit.changes.push(Change::SaveIteration(self.samples.iteration(number, at)));
        match self.random.below(7) {
            0 => commit.changes.push(Change::SaveModelCall(Box::new(self.samples.model_call(number, epoch, at)))),
            1 => commit.changes.push(Change::SaveToolCall(Box::new(self.samples.tool_call(number, 0, epoch, at)))),
            2 => {
                let sandbox = self.samples.sandbox(epoch, at);
                self.sandboxes.push(sandbox.clone());
                commit.changes.push(Change::SaveSandbox(Box::new(sandbox)));
            }
            3 => commit.changes.push(Change::StartAttempt { number, started_at: at }),
            4 if !self.commands.is_empty() => {
                let command = self.commands[self.random.below(self.commands.len())].id;
                commit.changes.push(Change::ApplyCommand(command));
            }
            5 => {
                let checkpoint = self.samples.workspace();
                commit.changes.push(Change::SaveWorkspace { iteration: number, checkpoint });
            }
            _ => commit.segment = None,
        }
        commit.progress = match self.random.below(24) {
            0 => Some(self.samples.ended(at)),
            1 | 2 => Some(Progress { releases_lease: true, ..Progress::queued() }),
            3..=16 => Some(Progress { status: ExecutionStatus::Running, ..Progress::queued() }),
            _ => None,
        };
        commit
    }

    fn command(&mut self) -> Command {
        let created_at = self.at();
        let kind = if self.random.one_in(3) {
            CommandKind::OverrideLoop { reason: format!("reason {created_at:?}"), pardons: 2 }
        } else {
            CommandKind::Cancel
        };
        let command = Command { id: self.samples.command_id(), kind, by: self.home.owner, created_at };
        self.commands.push(command.clone());
        command
    }

    fn sandbox_gone(&mut self, pick: usize) -> Operation {
        if self.sandboxes.is_empty() {
            return Operation::Look(self.fences[pick].execution);
        }
        Operation::SandboxGone(self.sandboxes[self.random.below(self.sandboxes.len())].clone())
    }

    fn filter(&mut self) -> ExecutionFilter {
        let status = [ExecutionStatus::Queued, ExecutionStatus::Running, ExecutionStatus::Stopped];
        let count = self.random.below(3);
        ExecutionFilter {
            project_id: self.random.one_in(2).then_some(self.home.project.id),
            agent_id: self.random.one_in(6).then_some(self.started[0].execution.agent_id),
            status: status[..count].to_vec(),
        }
    }

    fn page(&mut self) -> PageRequest {
        let first = 1 + u32::try_from(self.random.below(5)).unwrap();
        let behind = &self.started[self.random.below(self.started.len())].execution;
        let key = format!("{:020}.{}", behind.created_at.as_micros(), behind.id);
        PageRequest { first, after: self.random.one_in(2).then_some(key) }
    }

    fn grant(&mut self) -> Operation {
        if self.grants.len() < 3 {
            let (tenant_id, principal_id) = (self.home.tenant.id, self.home.owner);
            let resource_id = self.samples.resource_id();
            self.grants.push(Grant { tenant_id, principal_id, action: Action::Use, resource_id });
        }
        let grant = self.grants[self.random.below(self.grants.len())];
        if self.random.one_in(2) { Operation::Grant(grant) } else { Operation::Revoke(grant) }
    }
}

/// What a store answered, as text; a failure of a driver would differ and so be seen.
async fn apply(ports: &Ports, home: &Home, operation: &Operation) -> String {
    match operation {
        Operation::Start(new) => text(ports.executions.start(new).await),
        Operation::ClaimNext(lease) => text(ports.executions.claim_next("w", *lease).await),
        Operation::Claim(execution, lease) => text(ports.executions.claim(*execution, "w", *lease).await),
        Operation::Renew(execution, epoch, lease) => text(ports.executions.renew(*execution, *epoch, *lease).await),
        Operation::Commit(commit) => text(ports.executions.commit(commit).await),
        Operation::Append(commits) => text(ports.executions.append(commits).await),
        Operation::Command(execution, command) => text(ports.executions.add_command(*execution, command).await),
        Operation::SandboxGone(sandbox) => {
            let strays = ports.executions.stray_sandboxes(None, 100).await.unwrap();
            for (execution, _) in strays.iter().filter(|(_, stray)| stray.id == sandbox.id) {
                ports.executions.sandbox_gone(*execution, sandbox.id).await.unwrap();
            }
            text(Ok(strays))
        }
        Operation::Read(execution, after, bytes) => text(ports.log.read(*execution, *after, *bytes).await),
        Operation::List(filter, page) => text(ports.reader.list(home.scope(), filter, page.clone()).await),
        Operation::Look(execution) => {
            let found = ports.reader.executions(home.scope(), &[execution.id]).await;
            let transcript = ports.reader.transcript(*execution).await;
            format!("{} {} {}", text(found), text(transcript), text(ports.executions.fence(*execution).await))
        }
        Operation::Grant(grant) => text(ports.access.grant(*grant).await),
        Operation::Revoke(grant) => text(ports.access.revoke(*grant).await),
    }
}

fn text<T: Debug>(outcome: Result<T, StoreError>) -> String {
    format!("{outcome:?}")
}

#[tokio::test(flavor = "multi_thread")]
async fn both_engines_answer_alike() {
    for seed in 1..=3 {
        let (sqlite, mariadb) = (World::sqlite().await, World::mariadb().await);
        let samples = Samples::new(1);
        let home = samples.home(&sqlite.ports).await;
        assert_eq!(Samples::new(1).home(&mariadb.ports).await.tenant, home.tenant);
        let mut generator = Generator {
            random: Random::new(seed),
            samples,
            home: home.clone(),
            started: Vec::new(),
            fences: Vec::new(),
            sandboxes: Vec::new(),
            grants: Vec::new(),
            commands: Vec::new(),
        };
        let mut written = 0;
        for step in 0..STEPS {
            let operation = generator.next();
            let answer = apply(&sqlite.ports, &home, &operation).await;
            assert!(!answer.contains("Unavailable"), "seed {seed}, step {step}: {operation:?}: {answer}");
            let other = apply(&mariadb.ports, &home, &operation).await;
            assert_eq!(answer, other, "seed {seed}, step {step}: {operation:?}");
            written += usize::from(matches!(operation, Operation::Commit(_)) && answer == "Ok(())");
            for fence in &mut generator.fences {
                *fence = sqlite.ports.executions.fence(fence.execution).await.unwrap().unwrap_or(*fence);
            }
        }
        assert!(written > 20, "seed {seed}: only {written} commits matched their fence");
        assert_eq!(sqlite.dump().await, mariadb.dump().await, "seed {seed}");
        sqlite.close().await;
        mariadb.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sequences_have_no_gap_however_writers_interleave() {
    for world in [World::sqlite().await, World::mariadb().await] {
        let samples = Samples::new(1);
        let home = samples.home(&world.ports).await;
        let mut executions = Vec::new();
        for second in 0..4 {
            executions.push(samples.start(&world.ports, &home, Timestamp::from_micros(second)).await);
        }
        let tasks = TaskTracker::new();
        let workers: Vec<_> =
            (0..8).map(|seed| tasks.spawn(work(world.ports.clone(), executions.clone(), seed))).collect();
        let mut written = 0;
        for worker in workers {
            written += worker.await.unwrap();
        }
        let mut stored = 0;
        for execution in executions {
            let mut next = 1;
            for segment in world.ports.log.read(execution, 0, usize::MAX).await.unwrap() {
                assert_eq!(segment.first_sequence, next);
                let lines = segment.lines_after(0).count() as u64;
                assert_eq!(segment.last_sequence, next + lines - 1);
                next = segment.last_sequence + 1;
            }
            assert_eq!(world.ports.log.head(home.scope(), execution).await.unwrap(), Some(next - 1));
            stored += next - 2;
        }
        assert_eq!(stored, written);
        assert!(written > 40, "{written}");
        world.close().await;
    }
}

/// Claims with leases that are over at once, and writes with fences that may be stale. Returns the events written.
async fn work(ports: Ports, executions: Vec<ExecutionRef>, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let samples = Samples::new(100 + seed);
    let mut fences: Vec<Fence> =
        executions.iter().map(|execution| Fence { execution: *execution, epoch: 0, next_sequence: 2 }).collect();
    let mut written = 0;
    for _ in 0..60 {
        let pick = random.below(fences.len());
        let count = 1 + random.next() % 3;
        match random.below(4) {
            0 => {
                if let Some(claimed) = ports.executions.claim(executions[pick], "w", Duration::ZERO).await.unwrap() {
                    let execution = claimed.execution;
                    fences[pick].epoch = execution.epoch;
                    fences[pick].next_sequence = execution.next_sequence;
                }
            }
            1 => {
                let commit = samples.commit(fences[pick], count, Vec::new());
                match ports.executions.commit(&commit).await {
                    Ok(()) => {
                        written += count;
                        fences[pick].next_sequence += count;
                    }
                    Err(StoreError::LeaseLost) => fences[pick] = renewed(&ports, executions[pick]).await,
                    Err(error) => panic!("{error:?}"),
                }
            }
            _ => {
                let commits: Vec<Commit> =
                    fences.iter().map(|fence| samples.commit(*fence, count, Vec::new())).collect();
                let outcomes = ports.executions.append(&commits).await.unwrap();
                for (fence, outcome) in fences.iter_mut().zip(outcomes) {
                    if outcome {
                        written += count;
                        fence.next_sequence += count;
                    } else {
                        *fence = renewed(&ports, fence.execution).await;
                    }
                }
            }
        }
    }
    written
}

async fn renewed(ports: &Ports, execution: ExecutionRef) -> Fence {
    ports.executions.fence(execution).await.unwrap().unwrap()
}

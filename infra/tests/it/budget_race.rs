//! Calls of two processes on the same accounts: never over, one after the other where only one fits, nothing held at the
//! end. On MariaDB the racers are two processes; an SQLite file belongs to one, which has two stores on it.
//!
//! A failure names its seed: `VITRINE_SEED=<seed> cargo test -p infra --test it budget_race` plays that case alone.

use std::io::Write;
use std::process::Stdio;

use domain::budget::{AccountChange, AccountOwner, Amount, BudgetAccount, Caps, Estimate, Period, WarningLevels};
use domain::clock::Timestamp;
use domain::money::NanoUsd;
use domain::testing::{Home, Ports, Samples};
use infra::sql::{SqlOptions, SqlStore};
use sea_orm::{ConnectionTrait, Statement};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::racer::{Orders, PRICE, Providers, Tally, race};
use crate::random::Random;
use crate::world::World;

const CASES: u64 = 200;
const URL: &str = "VITRINE_RACE_URL";
const DOLLAR: NanoUsd = NanoUsd(1_000_000_000);
/// Sixty cents at the worst: 590 000 tokens of input, which no lowered cap makes cheaper, and 10 000 of output.
const SIXTY_CENTS: Estimate = Estimate { input_tokens: 590_000, output_cap: 10_000, price: Some(PRICE) };

/// What both racers of a case are told: everything else follows from it.
fn orders(seed: u64, racer: u64) -> Orders {
    let samples = Samples::new(seed);
    // The same ids as those of the home that was stored.
    let tenant = domain::access::Tenant { id: samples.tenant_id(), name: String::new() };
    let project = domain::access::Project {
        id: samples.project_id(),
        tenant_id: tenant.id,
        slug: String::new(),
        name: String::new(),
        created_at: Timestamp::from_micros(1),
    };
    let home = Home { tenant, project, owner: samples.principal_id() };
    let own = seed * 2 + racer;
    let random = Orders { home, seed: own, executions: 2, calls: 4, providers: Providers::Honest, estimate: None };
    match seed {
        // The two named races come before the random ones.
        1 => Orders {
            executions: 10,
            calls: 10,
            providers: Providers::Exact(1000),
            estimate: Some(SIXTY_CENTS),
            ..random
        },
        2 => Orders {
            executions: 10,
            calls: 10,
            providers: Providers::Exact(600_000),
            estimate: Some(SIXTY_CENTS),
            ..random
        },
        odd if odd % 3 == 0 => Orders { providers: Providers::Careless, ..random },
        _ => random,
    }
}

/// The tenant of a case and its accounts: one for everything, and with luck one for the project.
async fn prepare(ports: &Ports, seed: u64) -> Home {
    let samples = Samples::new(seed);
    let home = samples.home(ports).await;
    let mut random = Random::new(seed);
    let cents = |random: &mut Random| NanoUsd(i64::try_from(100_000 + random.next() % 2_000_000).unwrap());
    let mut accounts = vec![(AccountOwner::Tenant(home.tenant.id), Period::None, cents(&mut random), None)];
    if random.one_in(2) {
        let tokens = 100 + random.next() % 3000;
        accounts.push((AccountOwner::Project(home.project.id), Period::Month, cents(&mut random), Some(tokens)));
    }
    if seed <= 2 {
        accounts = vec![(AccountOwner::Tenant(home.tenant.id), Period::None, DOLLAR, None)];
    }
    for (owner, period, max_cost, max_tokens) in accounts {
        let account = BudgetAccount {
            id: samples.account_id(),
            tenant_id: home.tenant.id,
            owner,
            period,
            caps: Caps { max_cost: Some(max_cost), max_tokens },
            warning_levels: WarningLevels::default(),
            created_at: Timestamp::from_micros(1),
        };
        let change =
            AccountChange { account, by: home.owner, at: Timestamp::from_micros(1), reason: "race".to_owned() };
        ports.accounts.set(&change).await.unwrap();
    }
    home
}

/// What is true when everything has settled.
async fn judge(world: &World, seed: u64, home: &Home, tally: Tally) {
    let replay = format!("VITRINE_SEED={seed}: {tally:?}");
    let states = world.ports.accounts.accounts(home.scope(), None).await.unwrap();
    let is_honest = orders(seed, 0).providers != Providers::Careless;
    for state in &states {
        assert_eq!((state.reserved, state.spent.cost), (Amount::default(), NanoUsd(tally.spent)), "{replay}");
        assert!(!is_honest || state.caps.max_cost.is_none_or(|most| state.spent.cost <= most), "{replay}");
    }
    let connection = world.store.connection();
    let sql = format!("SELECT COUNT(*) AS held FROM budget_reservation WHERE tenant_id = '{}'", home.tenant.id);
    let row = connection.query_one_raw(Statement::from_string(connection.get_database_backend(), sql)).await;
    assert_eq!(row.unwrap().unwrap().try_get::<i64>("", "held").unwrap(), 0, "{replay}");
    assert!(tally.admitted > 0, "no progress: {replay}");
    match seed {
        // A tenth of a cent each: all of them, one after the other.
        1 => assert_eq!((tally.admitted, tally.used_up, tally.spent), (200, 0, 200_000_000), "{replay}"),
        // What it holds is what it costs: one, and then nobody.
        2 => assert_eq!((tally.admitted, tally.used_up, tally.spent), (1, 199, 600_000_000), "{replay}"),
        _ => {}
    }
}

fn seeds() -> Vec<u64> {
    match variable("VITRINE_SEED") {
        Some(seed) => vec![seed.parse().unwrap()],
        None => (1..=CASES).collect(),
    }
}

fn variable(wanted: &str) -> Option<String> {
    std::env::vars().find(|(name, _)| name == wanted).map(|(_, value)| value)
}

/// Another process of this program, which runs nothing but [`a_racer_in_a_process_of_its_own`].
struct Process {
    child: Child,
    input: ChildStdin,
    output: tokio::io::Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(url: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "budget_race::a_racer_in_a_process_of_its_own", "--nocapture"])
            .env(URL, url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output).lines() }
    }

    async fn race(&mut self, seed: u64, racer: u64) -> Tally {
        self.input.write_all(format!("{seed} {racer}\n").as_bytes()).await.unwrap();
        loop {
            let line = self.output.next_line().await.unwrap();
            let line = line.unwrap_or_else(|| panic!("VITRINE_SEED={seed}: the racer ended"));
            // The test harness writes before it, into the same line.
            if let Some(tally) = line.find("RACE ").and_then(|start| Tally::from_line(&line[start..])) {
                return tally;
            }
        }
    }

    async fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().await.unwrap().success());
    }
}

/// Without orders it races alone: every call that fits is admitted, and none has to wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_racer_in_a_process_of_its_own() {
    let Some(url) = variable(URL) else {
        let world = World::sqlite().await;
        let home = prepare(&world.ports, 2).await;
        let alone = Orders { executions: 1, calls: 3, ..orders(2, 0) };
        let tally = race(&world.store, &alone).await;
        judge_alone(&world, &home, tally).await;
        world.close().await;
        return;
    };
    let store = SqlStore::open(SqlOptions { url }).await.unwrap();
    // It has nothing else to do while it waits for orders, and so may block.
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let (seed, racer) = line.split_once(' ').unwrap();
        let tally = race(&store, &orders(seed.parse().unwrap(), racer.parse().unwrap())).await;
        let mut output = std::io::stdout();
        writeln!(output, "{}", tally.to_line()).unwrap();
        output.flush().unwrap();
    }
    store.close().await;
}

async fn judge_alone(world: &World, home: &Home, tally: Tally) {
    let expected = Tally { admitted: 1, used_up: 2, spent: 600_000_000, ..Tally::default() };
    assert_eq!(tally, expected);
    let state = world.ports.accounts.accounts(home.scope(), None).await.unwrap().pop().unwrap();
    assert_eq!((state.spent.cost, state.reserved), (NanoUsd(600_000_000), Amount::default()));
}

/// Two hundred calls of sixty cents on a dollar, and two hundred random cases, from two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_never_go_over_an_account_on_mariadb() {
    let world = World::mariadb().await;
    let mut racers = [Process::start(&world.url), Process::start(&world.url)];
    let mut sum = Tally::default();
    for seed in seeds() {
        let home = prepare(&world.ports, seed).await;
        let [one, other] = &mut racers;
        let (one, other) = tokio::join!(one.race(seed, 0), other.race(seed, 1));
        judge(&world, seed, &home, one.plus(other)).await;
        sum = sum.plus(one).plus(other);
    }
    for racer in racers {
        racer.end().await;
    }
    assert!(sum.busy > 0 && sum.used_up > 0, "the racers never met: {sum:?}");
    world.close().await;
}

/// The same from two stores on one SQLite file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_never_go_over_an_account_on_sqlite() {
    let world = World::sqlite().await;
    let second = SqlStore::open(SqlOptions { url: world.url.clone() }).await.unwrap();
    let mut sum = Tally::default();
    for seed in seeds() {
        let home = prepare(&world.ports, seed).await;
        let (one, other) = (orders(seed, 0), orders(seed, 1));
        let (one, other) = tokio::join!(race(&world.store, &one), race(&second, &other));
        judge(&world, seed, &home, one.plus(other)).await;
        sum = sum.plus(one).plus(other);
    }
    assert!(sum.busy > 0 && sum.used_up > 0, "the racers never met: {sum:?}");
    second.close().await;
    world.close().await;
}

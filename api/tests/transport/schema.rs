//! A toy schema that counts what its resolvers do.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_graphql::{Context, Error, ErrorExtensions, ID, Object, Result, Schema, SimpleObject, Subscription};
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::auth::Who;

pub type ToySchema = Schema<Query, Mutation, Events>;

/// What tests observe of the resolvers.
#[derive(Clone, Default)]
pub struct Counters {
    pub resolved: Arc<AtomicUsize>,
    pub mutated: Arc<AtomicUsize>,
    pub produced: Arc<AtomicUsize>,
    /// Opens `incrementWhenOpen`.
    pub gate: Arc<Gate>,
}

/// A gate that starts closed.
pub struct Gate {
    pub entered: Semaphore,
    pub open: Semaphore,
}

impl Default for Gate {
    fn default() -> Self {
        Self { entered: Semaphore::new(0), open: Semaphore::new(0) }
    }
}

pub fn schema(counters: Counters) -> ToySchema {
    Schema::build(Query, Mutation, Events).data(counters).finish()
}

fn counters<'a>(ctx: &Context<'a>) -> &'a Counters {
    ctx.data_unchecked::<Counters>()
}

pub struct User;

#[Object]
impl User {
    async fn id(&self, ctx: &Context<'_>) -> ID {
        counters(ctx).resolved.fetch_add(1, Ordering::SeqCst);
        ID::from("usr_1")
    }

    async fn org(&self) -> Org {
        Org
    }
}

pub struct Org;

#[Object]
impl Org {
    async fn owner(&self) -> User {
        User
    }
}

#[derive(SimpleObject)]
pub struct Page {
    nodes: Vec<i32>,
}

pub struct Query;

#[Object]
impl Query {
    async fn viewer(&self, ctx: &Context<'_>) -> User {
        counters(ctx).resolved.fetch_add(1, Ordering::SeqCst);
        User
    }

    /// The caller that was attached.
    async fn who(&self, ctx: &Context<'_>) -> String {
        ctx.data_unchecked::<Who>().0.clone()
    }

    async fn hello(&self, name: String) -> String {
        format!("hello {name}")
    }

    async fn page(&self, first: Option<i32>) -> Page {
        Page { nodes: (0..first.unwrap_or(2)).collect() }
    }

    async fn small(&self, #[graphql(validator(maximum = 10))] number: i32) -> i32 {
        number
    }

    async fn uncoded(&self) -> Result<Option<i32>> {
        ready(Err(Error::new("connection to 10.0.0.7 refused for user root"))).await
    }

    async fn converted(&self) -> Result<Option<i32>> {
        Ok(Some(ready("Failed to parse \"secret\"").await.parse::<i32>()?))
    }

    /// A nullable field that fails alone: with the wrappers the other way round, the failure empties the parent.
    async fn coded(&self) -> Option<Result<i32>> {
        Some(Err(Error::new("There is none.").extend_with(|_, extensions| extensions.set("code", "NOT_FOUND"))))
    }

    async fn nobody(&self) -> Result<i32> {
        ready(Err(Error::new("gone").extend_with(|_, extensions| extensions.set("code", "NOT_FOUND")))).await
    }

    #[graphql(skip)]
    fn breaks(&self) -> bool {
        true
    }

    async fn panics(&self) -> i32 {
        if self.breaks() { panic!("the resolver broke") } else { 0 }
    }

    async fn never(&self) -> i32 {
        std::future::pending().await
    }
}

pub struct Mutation;

#[Object]
impl Mutation {
    async fn increment(&self, ctx: &Context<'_>) -> usize {
        counters(ctx).mutated.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Waits in the middle, as a mutation does that calls another system.
    async fn increment_when_open(&self, ctx: &Context<'_>) -> usize {
        let counters = counters(ctx);
        counters.gate.entered.add_permits(1);
        counters.gate.open.acquire().await.expect("the gate stays").forget();
        counters.mutated.fetch_add(1, Ordering::SeqCst) + 1
    }
}

#[derive(SimpleObject, Clone)]
pub struct Event {
    seq: i32,
    payload: String,
}

fn event(seq: i32, bytes: usize) -> Event {
    Event { seq, payload: "x".repeat(bytes) }
}

pub struct Events;

#[Subscription]
impl Events {
    /// Three events, then silence.
    async fn run_events(&self, run_id: String, after: i32) -> impl Stream<Item = Event> {
        let length = run_id.len();
        stream::iter(after + 1..=after + 3).map(move |seq| event(seq, length)).chain(stream::pending())
    }

    /// So many events, then the end.
    async fn countdown(&self, count: i32) -> impl Stream<Item = Event> {
        stream::iter(1..=count).map(|seq| event(seq, 1))
    }

    /// An event each interval.
    async fn ticks(&self, every_ms: u64) -> impl Stream<Item = Event> {
        stream::unfold(1, move |seq| async move {
            sleep(Duration::from_millis(every_ms)).await;
            Some((event(seq, 1), seq + 1))
        })
    }

    /// Always ready, without end.
    async fn flood(&self, ctx: &Context<'_>) -> impl Stream<Item = Event> {
        let produced = Arc::clone(&counters(ctx).produced);
        stream::iter(1..).map(move |seq| {
            produced.fetch_add(1, Ordering::SeqCst);
            event(seq, 1024)
        })
    }

    async fn refused(&self) -> Result<stream::Pending<Event>> {
        let foreign = Error::new("The cursor is foreign.");
        ready(Err(foreign.extend_with(|_, extensions| extensions.set("code", "BAD_USER_INPUT")))).await
    }

    async fn breaks(&self) -> impl Stream<Item = Event> {
        stream::once(async { panic!("the stream broke") })
    }

    async fn whoami(&self, ctx: &Context<'_>) -> impl Stream<Item = String> + use<> {
        stream::iter([ctx.data_unchecked::<Who>().0.clone()])
    }
}

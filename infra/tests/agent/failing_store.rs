//! A FailingStore is a real store whose calls can fail: before they reach it, or after it has done them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use domain::error::StoreError;
use domain::execution::{
    Claimed, Command, Commit, ExecutionRef, ExecutionStore, Fence, NewExecution, Renewal, StartOutcome,
};
use domain::ids::SandboxId;
use domain::sandbox::Sandbox;

/// What happens around one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// It does not reach the store.
    Before,
    /// The store does it, and the answer is lost.
    After,
    /// As `Before`, and from then on nothing reaches the store until it is healed.
    DownBefore,
    /// As `After`, and from then on nothing reaches the store until it is healed.
    DownAfter,
}

/// The call that is to fail: the `nth` of this method, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failpoint {
    pub method: &'static str,
    pub nth: u32,
    pub when: When,
}

#[derive(Default)]
struct State {
    failpoints: Vec<Failpoint>,
    calls: BTreeMap<&'static str, u32>,
    hits: u32,
    is_down: bool,
}

pub struct FailingStore {
    inner: Arc<dyn ExecutionStore>,
    state: Mutex<State>,
}

enum Fate {
    Passes,
    Refused,
    AnswerIsLost,
}

impl FailingStore {
    pub fn new(inner: Arc<dyn ExecutionStore>) -> Self {
        Self { inner, state: Mutex::default() }
    }

    /// Forgets what was counted and sets these failpoints.
    pub fn set(&self, failpoints: &[Failpoint]) {
        *self.state.lock().unwrap() = State { failpoints: failpoints.to_vec(), ..State::default() };
    }

    /// The store is there again; failpoints that were not hit stay.
    pub fn heal(&self) {
        self.state.lock().unwrap().is_down = false;
    }

    /// Whether nothing reaches the store.
    pub fn is_down(&self) -> bool {
        self.state.lock().unwrap().is_down
    }

    /// How many failpoints were hit.
    pub fn hits(&self) -> u32 {
        self.state.lock().unwrap().hits
    }

    /// How often each method was called.
    pub fn calls(&self) -> BTreeMap<&'static str, u32> {
        self.state.lock().unwrap().calls.clone()
    }

    fn fate(&self, method: &'static str) -> Fate {
        let mut state = self.state.lock().unwrap();
        let nth = {
            let count = state.calls.entry(method).or_default();
            *count += 1;
            *count
        };
        if state.is_down {
            return Fate::Refused;
        }
        let hit = state.failpoints.iter().find(|point| point.method == method && point.nth == nth).copied();
        let Some(hit) = hit else { return Fate::Passes };
        state.hits += 1;
        state.is_down = matches!(hit.when, When::DownBefore | When::DownAfter);
        match hit.when {
            When::Before | When::DownBefore => Fate::Refused,
            When::After | When::DownAfter => Fate::AnswerIsLost,
        }
    }

    async fn around<T: Send>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match self.fate(method) {
            Fate::Passes => call.await,
            Fate::Refused => Err(StoreError::Unavailable("a failpoint before the call".into())),
            Fate::AnswerIsLost => {
                call.await?;
                Err(StoreError::Unavailable("a failpoint behind the call".into()))
            }
        }
    }
}

/// One line for each method of the trait: one that is missing here does not compile, and each that stands here is in
/// `METHODS`, for which the tests must have a case.
macro_rules! around_every_method {
    ($($method:ident($($name:ident: $kind:ty),*) -> $answer:ty;)*) => {
        /// The methods of the trait.
        pub const METHODS: &[&str] = &[$(stringify!($method)),*];

        #[async_trait]
        impl ExecutionStore for FailingStore {
            $(async fn $method(&self, $($name: $kind),*) -> Result<$answer, StoreError> {
                self.around(stringify!($method), self.inner.$method($($name),*)).await
            })*
        }
    };
}

around_every_method! {
    start(new: &NewExecution) -> StartOutcome;
    claim_next(owner: &str, lease: Duration) -> Option<Claimed>;
    claim(execution: ExecutionRef, owner: &str, lease: Duration) -> Option<Claimed>;
    renew(execution: ExecutionRef, epoch: u64, lease: Duration) -> Renewal;
    commit(commit: &Commit) -> ();
    append(commits: &[Commit]) -> Vec<bool>;
    fence(execution: ExecutionRef) -> Option<Fence>;
    add_command(execution: ExecutionRef, command: &Command) -> ();
    stray_sandboxes(after: Option<SandboxId>, limit: u32) -> Vec<(ExecutionRef, Sandbox)>;
    sandbox_gone(execution: ExecutionRef, id: SandboxId) -> ();
}

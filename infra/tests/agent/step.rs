//! The steps of the loop, before and after each thing that it does outside of itself, and the Fuse that ends a worker at
//! one of them.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

macro_rules! steps {
    ($($step:ident,)*) => {
        /// A place at which a worker can be lost.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Step {
            $($step,)*
        }

        impl Step {
            /// Every step.
            pub const ALL: &[Self] = &[$(Self::$step),*];
        }
    };
}

steps! {
    BeforeClaim,
    AfterClaim,
    BeforeAuthorise,
    AfterAuthorise,
    BeforeReserve,
    AfterReserve,
    BeforeSend,
    AfterSend,
    BeforeFirstDelta,
    AfterFirstDelta,
    BeforeLastDelta,
    AfterLastDelta,
    BeforeSettle,
    AfterSettle,
    BeforeAppend,
    AfterAppend,
    BeforeToolSend,
    AfterToolSend,
    BeforeToolReply,
    AfterToolReply,
    BeforeStateWrite,
    AfterStateWrite,
    BeforeCheckpoint,
    AfterCheckpoint,
    BeforeFinish,
    AfterFinish,
}

/// Ends a worker when it comes to a step for the n-th time: from then on no call of it begins, and none returns.
#[derive(Default)]
pub struct Fuse {
    armed: Option<(Step, u32)>,
    counts: Mutex<BTreeMap<Step, u32>>,
    is_blown: AtomicBool,
    blown: Notify,
}

impl Fuse {
    /// Blows at the `nth` time, from 1, that this step is reached.
    pub fn at(step: Step, nth: u32) -> Self {
        Self { armed: Some((step, nth)), ..Self::default() }
    }

    /// The worker comes to a step. Does not return when it ends here, or has ended.
    pub async fn reach(&self, step: Step) {
        self.note(step);
        if self.is_blown() {
            std::future::pending().await
        }
    }

    /// As [`Fuse::reach`], where the worker cannot be held: it comes no further than its next call.
    pub fn note(&self, step: Step) {
        let nth = {
            let mut counts = self.counts.lock().unwrap();
            let count = counts.entry(step).or_default();
            *count += 1;
            *count
        };
        if self.armed == Some((step, nth)) {
            self.is_blown.store(true, Ordering::Release);
            self.blown.notify_one();
        }
    }

    /// A call that is no step: it goes through as long as the worker lives.
    pub async fn pass(&self) {
        if self.is_blown() {
            std::future::pending().await
        }
    }

    pub fn is_blown(&self) -> bool {
        self.is_blown.load(Ordering::Acquire)
    }

    /// Resolves when the worker has ended.
    pub async fn blown(&self) {
        self.blown.notified().await;
    }
}

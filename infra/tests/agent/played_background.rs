//! The background commands of a PlayedSandbox: what they print is there at once, word by word. `gate` ends when the test
//! lets it, every other one at once. Of what `flood` prints the server has not kept all.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::execution::CallContext;
use domain::sandbox::{BackgroundCommand, Exit, Followed, OutputSink, OutputStream, ProgramEnd};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// What the server has not kept of a flood.
pub const DROPPED_BYTES: u64 = 1234;

#[derive(Default)]
pub struct PlayedBackground {
    commands: Mutex<BTreeMap<String, String>>,
    interrupts: AtomicUsize,
    /// Reads of output from its first byte.
    follows: AtomicUsize,
}

impl PlayedBackground {
    /// The id under which it is known.
    pub fn start(&self, command: &str) -> String {
        let mut commands = self.commands.lock().unwrap();
        let id = format!("cmd-{}", commands.len());
        commands.insert(id.clone(), command.to_owned());
        id
    }

    /// The server has another log of this command.
    pub fn forget(&self, id: &str, log: &str) {
        self.commands.lock().unwrap().insert(id.to_owned(), log.to_owned());
    }

    pub fn interrupts(&self) -> usize {
        self.interrupts.load(Ordering::SeqCst)
    }

    pub fn follows(&self) -> usize {
        self.follows.load(Ordering::SeqCst)
    }

    pub async fn follow(
        &self,
        context: &CallContext,
        command: &BackgroundCommand,
        let_go: &CancellationToken,
        gate: &Semaphore,
        output: &dyn OutputSink,
    ) -> Followed {
        let ended = |exit| Followed::Ended(ProgramEnd::of(exit));
        let printed = self.commands.lock().unwrap()[&command.id].clone();
        self.follows.fetch_add(1, Ordering::SeqCst);
        // What was told before comes in other pieces than it did then.
        let pieces: Vec<&str> = match command.cursor {
            0 => printed.split_inclusive(' ').collect(),
            _ => printed.split_inclusive(|c: char| "ho".contains(c)).collect(),
        };
        for piece in pieces {
            output.output(OutputStream::Stdout, piece).await;
            if let_go.is_cancelled() {
                return Followed::LetGo;
            }
        }
        if printed.starts_with("flood") {
            return Followed::Ended(ProgramEnd { dropped_bytes: DROPPED_BYTES, ..ProgramEnd::of(Exit::Code(0)) });
        }
        if !printed.starts_with("gate") {
            return ended(Exit::Code(i32::from(printed.starts_with("fail"))));
        }
        tokio::select! {
            opened = gate.acquire() => {
                opened.unwrap().forget();
                ended(Exit::Code(0))
            }
            () = let_go.cancelled() => Followed::LetGo,
            () = context.cancel.cancelled() => {
                self.interrupts.fetch_add(1, Ordering::SeqCst);
                ended(Exit::Interrupted)
            }
        }
    }
}

//! The background commands of a PlayedSandbox: what they print is there at once, word by word. `echo` ends at once, and
//! `gate` when the test lets it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::execution::CallContext;
use domain::sandbox::{BackgroundCommand, CursorSink, Exit, Followed, ProgramEnd};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

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
        output: &dyn CursorSink,
    ) -> Followed {
        let ended = |exit| Followed::Ended(ProgramEnd { exit, sandbox_lost: false });
        let printed = self.commands.lock().unwrap()[&command.id].clone();
        self.follows.fetch_add(1, Ordering::SeqCst);
        let mut cursor = 0;
        let told = usize::try_from(command.cursor).unwrap();
        // What was told comes as one piece, however it was cut before.
        let (before, behind) = printed.split_at(told);
        for piece in [before].into_iter().filter(|piece| !piece.is_empty()).chain(behind.split_inclusive(' ')) {
            cursor += piece.len() as u64;
            output.piece(piece, cursor).await;
            if let_go.is_cancelled() {
                return Followed::LetGo;
            }
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

//! What a program printed, kept whole as files where log and result hold a part of it.
//!
//! The text goes into the artifact store while it comes, a piece at a time, from where the log's head is full: what fits
//! into the log is not kept twice. A store that fails costs the file and never the call.

use bytes::Bytes;
use futures_util::lock::Mutex;

use super::collect::warning_event;
use super::model::ToolCall;
use crate::agent::Claim;
use crate::artifact::{Artifact, ArtifactDraft, ArtifactKind, Blob};
use crate::error::StoreError;
use crate::event::Event;
use crate::ids::{ArtifactId, ToolCallId};
use crate::sandbox::{OutputStream, RawOutput};

/// Bytes of text that are kept of one call.
const MAX_KEPT_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes that are written at one time.
const PIECE_BYTES: usize = 256 * 1024;

/// The text of one call on its way into the artifact store.
#[derive(Default)]
pub(super) struct WholeOutput(Mutex<Whole>);

#[derive(Default)]
struct Whole {
    draft: Option<Box<dyn ArtifactDraft>>,
    waiting: Vec<u8>,
    taken_bytes: u64,
    left_out_bytes: u64,
    has_failed: bool,
}

impl WholeOutput {
    /// Takes the next piece.
    pub(super) async fn take(&self, claim: &Claim, text: &str) {
        let mut whole = self.0.lock().await;
        let room = usize::try_from(MAX_KEPT_BYTES - whole.taken_bytes).unwrap_or(usize::MAX);
        let (kept, left_out) = text.split_at(text.floor_char_boundary(room));
        whole.taken_bytes += kept.len() as u64;
        whole.left_out_bytes += left_out.len() as u64;
        whole.waiting.extend_from_slice(kept.as_bytes());
        if whole.waiting.len() >= PIECE_BYTES {
            whole.write(claim).await;
        }
    }

    /// Stores what was taken, as a file of this call; None when nothing was, or the store failed. What was dropped before it
    /// came here is counted with what was left out.
    pub(super) async fn keep(self, claim: &Claim, call: &ToolCall, dropped_bytes: u64) -> Option<Artifact> {
        let mut whole = self.0.into_inner();
        if whole.taken_bytes == 0 {
            return None;
        }
        let cut = cut_mark(whole.left_out_bytes.saturating_add(dropped_bytes));
        whole.waiting.extend_from_slice(cut.as_bytes());
        whole.write(claim).await;
        match whole.draft?.keep().await {
            Ok(blob) => Some(artifact(claim, call.id, format!("output-{}.txt", call.id), "text/plain", blob)),
            Err(error) => {
                tell_failure(&error);
                None
            }
        }
    }
}

/// What stands at the end of a text that lacks the bytes behind it, or nothing.
pub(super) fn cut_mark(missing_bytes: u64) -> String {
    match missing_bytes {
        0 => String::new(),
        missing => format!("\n[cut here: {missing} more bytes were printed]\n"),
    }
}

impl Whole {
    async fn write(&mut self, claim: &Claim) {
        let piece = Bytes::from(std::mem::take(&mut self.waiting));
        if self.has_failed {
            return;
        }
        if let Err(error) = self.try_write(claim, piece).await {
            tell_failure(&error);
            self.has_failed = true;
            self.draft = None;
        }
    }

    async fn try_write(&mut self, claim: &Claim, piece: Bytes) -> Result<(), StoreError> {
        let draft = match &mut self.draft {
            Some(draft) => draft,
            none => none.insert(claim.ports.artifacts.begin(claim.scope()).await?),
        };
        draft.write(piece).await
    }
}

/// Stores the bytes of output that is no text, a stream at a time.
pub(super) async fn keep_raw(claim: &Claim, call: &ToolCall, raw: RawOutput) -> Vec<(Artifact, Event)> {
    let mut kept = Vec::new();
    for (stream, name, bytes) in
        [(OutputStream::Stdout, "stdout", raw.stdout), (OutputStream::Stderr, "stderr", raw.stderr)]
    {
        if is_text(&bytes) {
            continue;
        }
        let byte_size = bytes.len() as u64;
        match claim.ports.artifacts.put(claim.scope(), bytes).await {
            Ok(sha256) => {
                let name = format!("{name}-{}.bin", call.id);
                let file = artifact(claim, call.id, name, "application/octet-stream", Blob { sha256, byte_size });
                let event = Event::RawOutputKept { tool_call_id: call.id, stream, artifact_id: file.id, byte_size };
                kept.push((file, event));
            }
            Err(error) => tell_failure(&error),
        }
    }
    kept
}

/// Says why the bytes of a stream that was no text are not there.
pub(super) fn raw_withheld(stream: OutputStream) -> Event {
    let name = match stream {
        OutputStream::Stdout => "standard output",
        OutputStream::Stderr => "standard error",
    };
    let message = format!("The bytes of {name} were not kept as they were, since they hold a credential's value.");
    warning_event("RAW_OUTPUT_WITHHELD", message)
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'))
}

fn artifact(claim: &Claim, call: ToolCallId, name: String, media_type: &str, blob: Blob) -> Artifact {
    Artifact {
        id: ArtifactId::generate(&*claim.ports.clock, &*claim.ports.entropy),
        execution_id: claim.execution.id,
        kind: ArtifactKind::Printed,
        name,
        media_type: media_type.to_owned(),
        byte_size: blob.byte_size,
        sha256: blob.sha256,
        tool_call_id: Some(call),
        created_at: claim.ports.clock.now(),
    }
}

fn tell_failure(error: &StoreError) {
    tracing::warn!(error = error as &dyn std::error::Error, "what a program printed was not kept whole");
}

//! Collects what a call left in `outputs/`.

use bytes::Bytes;

use super::model::ToolCall;
use crate::agent::Claim;
use crate::artifact::{Artifact, ArtifactKind, media_type, sha256_hex};
use crate::event::Event;
use crate::ids::{ArtifactId, SandboxId};
use crate::sandbox::{LiveSandbox, RefusedOutput};

/// What a call left in `outputs/`, and what else is recorded with its end.
#[derive(Default)]
pub(super) struct Outputs {
    pub files: Vec<(Artifact, Bytes)>,
    /// The sandbox that it was left in.
    pub sandbox: Option<SandboxId>,
    /// Say what of it could not be kept.
    pub warnings: Vec<Event>,
    /// Files of what a program printed; their bytes are stored.
    pub printed: Vec<Artifact>,
    /// Output that is told with the end of the call, for it would be told again if it came before.
    pub last_words: Vec<Event>,
}

/// Adds new and changed files in `outputs/`, and a warning for each kind that was not taken. Returns what these say.
pub(super) async fn collect(
    claim: &Claim,
    call: &ToolCall,
    sandbox: &LiveSandbox,
    outputs: &mut Outputs,
) -> Vec<String> {
    let not_taken = take(claim, call, sandbox, outputs).await;
    outputs.warnings.extend(not_taken.iter().map(|(code, message)| warning_event(code, message.clone())));
    not_taken.into_iter().map(|(_, message)| message).collect()
}

/// Adds the files. Returns the codes and messages of what was not taken.
async fn take(
    claim: &Claim,
    call: &ToolCall,
    sandbox: &LiveSandbox,
    outputs: &mut Outputs,
) -> Vec<(&'static str, String)> {
    let found = match claim.ports.sandboxes.collect(&claim.call_context(), sandbox).await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(execution.id = %claim.execution.id, error.code = error.code, "outputs were not collected");
            return vec![("OUTPUTS_NOT_COLLECTED", format!("The files in outputs/ could not be collected. {error}"))];
        }
    };
    let artifact = |name: String, bytes: &Bytes| Artifact {
        id: ArtifactId::generate(&*claim.ports.clock, &*claim.ports.entropy),
        execution_id: claim.execution.id,
        kind: ArtifactKind::Output,
        media_type: media_type(&name).to_owned(),
        byte_size: bytes.len() as u64,
        sha256: sha256_hex(bytes),
        tool_call_id: Some(call.id),
        created_at: claim.ports.clock.now(),
        name,
    };
    let files = found.files.into_iter().map(|file| (artifact(file.name, &file.bytes), file.bytes));
    outputs.files.extend(files.filter(|(artifact, _)| claim.sandbox.note_collected(&artifact.name, &artifact.sha256)));
    let mut not_taken = Vec::new();
    for (count, why) in
        [(found.left_out, "being too many or too large"), (found.withheld, "since each holds a credential's value")]
    {
        if count > 0 {
            let message = format!("Left out of the artifacts, {why}: {count} files in outputs/.");
            not_taken.push(("OUTPUTS_LEFT_OUT", message));
        }
    }
    if found.is_cut {
        let message = "outputs/ has more entries than can be listed, and the rest is left out of the artifacts; put them \
            into one archive, or remove some.";
        not_taken.push(("OUTPUTS_LEFT_OUT", message.to_owned()));
    }
    if !found.refused.is_empty() {
        not_taken.push(("OUTPUTS_REFUSED", refusal(&found.refused)));
    }
    not_taken
}

/// Names of entries that are told at most.
const MAX_NAMED: usize = 10;

fn refusal(refused: &[RefusedOutput]) -> String {
    let named = refused.iter().take(MAX_NAMED).map(|entry| format!("{:?} ({})", entry.name, entry.why.words()));
    let more = match refused.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("Not taken as artifacts from outputs/: {}{more}.", named.collect::<Vec<_>>().join(", "))
}

pub(super) fn warning_event(code: &str, message: String) -> Event {
    Event::WarningRaised { code: code.to_owned(), message }
}

pub(super) fn created_event(artifact: &Artifact) -> Event {
    Event::ArtifactCreated {
        artifact_id: artifact.id,
        name: artifact.name.clone(),
        media_type: artifact.media_type.clone(),
        byte_size: artifact.byte_size,
        sha256: artifact.sha256.clone(),
    }
}

//! What a caller writes to start an execution.

use async_graphql::{ID, InputObject};
use bytes::Bytes;
use data_encoding::BASE64;
use domain::budget::Limits;
use domain::execution::start::{AgentChoice, StartRequest};

use crate::graphql::agent::LimitsInput;
use crate::graphql::scalar::DateTime;
use crate::graphql::user_error::{Faults, Parsed, Placeholder};

/// A file for an execution.
#[derive(InputObject)]
pub struct InputFileInput {
    /// A plain file name; the file is put into /workspace/inputs.
    name: String,
    /// Text content; give this or contentBase64.
    text: Option<String>,
    /// Binary content in base64; give this or text.
    content_base64: Option<String>,
}

/// What is to be executed, with what, and within which limits.
#[derive(InputObject)]
pub struct ExecutionStartInput {
    /// The agent, whose latest published version runs; or give agentVersionId.
    agent_id: Option<ID>,
    /// The published version of an agent that is to run; or give agentId.
    agent_version_id: Option<ID>,
    /// What the agent is to do.
    task: String,
    /// Files for the agent.
    files: Option<Vec<InputFileInput>>,
    /// Limits beside those of the agent; the tighter one holds.
    limits: Option<LimitsInput>,
    /// When it must have ended.
    deadline_at: Option<DateTime>,
    /// At most 128 bytes, fresh for each start and the same for its retries: the same key starts once.
    idempotency_key: String,
}

impl ExecutionStartInput {
    /// The input field by which the agent was chosen.
    pub const fn agent_field(&self) -> &'static str {
        if self.agent_version_id.is_some() { "agentVersionId" } else { "agentId" }
    }

    /// Reads the input into domain types.
    pub fn read(self) -> Parsed<StartRequest> {
        let mut faults = Faults::default();
        let request = StartRequest {
            agent: self.agent(&mut faults),
            task: self.task,
            files: read_files(self.files.unwrap_or_default(), &mut faults),
            limits: self.limits.map_or(Limits::default(), |limits| limits.read(&["limits"], &mut faults)),
            deadline_at: self.deadline_at.map(|moment| moment.0),
            idempotency_key: self.idempotency_key,
        };
        faults.with(request)
    }

    fn agent(&self, faults: &mut Faults) -> AgentChoice {
        match (&self.agent_id, &self.agent_version_id) {
            (Some(agent), None) => AgentChoice::Latest(faults.id(&["agentId"], agent)),
            (None, Some(version)) => AgentChoice::Version(faults.id(&["agentVersionId"], version)),
            (None, None) => {
                faults.add(&["agentId"], "MISSING", "give agentId or agentVersionId");
                AgentChoice::Latest(Placeholder::PLACEHOLDER)
            }
            (Some(_), Some(_)) => {
                faults.add(&["agentVersionId"], "CONFLICTING", "give agentId or agentVersionId, not both");
                AgentChoice::Latest(Placeholder::PLACEHOLDER)
            }
        }
    }
}

fn read_files(files: Vec<InputFileInput>, faults: &mut Faults) -> Vec<(String, Bytes)> {
    let mut read = Vec::with_capacity(files.len());
    for (index, file) in files.into_iter().enumerate() {
        let place = index.to_string();
        let bytes = match (file.text, file.content_base64) {
            (Some(text), None) => Bytes::from(text),
            (None, Some(encoded)) => BASE64.decode(encoded.as_bytes()).map_or_else(
                |_| {
                    faults.add(&["files", &place, "contentBase64"], "MALFORMED", "is not base64 with padding");
                    Bytes::new()
                },
                Bytes::from,
            ),
            (None, None) => {
                faults.add(&["files", &place], "MISSING", "give text or contentBase64");
                Bytes::new()
            }
            (Some(_), Some(_)) => {
                faults.add(&["files", &place], "CONFLICTING", "give text or contentBase64, not both");
                Bytes::new()
            }
        };
        read.push((file.name, bytes));
    }
    read
}

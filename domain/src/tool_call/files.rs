//! Does what a tool call asks of the sandbox.

use bytes::Bytes;

use super::invocation::Invocation;
use super::model::{ToolCall, ToolCallState, ToolResult};
use super::program::run_program;
use crate::agent::Claim;
use crate::sandbox::{LiveSandbox, SandboxError};

pub(super) async fn use_sandbox(
    claim: &Claim,
    call: &ToolCall,
    invocation: &Invocation,
    sandbox: &LiveSandbox,
) -> Result<ToolResult, SandboxError> {
    let context = claim.call_context();
    let sandboxes = &claim.ports.sandboxes;
    match invocation {
        Invocation::Run(program) => run_program(claim, call, program, sandbox).await,
        Invocation::WriteFile { path, content } => {
            let size = content.len();
            sandboxes.upload(&context, sandbox, path, Bytes::from(content.clone())).await?;
            Ok(ToolResult::succeeded(format!("Wrote {size} bytes to {path}.")))
        }
        Invocation::ReadFile { path, offset, limit } => {
            match sandboxes.download(&context, sandbox, path, *offset, *limit).await? {
                Some(bytes) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let lossy = text.contains(char::REPLACEMENT_CHARACTER);
                    Ok(ToolResult { lossy, ..ToolResult::succeeded(text) })
                }
                None => {
                    Ok(ToolResult::ended(ToolCallState::Failed, "FILE_NOT_FOUND", format!("there is no file {path}")))
                }
            }
        }
        Invocation::Note => Ok(ToolResult::succeeded("Noted.")),
    }
}

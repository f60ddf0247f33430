//! What a call sent is kept as an increment: a conversation grows by a few messages a call, and is read seldom.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model::ModelCall;
use crate::artifact::{ArtifactStore, StoredText, load_text};
use crate::ctx::Scope;
use crate::error::StoreError;
use crate::ids::ModelCallId;

/// The messages of one request: the first `from` of those that the call before it sent, and then these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentMessages {
    /// How many messages of the call before it come first; 0 when these are all.
    #[serde(default)]
    pub from: u32,
    /// The others, as a JSON array.
    #[serde(flatten)]
    pub messages: StoredText,
}

/// The whole request of a call, out of all calls of its execution, oldest first. None when the call is not among them.
pub async fn load_request(
    artifacts: &dyn ArtifactStore,
    scope: Scope,
    calls: &[ModelCall],
    id: ModelCallId,
) -> Result<Option<Vec<Value>>, StoreError> {
    let Some(at) = calls.iter().position(|call| call.id == id) else { return Ok(None) };
    let start = calls[..=at].iter().rposition(|call| call.request.from == 0).unwrap_or(0);
    let mut request: Vec<Value> = Vec::new();
    for call in &calls[start..=at] {
        let text = load_text(artifacts, scope, &call.request.messages).await?;
        let damaged = || StoreError::Corrupt { what: format!("the request of {}", call.id) };
        let added: Vec<Value> = serde_json::from_str(&text).map_err(|_| damaged())?;
        let from = usize::try_from(call.request.from).unwrap_or(usize::MAX);
        if from > request.len() {
            return Err(damaged());
        }
        request.truncate(from);
        request.extend(added);
    }
    Ok(Some(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_before_increments_is_a_whole_request() {
        let read: SentMessages = serde_json::from_str(r#"{"inline":"[]"}"#).unwrap();
        assert_eq!(read, SentMessages { from: 0, messages: StoredText::Inline("[]".to_owned()) });
        let blob = r#"{"from":7,"blob":{"sha256":"ab","byteSize":3}}"#;
        let read: SentMessages = serde_json::from_str(blob).unwrap();
        assert_eq!(read.from, 7);
        assert_eq!(serde_json::to_string(&read).unwrap(), blob);
    }
}

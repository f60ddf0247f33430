//! A cursor: the execution and the sequence of the last event that a client has seen.

use std::str::FromStr;

use data_encoding::BASE64URL_NOPAD;

use crate::ids::ExecutionId;

/// A place in the log of one execution. Opaque to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Whose log.
    pub execution_id: ExecutionId,
    /// Sequence of the last event seen; 0 before the first.
    pub sequence: u64,
}

/// Why a text is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// It was not made by this API.
    #[error("is not a cursor of this API; pass one from an event, or leave it out to start at the beginning")]
    Malformed,
    /// It belongs to another execution.
    #[error("belongs to another execution; pass a cursor of the same execution")]
    Foreign,
    /// It lies beyond the last event.
    #[error("lies beyond the last event of the execution")]
    BeyondHead,
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut bytes = vec![1_u8];
        bytes.extend_from_slice(&self.execution_id.bits().to_be_bytes());
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        f.write_str(&BASE64URL_NOPAD.encode(&bytes))
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| CursorError::Malformed)?;
        let (version, rest) = bytes.split_first().ok_or(CursorError::Malformed)?;
        let (id, sequence) = rest.split_at_checked(16).ok_or(CursorError::Malformed)?;
        match (*version, id.try_into(), sequence.try_into()) {
            (1, Ok(id), Ok(sequence)) => Ok(Self {
                execution_id: ExecutionId::from_bits(u128::from_be_bytes(id)),
                sequence: u64::from_be_bytes(sequence),
            }),
            _ => Err(CursorError::Malformed),
        }
    }
}

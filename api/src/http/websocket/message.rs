//! The messages of `graphql-transport-ws`.

use async_graphql::ServerError;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::close::Close;
use crate::http::envelope::Envelope;
use crate::http::params::Params;

const MAX_ID_BYTES: usize = 128;

/// What a peer says.
#[derive(Debug)]
pub(super) enum ClientMessage {
    /// The first message; it may bring credentials.
    ConnectionInit {
        /// `authorization` of the payload.
        authorization: Option<String>,
    },
    Ping,
    Pong,
    Subscribe {
        id: String,
        params: Params,
    },
    Complete {
        id: String,
    },
}

#[derive(Deserialize)]
struct Raw<'a> {
    r#type: String,
    id: Option<String>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct InitPayload {
    authorization: Option<String>,
}

impl ClientMessage {
    /// Reads a text message. Anything else than a message of the protocol closes the socket.
    pub(super) fn parse(text: &str) -> Result<Self, Close> {
        let raw: Raw<'_> = serde_json::from_str(text).map_err(|_| Close::malformed("Invalid message"))?;
        let payload = raw.payload.map(RawValue::get).filter(|payload| *payload != "null");
        let id = || match &raw.id {
            Some(id) if !id.is_empty() && id.len() <= MAX_ID_BYTES => Ok(id.clone()),
            _ => Err(Close::malformed("The id must be a string of 1 to 128 bytes")),
        };
        match raw.r#type.as_str() {
            "connection_init" => Ok(Self::ConnectionInit { authorization: authorization_of(payload)? }),
            "ping" => Ok(Self::Ping),
            "pong" => Ok(Self::Pong),
            "complete" => Ok(Self::Complete { id: id()? }),
            "subscribe" => {
                let payload = payload.ok_or(Close::malformed("A subscribe message needs a payload"))?;
                let params = Params::from_json(payload.as_bytes())
                    .map_err(|_| Close::malformed("The payload of a subscribe message is invalid"))?;
                Ok(Self::Subscribe { id: id()?, params })
            }
            _ => Err(Close::malformed("Unknown message type")),
        }
    }
}

fn authorization_of(payload: Option<&str>) -> Result<Option<String>, Close> {
    let Some(payload) = payload else { return Ok(None) };
    let invalid = Close::malformed("The payload of connection_init is invalid");
    // A struct can be read from an array as well, which is no payload of the protocol.
    if !payload.starts_with('{') {
        return Err(invalid);
    }
    let payload: InitPayload = serde_json::from_str(payload).map_err(|_| invalid)?;
    Ok(payload.authorization)
}

/// What the server says.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ServerMessage<'a> {
    ConnectionAck,
    Pong,
    Next { id: &'a str, payload: &'a Envelope },
    Error { id: &'a str, payload: &'a [ServerError] },
    Complete { id: &'a str },
}

impl ServerMessage<'_> {
    /// Whether the operation ends with it.
    pub(super) const fn is_last(&self) -> bool {
        matches!(self, Self::Error { .. } | Self::Complete { .. })
    }

    /// The text to send.
    pub(super) fn encode(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

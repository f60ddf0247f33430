//! Subscriptions over WebSocket.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::Result;
use crate::client::Client;

const PATIENCE: Duration = Duration::from_secs(60);
const DOCUMENT: &str = "subscription F($id: ID!, $after: String) { executionEvents(executionId: $id, after: $after) \
    { sequence cursor payload } }";

/// One event as it came over the wire.
#[derive(Debug, Clone)]
pub struct Received {
    /// Its place in the log.
    pub sequence: u64,
    /// The cursor behind it.
    pub cursor: String,
    /// Its payload, byte for byte.
    pub payload: String,
}

/// One subscription on a socket of its own.
pub struct Follower {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

#[derive(Deserialize)]
struct Frame<'a> {
    r#type: String,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Next<'a> {
    #[serde(borrow)]
    data: Option<Data<'a>>,
    #[serde(borrow)]
    errors: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow)]
    execution_events: Event<'a>,
}

#[derive(Deserialize)]
struct Event<'a> {
    sequence: String,
    cursor: String,
    #[serde(borrow)]
    payload: &'a RawValue,
}

impl Follower {
    /// Subscribes to an execution's events behind a cursor.
    pub async fn open(client: &Client, execution: &str, after: Option<&str>) -> Result<Self> {
        let url = format!("{}/graphql", client.url.replacen("http", "ws", 1));
        let mut request = url.into_client_request()?;
        request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
        let (mut socket, _) = tokio_tungstenite::connect_async(request).await?;
        let init =
            json!({ "type": "connection_init", "payload": { "authorization": format!("Bearer {}", client.api_key) } });
        socket.send(Message::text(init.to_string())).await?;
        let variables = json!({ "id": execution, "after": after });
        let subscribe =
            json!({ "id": "1", "type": "subscribe", "payload": { "query": DOCUMENT, "variables": variables } });
        let mut follower = Self { socket };
        while let Some(text) = follower.frame().await? {
            let frame: Frame<'_> = serde_json::from_str(&text)?;
            if frame.r#type == "connection_ack" {
                follower.socket.send(Message::text(subscribe.to_string())).await?;
                return Ok(follower);
            }
        }
        Err("the socket was closed before it was acknowledged".into())
    }

    /// The next event; None when the subscription is complete.
    pub async fn next(&mut self) -> Result<Option<Received>> {
        while let Some(text) = self.frame().await? {
            let frame: Frame<'_> = serde_json::from_str(&text)?;
            match (frame.r#type.as_str(), frame.payload) {
                ("complete", _) => return Ok(None),
                ("ping", _) => self.socket.send(Message::text(r#"{"type":"pong"}"#)).await?,
                ("next", Some(payload)) => return received(payload.get()).map(Some),
                ("error", Some(payload)) => return Err(format!("refused: {}", payload.get()).into()),
                _ => {}
            }
        }
        Err("the socket was closed before the subscription was complete".into())
    }

    /// Events until the last one.
    pub async fn rest(&mut self) -> Result<Vec<Received>> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await? {
            events.push(event);
        }
        Ok(events)
    }

    /// Reads until the server closes the socket; the code of its close frame.
    pub async fn close_code(mut self) -> Result<u16> {
        loop {
            match tokio::time::timeout(PATIENCE, self.socket.next()).await? {
                Some(Ok(Message::Close(Some(frame)))) => return Ok(frame.code.into()),
                Some(Ok(Message::Close(None))) | None => return Err("closed without a code".into()),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
            }
        }
    }

    async fn frame(&mut self) -> Result<Option<String>> {
        loop {
            match tokio::time::timeout(PATIENCE, self.socket.next()).await? {
                Some(Ok(Message::Text(text))) => return Ok(Some(text.as_str().to_owned())),
                Some(Ok(Message::Close(_))) | None => return Ok(None),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
            }
        }
    }
}

fn received(payload: &str) -> Result<Received> {
    let next: Next<'_> = serde_json::from_str(payload)?;
    match (next.data, next.errors) {
        (Some(Data { execution_events: event }), None) => Ok(Received {
            sequence: event.sequence.parse()?,
            cursor: event.cursor,
            payload: event.payload.get().to_owned(),
        }),
        (_, errors) => Err(format!("an event failed: {}", errors.map_or("", RawValue::get)).into()),
    }
}

/// All events of an execution that has ended, or will.
pub async fn whole_log(client: &Client, execution: &str) -> Result<Vec<Received>> {
    Follower::open(client, execution, None).await?.rest().await
}

//! A Peer is a WebSocket client that sends and sees raw messages.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::world::World;

pub struct Peer {
    pub socket: WebSocketStream<TcpStream>,
}

/// What a peer saw.
#[derive(Debug, PartialEq)]
pub enum Seen {
    Message(Value),
    Closed(u16, String),
    /// The connection ended without a close frame.
    Lost,
}

impl Peer {
    /// Connects with extra headers; `sec-websocket-protocol` may be replaced.
    pub async fn try_connect(world: &World, headers: &[(&'static str, &str)]) -> Result<Self, Error> {
        let mut request = format!("ws://{}/graphql", world.address).into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("graphql-transport-ws"));
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
        }
        let tcp = TcpSocket::new_v4().unwrap();
        // A small window, so that a peer that does not read is noticed early.
        tcp.set_recv_buffer_size(4096).unwrap();
        let tcp = tcp.connect(world.address).await.unwrap();
        client_async(request, tcp).await.map(|(socket, _)| Self { socket })
    }

    pub async fn connect(world: &World) -> Self {
        Self::try_connect(world, &[]).await.unwrap()
    }

    /// Connects and says who it is.
    pub async fn ready(world: &World) -> Self {
        Self::ready_as(world, "Bearer valid").await
    }

    pub async fn ready_as(world: &World, authorization: &str) -> Self {
        let mut peer = Self::connect(world).await;
        peer.send(json!({"type": "connection_init", "payload": {"authorization": authorization}})).await;
        assert_eq!(peer.see().await, Seen::Message(json!({"type": "connection_ack"})));
        peer
    }

    pub async fn send(&mut self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    pub async fn send_text(&mut self, text: impl Into<String>) {
        self.socket.send(Message::text(text.into())).await.unwrap();
    }

    pub async fn subscribe(&mut self, id: &str, query: &str) {
        self.send(json!({"id": id, "type": "subscribe", "payload": {"query": query}})).await;
    }

    pub async fn complete(&mut self, id: &str) {
        self.send(json!({"id": id, "type": "complete"})).await;
    }

    /// The next message or the end; pings are answered on the way.
    pub async fn see(&mut self) -> Seen {
        let next = async {
            loop {
                match self.socket.next().await {
                    Some(Ok(Message::Text(text))) => {
                        return Seen::Message(serde_json::from_str(&text).unwrap());
                    }
                    Some(Ok(Message::Close(Some(frame)))) => {
                        // Reading on sends the answer that the server waits for.
                        while let Some(Ok(_)) = self.socket.next().await {}
                        return Seen::Closed(frame.code.into(), frame.reason.to_string());
                    }
                    Some(Ok(Message::Close(None)) | Err(_)) | None => return Seen::Lost,
                    Some(Ok(_)) => {}
                }
            }
        };
        timeout(Duration::from_secs(10), next).await.expect("something to see")
    }

    /// The next message.
    pub async fn message(&mut self) -> Value {
        match self.see().await {
            Seen::Message(message) => message,
            other => panic!("expected a message, saw {other:?}"),
        }
    }

    /// The close code and reason, after any messages.
    pub async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.see().await {
                Seen::Message(_) => {}
                Seen::Closed(code, reason) => return (code, reason),
                Seen::Lost => panic!("the connection was lost without a close frame"),
            }
        }
    }

    /// Ends the connection with a reset, as a crashed client does.
    pub fn reset(self) {
        let tcp = self.socket.into_inner();
        tcp.set_zero_linger().unwrap();
    }
}

//! The GraphQL transport: how a request reaches the schema over HTTP and over WebSocket, and how the answer leaves.
//!
//! The rule: every document passes the [`gate`] before the schema sees it, every caller is attached by the same
//! function on both transports, and no error leaves without a code and a request id. The transport knows no type of
//! the schema and no rule about access: it takes a [`Engine`] and an [`Authenticator`] and asks them.

mod caller;
mod engine;
mod envelope;
mod fault;
pub mod gate;
mod gauge;
mod graphql_http;
mod host;
mod negotiation;
mod operation;
mod params;
mod request_id;
mod transport;
mod websocket;

pub use caller::{AuthError, Authenticator, Caller, Credentials};
pub use engine::Engine;
pub use fault::{Code, Fault};
pub use gauge::Gauge;
pub use host::{HostPolicy, protect};
pub use request_id::RequestId;
pub use transport::{HttpLimits, Settings, Transport, router};
pub use websocket::SocketLimits;

//! Plain HTTP: one request goes to the origin, its response comes back, and both connections end.
//!
//! A redirect is passed back as it is. Whoever follows it makes a new request, which is judged anew.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::chunked;
use super::meter::{Pulse, Traffic, copy, copy_exactly};
use super::request::Body;
use super::tunnel::Client;

pub async fn run(
    client: &mut Client<'_>,
    origin: &mut TcpStream,
    head: &str,
    body: Body,
    traffic: &Traffic,
    pulse: &Pulse,
) -> io::Result<()> {
    let (mut from_origin, mut to_origin) = origin.split();
    let up = async {
        to_origin.write_all(head.as_bytes()).await?;
        match body {
            Body::Length(length) => {
                copy_exactly(&mut client.reader, &mut to_origin, length, &traffic.sent, pulse).await?;
            }
            Body::Chunked => chunked::copy(&mut client.reader, &mut to_origin, &traffic.sent, pulse).await?,
        }
        // Whatever the client sends after its request stays here: the exchange ends with the response.
        std::future::pending::<io::Result<()>>().await
    };
    let down = copy(&mut from_origin, &mut client.writer, &traffic.received, pulse);
    tokio::select! {
        failed = up => failed,
        done = down => done,
    }
}

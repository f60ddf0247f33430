//! Takes connections and serves them until the process stops.
//!
//! A client has a time within which the head of a request must be there: connections that are opened and left would
//! else hold descriptors for ever.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// From the first moment of a connection, and from the end of a request, to the whole head of the next.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// After an error of the listener, which is almost always a want of descriptors.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(200);

/// Serves until `stop`, and then until the requests under way are answered.
pub async fn serve(listener: TcpListener, router: Router, stop: &CancellationToken) {
    serve_with(listener, router, stop, HEAD_TIMEOUT).await;
}

async fn serve_with(listener: TcpListener, router: Router, stop: &CancellationToken, head_timeout: Duration) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head_timeout);
    let connections = TaskTracker::new();
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a connection was not taken");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                continue;
            }
        };
        send_at_once(&stream);
        connections.spawn(serve_connection(builder.clone(), stream, router.clone(), stop.clone()));
    }
    connections.close();
    connections.wait().await;
}

async fn serve_connection(builder: http1::Builder, stream: TcpStream, router: Router, stop: CancellationToken) {
    let service = TowerToHyperService::new(router);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let ended = match stop.run_until_cancelled(connection.as_mut()).await {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = &error as &dyn std::error::Error, "a connection ended");
    }
}

/// Small frames must not wait for the acknowledgement of the one before.
fn send_at_once(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(error = &error as &dyn std::error::Error, "no-delay was not set");
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn start(head_timeout: Duration) -> (std::net::SocketAddr, CancellationToken, TaskTracker) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let router = Router::new().route("/", get(async || "hello"));
        let stopped = stop.clone();
        tasks.spawn(async move { serve_with(listener, router, &stopped, head_timeout).await });
        tasks.close();
        (address, stop, tasks)
    }

    #[tokio::test]
    async fn half_a_head_is_not_waited_for_and_a_whole_one_is_answered() {
        let (address, stop, tasks) = start(Duration::from_millis(50)).await;
        let mut half = TcpStream::connect(address).await.unwrap();
        half.write_all(b"GET / HTTP/1.1\r\nhost: x").await.unwrap();
        let mut answer = Vec::new();
        half.read_to_end(&mut answer).await.unwrap();
        assert!(!String::from_utf8_lossy(&answer).contains("hello"));

        let mut whole = TcpStream::connect(address).await.unwrap();
        whole.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        answer.clear();
        whole.read_to_end(&mut answer).await.unwrap();
        assert!(String::from_utf8_lossy(&answer).ends_with("hello"));
        stop.cancel();
        tasks.wait().await;
    }
}

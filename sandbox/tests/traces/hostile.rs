//! A server that puts every secret it knows into what it answers, in one way for each mode.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub const KEY: &str = "k3y-of-the-connection";
pub const TOKEN: &str = "t0ken-of-the-endpoint";
pub const ACCESS: &str = "acc3ss-of-the-sandbox";
pub const CREDENTIAL: &str = "cr3dential-of-a-user";

pub const MODES: usize = 18;
/// Behaves until a file comes, and gives that back in its error.
pub const ECHO: usize = MODES;

pub struct Hostile {
    pub url: String,
    world: Arc<World>,
    stop: CancellationToken,
}

struct World {
    mode: usize,
    address: String,
    uploads: AtomicUsize,
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Hostile {
    pub async fn start(mode: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let world = Arc::new(World { mode, address: address.clone(), uploads: AtomicUsize::new(0) });
        let app = Router::new().fallback(answer).with_state(world.clone());
        let stop = CancellationToken::new();
        let serve = async move { axum::serve(listener, app).await };
        TaskTracker::new().spawn(stop.clone().run_until_cancelled_owned(serve));
        Self { url: format!("http://{address}"), world, stop }
    }

    pub fn uploads(&self) -> usize {
        self.world.uploads.load(Ordering::SeqCst)
    }
}

fn all() -> String {
    format!("key={KEY} token={TOKEN} access={ACCESS}")
}

async fn answer(State(world): State<Arc<World>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let body = to_bytes(request.into_body(), usize::MAX).await.unwrap_or_default();
    let is_upload = path.ends_with("/files/upload");
    world.uploads.fetch_add(usize::from(is_upload), Ordering::SeqCst);
    match (world.mode, path.as_str()) {
        (10, "/version") => return plain(200, &json!({ "version": KEY }).to_string()),
        (_, "/version") => return plain(200, r#"{"version":"1.1.1"}"#),
        (11..MODES, _) if path.contains("/endpoints/") => {}
        (_, _) if path.contains("/endpoints/") => return plain(200, &endpoint(&world, &path).to_string()),
        (ECHO, _) if is_upload => return plain(500, &String::from_utf8_lossy(&body)),
        (ECHO, _) if path.ends_with("/command") => {
            let printed = json!({ "type": "stdout", "text": "/dev/shm/.vitrine\n", "timestamp": 1 });
            let end = json!({ "type": "execution_complete", "timestamp": 1 });
            return plain(200, &format!("{printed}\n\n{end}\n\n"));
        }
        _ => {}
    }
    tell(&world, &path)
}

/// An endpoint as it should be.
fn endpoint(world: &World, path: &str) -> Value {
    let port = path.rsplit('/').next().unwrap_or_default();
    let headers = json!({
        "X-EXECD-ACCESS-TOKEN": TOKEN, "OpenSandbox-Secure-Access": ACCESS, "OPENSANDBOX-EGRESS-AUTH": TOKEN,
    });
    json!({ "endpoint": format!("{}/proxy/{port}", world.address), "headers": headers })
}

fn tell(world: &World, path: &str) -> Response {
    let (all, address) = (all(), &world.address);
    let is_endpoint = path.contains("/endpoints/");
    let headed = |name: &str, value: &str, status: u16, body: &str| {
        Response::builder().status(status).header(name, value).body(Body::from(body.to_owned())).unwrap()
    };
    let endpoint =
        |endpoint: String, headers: Value| plain(200, &json!({ "endpoint": endpoint, "headers": headers }).to_string());
    match world.mode {
        0 => plain(401, &json!({ "code": KEY, "message": all }).to_string()),
        1 => plain(422, &json!({ "detail": [{ "loc": ["body", TOKEN], "msg": all, "input": ACCESS }] }).to_string()),
        2 => headed("x-request-id", &all, 500, &all),
        3 => headed("location", &format!("http://{address}/?{KEY}&{TOKEN}&{ACCESS}"), 302, &all),
        4 => headed("content-type", &all, 200, &all),
        5 => plain(200, &json!({ "id": all, "status": { "state": all }, "items": all, "error": all }).to_string()),
        6 => plain(200, &format!("{}\n\n", json!({ "type": "init", "text": all, "timestamp": 1 }))),
        7 => {
            let error = json!({ "ename": KEY, "evalue": all, "traceback": [TOKEN, ACCESS] });
            plain(200, &format!("{}\n\n", json!({ "type": "error", "error": error, "timestamp": 1 })))
        }
        8 => plain(404, &json!({ "error": all }).to_string()),
        9 => plain(200, &format!("data: {}\n\n", json!({ "code": KEY, "message": all }))),
        11 if is_endpoint => endpoint(format!("{KEY}:{TOKEN}@{address}"), json!({ TOKEN: ACCESS })),
        12 if is_endpoint => endpoint(format!("{address}/?{KEY}&{TOKEN}"), Value::Null),
        13 if is_endpoint => endpoint(format!("{KEY}.example"), json!({ KEY: TOKEN })),
        14 if is_endpoint => endpoint(address.clone(), json!({ format!("X-{KEY}\r\n"): format!("{TOKEN}\r\n") })),
        15 if is_endpoint => endpoint(address.clone(), json!({ "X-EXECD-ACCESS-TOKEN": KEY })),
        16 if is_endpoint => endpoint(format!("ftp://{TOKEN}/{KEY}"), json!(all)),
        17 if is_endpoint => plain(200, &json!({ "endpoint": { "key": all }, "headers": all }).to_string()),
        ECHO => plain(
            200,
            &json!({ "id": "sb1", "status": { "state": "Running" }, "createdAt": "2026-01-01T00:00:00Z" }).to_string(),
        ),
        _ => plain(500, KEY),
    }
}

fn plain(status: u16, body: &str) -> Response {
    Response::builder().status(status).body(Body::from(body.to_owned())).unwrap()
}

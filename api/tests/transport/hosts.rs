//! Which names the server answers to, and whose pages it serves.

use super::peer::Peer;
use super::world::World;

#[tokio::test]
async fn answers_only_to_its_own_names() {
    let world = World::start().await;
    let port = world.address.port();
    let status =
        async |host: &str| world.send(world.post().header("host", host).body(r#"{"query":"{ who }"}"#)).await.status;
    for host in [format!("127.0.0.1:{port}"), format!("LOCALHOST:{port}"), format!("[::1]:{port}")] {
        assert_eq!(status(&host).await, 200, "{host}");
    }
    let strangers =
        ["evil.example".to_owned(), format!("evil.example:{port}"), "127.0.0.1".into(), "localhost:1".into()];
    for host in strangers {
        assert_eq!(status(&host).await, 421, "{host}");
    }
}

#[tokio::test]
async fn refuses_pages_from_elsewhere() {
    let world = World::start().await;
    let own = format!("http://{}", world.address);
    let status = async |origin: &str| {
        let body = r#"{"query":"mutation { increment }"}"#;
        world.send(world.post().header("origin", origin).body(body)).await.status
    };
    assert_eq!(status(&own).await, 200);
    assert_eq!(status("https://studio.example").await, 200);
    for origin in ["https://evil.example", "null", "http://localhost", "https://studio.example.evil.example"] {
        assert_eq!(status(origin).await, 403, "{origin}");
    }
    assert_eq!(world.mutated(), 2);
}

#[tokio::test]
async fn refuses_sockets_from_pages_elsewhere() {
    let world = World::start().await;
    let cookie = ("cookie", "vitrine_session=session");
    let refused = Peer::try_connect(&world, &[cookie, ("origin", "https://evil.example")]).await;
    let Err(tokio_tungstenite::tungstenite::Error::Http(response)) = refused else {
        panic!("the upgrade went through")
    };
    assert_eq!(response.status().as_u16(), 403);
    Peer::try_connect(&world, &[cookie, ("origin", "https://studio.example")]).await.unwrap();
}

//! The life of a socket: who it belongs to, and what ends it.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::peer::{Peer, Seen};
use super::world::{World, until};

const ENDLESS: &str = "subscription { ticks(everyMs: 20) { seq } }";

async fn who(peer: &mut Peer) -> Value {
    peer.subscribe("who", "subscription { whoami }").await;
    let name = peer.message().await["payload"]["data"]["whoami"].clone();
    assert_eq!(peer.message().await["type"], "complete");
    peer.subscribe("who", "{ who }").await;
    assert_eq!(peer.message().await["payload"]["data"]["who"], name, "a query sees the same caller");
    name
}

#[tokio::test]
async fn attaches_the_caller_of_the_connection_params_or_the_cookie() {
    let world = World::start().await;
    for authorization in ["Bearer valid", "bearer valid", "valid"] {
        assert_eq!(who(&mut Peer::ready_as(&world, authorization).await).await, "ada", "{authorization}");
    }
    let mut peer = Peer::connect(&world).await;
    peer.send(json!({"type": "connection_init", "payload": null})).await;
    peer.message().await;
    assert_eq!(who(&mut peer).await, "nobody");

    let mut peer = Peer::try_connect(&world, &[("cookie", "vitrine_session=session")]).await.unwrap();
    peer.send(json!({"type": "connection_init", "payload": {}})).await;
    peer.message().await;
    assert_eq!(who(&mut peer).await, "cookie");
}

#[tokio::test]
async fn refuses_bad_credentials_so_that_the_client_asks_again() {
    let world = World::start_with(|settings| settings.socket.init_time = Duration::from_millis(200)).await;
    let cases = [
        ("wrong", 4403, "The token is not valid."),
        ("down", 1013, "Credentials cannot be checked, try again later"),
        ("stuck", 4408, "Connection initialisation timeout"),
    ];
    for (token, code, reason) in cases {
        let mut peer = Peer::connect(&world).await;
        peer.send(json!({"type": "connection_init", "payload": {"authorization": token}})).await;
        assert_eq!(peer.see().await, Seen::Closed(code, reason.into()), "{token}");
    }
    world.settled().await;
}

#[tokio::test]
async fn introspection_over_a_socket_is_for_known_callers() {
    let world = World::start().await;
    let mut peer = Peer::connect(&world).await;
    peer.send(json!({"type": "connection_init"})).await;
    peer.message().await;
    peer.subscribe("1", "{ __schema { queryType { name } } }").await;
    assert_eq!(peer.message().await["payload"][0]["extensions"]["code"], "UNAUTHENTICATED");
    let mut peer = Peer::ready(&world).await;
    peer.subscribe("1", "{ __schema { queryType { name } } }").await;
    assert_eq!(peer.message().await["payload"]["data"]["__schema"]["queryType"]["name"], "Query");
}

#[tokio::test]
async fn closes_when_the_token_expires_or_is_revoked() {
    let world = World::start().await;
    let mut peer = Peer::ready_as(&world, "short").await;
    peer.subscribe("1", ENDLESS).await;
    assert_eq!(peer.message().await["type"], "next");
    assert_eq!(peer.closed().await, (4403, "Token expired".into()));

    let mut peer = Peer::ready_as(&world, "revocable").await;
    peer.subscribe("1", ENDLESS).await;
    assert_eq!(peer.message().await["type"], "next");
    world.revoked.cancel();
    assert_eq!(peer.closed().await, (4403, "Token revoked".into()));
    world.settled().await;
}

#[tokio::test]
async fn a_drain_closes_every_socket_and_leaves_no_task() {
    let world = World::start().await;
    let mut peers = Vec::new();
    for _ in 0..5 {
        let mut peer = Peer::ready(&world).await;
        peer.subscribe("1", ENDLESS).await;
        peer.message().await;
        peers.push(peer);
    }
    assert_eq!((world.transport.sockets.count(), world.transport.socket_operations.count()), (5, 5));
    world.drain.cancel();
    for peer in &mut peers {
        assert_eq!(peer.closed().await, (1012, "Server is going away, reconnect".into()));
    }
    world.tasks.close();
    timeout(Duration::from_secs(10), world.tasks.wait()).await.expect("no task is left");
    assert!(Peer::try_connect(&world, &[]).await.is_err(), "no new socket is taken");
    world.settled().await;
}

#[tokio::test]
async fn an_abrupt_end_leaves_nothing() {
    let world = World::start().await;
    for round in 0..200 {
        let mut peer = Peer::ready(&world).await;
        peer.subscribe("1", ENDLESS).await;
        peer.subscribe("2", "subscription { flood { seq } }").await;
        peer.subscribe("3", "{ never }").await;
        if round % 2 == 0 {
            peer.message().await;
        }
        peer.reset();
    }
    world.settled().await;
    until("no task is left", || world.tasks.is_empty()).await;
}

#[tokio::test]
async fn a_polite_end_leaves_nothing() {
    let world = World::start().await;
    let mut peer = Peer::ready(&world).await;
    peer.subscribe("1", ENDLESS).await;
    peer.message().await;
    peer.socket.close(None).await.unwrap();
    while let Some(Ok(_)) = peer.socket.next().await {}
    world.settled().await;
}

#[tokio::test]
async fn a_mutation_goes_on_when_its_socket_is_cut() {
    let world = World::start().await;
    let mut peer = Peer::ready(&world).await;
    peer.subscribe("1", "mutation { incrementWhenOpen }").await;
    world.counters.gate.entered.acquire().await.unwrap().forget();
    peer.reset();
    world.settled().await;
    world.counters.gate.open.add_permits(1);
    until("the mutation is done", || world.mutated() == 1).await;
}

#[tokio::test]
async fn pings_and_closes_a_peer_that_shows_no_life() {
    let world = World::start_with(|settings| settings.socket.ping_every = Duration::from_millis(50)).await;
    let mut alive = Peer::ready(&world).await;
    alive.subscribe("1", ENDLESS).await;
    let mut silent = Peer::ready(&world).await;
    silent.subscribe("1", "subscription { ticks(everyMs: 3600000) { seq } }").await;
    until("both run", || world.transport.socket_operations.count() == 2).await;
    // The reading peer answers pings on the way; the other one does not even look.
    let listening = async {
        loop {
            assert_eq!(alive.message().await["type"], "next");
        }
    };
    tokio::select! {
        () = listening => {}
        () = until("the silent one is given up", || world.transport.socket_operations.count() == 1) => {}
    }
    assert_eq!(silent.closed().await, (3008, "No answer to pings".into()));
    assert_eq!(alive.message().await["type"], "next");
}

//! Peers that ask for too much or read too slowly.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;

use super::peer::{Peer, Seen};
use super::world::{World, until};

/// Waits until the flood has filled the queue and the buffers of the kernel, and stands still.
async fn flood_waits(world: &World) {
    let (seen, looks) = (Cell::new(0), Cell::new(0));
    until("the flood stands still", || {
        let produced = world.counters.produced.load(Ordering::SeqCst);
        let is_same = produced > 0 && seen.replace(produced) == produced;
        looks.set(if is_same { looks.get() + 1 } else { 0 });
        looks.get() == 40
    })
    .await;
}

#[tokio::test]
async fn an_ever_ready_stream_does_not_starve_its_neighbour() {
    let world = World::start().await;
    let mut peer = Peer::ready(&world).await;
    peer.subscribe("flood", "subscription { flood { seq } }").await;
    peer.subscribe("ticks", "subscription { ticks(everyMs: 20) { seq } }").await;
    let (mut ticks, mut floods) = (0, 0);
    while ticks < 5 {
        match peer.message().await["id"].as_str() {
            Some("ticks") => ticks += 1,
            _ => floods += 1,
        }
    }
    assert!(floods > ticks, "the flood ran meanwhile: {floods}");
    peer.complete("flood").await;
    until("only the ticks are left", || world.transport.socket_operations.count() == 1).await;
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_closed_and_disturbs_nobody() {
    let world = World::start_with(|settings| settings.socket.stall_time = Duration::from_millis(300)).await;
    let mut stalled = Peer::ready(&world).await;
    let mut other = Peer::ready(&world).await;
    stalled.subscribe("1", "subscription { flood { seq payload } }").await;
    other.subscribe("1", "subscription { ticks(everyMs: 10) { seq } }").await;
    let listening = async {
        loop {
            assert_eq!(other.message().await["type"], "next");
        }
    };
    tokio::select! {
        () = listening => {}
        () = until("the stalled one is given up", || world.transport.socket_operations.count() == 1) => {}
    }
    // What was produced fits into the queue and the buffers of the kernel: the flood waited for room.
    let produced = world.counters.produced.load(Ordering::SeqCst);
    assert!(produced < 20_000, "{produced} events of 1 KiB");
    assert_eq!(stalled.closed().await.0, 1013);
    assert_eq!(other.message().await["type"], "next");
}

#[tokio::test]
async fn a_decision_to_close_does_not_wait_for_a_stalled_peer() {
    let world = World::start_with(|settings| settings.socket.close_time = Duration::from_millis(100)).await;
    let mut peer = Peer::ready(&world).await;
    peer.subscribe("1", "subscription { flood { seq payload } }").await;
    flood_waits(&world).await;
    world.drain.cancel();
    world.settled().await;
}

#[tokio::test]
async fn a_peer_that_sends_pings_and_reads_nothing_is_bounded() {
    let world = World::start_with(|settings| settings.socket.stall_time = Duration::from_millis(300)).await;
    let mut peer = Peer::ready(&world).await;
    peer.subscribe("1", "subscription { flood { seq payload } }").await;
    let pinging = async {
        loop {
            let ping = tokio_tungstenite::tungstenite::Message::text(r#"{"type":"ping"}"#);
            if futures_util::SinkExt::send(&mut peer.socket, ping).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = pinging => {}
        () = until("it is given up", || world.transport.socket_operations.count() == 0) => {}
    }
}

#[tokio::test]
async fn a_socket_has_so_many_operations() {
    let world = World::start().await;
    let mut peer = Peer::ready(&world).await;
    for id in 0..100 {
        peer.subscribe(&id.to_string(), "subscription { ticks(everyMs: 3600000) { seq } }").await;
    }
    peer.subscribe("one more", "{ who }").await;
    let refusal = peer.message().await;
    assert_eq!((&refusal["id"], &refusal["type"]), (&json!("one more"), &json!("error")));
    assert_eq!(refusal["payload"][0]["extensions"]["code"], "RATE_LIMITED");
    peer.complete("7").await;
    peer.subscribe("one more", "{ who }").await;
    assert_eq!(peer.message().await["payload"]["data"]["who"], "ada");
    until("they run", || world.transport.socket_operations.count() == 99).await;
}

#[tokio::test]
async fn messages_have_a_size() {
    let world = World::start().await;
    for bytes in [256 * 1024, 600 * 1024] {
        let mut peer = Peer::ready(&world).await;
        let query = format!("{{ who }} #{}", "x".repeat(bytes));
        peer.subscribe("1", &query).await;
        assert_eq!(peer.see().await, Seen::Closed(1009, "Message too big".into()), "{bytes}");
    }
    world.settled().await;
}

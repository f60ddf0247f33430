//! `executionUpdates`: a snapshot, then changes, paced, and only what the caller may see.

use std::time::Duration;

use async_graphql::Response;
use domain::event::Event;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::world::World;

const DOCUMENT: &str = "subscription($filter: ExecutionFilter) { executionUpdates(filter: $filter) {
    id status lastSequence currentIteration budget { cost { spent { amount } } } agent { slug }
} }";

async fn next(stream: &mut BoxStream<'static, Response>) -> Value {
    let response = timeout(Duration::from_secs(10), stream.next()).await.unwrap().unwrap();
    let response = serde_json::to_value(response).unwrap();
    assert!(response.get("errors").is_none(), "{response}");
    response["data"]["executionUpdates"].clone()
}

fn iteration(iteration: u32) -> Event {
    Event::IterationStarted { iteration }
}

#[tokio::test]
async fn sends_a_snapshot_then_changes_and_new_ones() {
    let world = World::new().await;
    let things = world.things().await;
    let mut stream = world.subscribe(Some(world.owner), DOCUMENT, json!({}));
    let first = next(&mut stream).await;
    assert_eq!((&first["id"], &first["status"]), (&json!(things.execution), &json!("QUEUED")));
    assert_eq!(first["agent"]["slug"], "auditor");
    let second = world.start(&things.agent, "second").await;
    assert_eq!(next(&mut stream).await["id"], json!(second));
    let mut worker = world.claim(&things.execution).await;
    worker.write(vec![iteration(1)]).await;
    let changed = next(&mut stream).await;
    assert_eq!((&changed["id"], &changed["status"]), (&json!(things.execution), &json!("RUNNING")));
    worker.finish().await;
    assert_eq!(next(&mut stream).await["status"], "SUCCEEDED");
}

#[tokio::test]
async fn sends_at_most_five_a_second_and_the_last_value_wins() {
    let world = World::new().await;
    let id = world.things().await.execution;
    let mut stream = world.subscribe(Some(world.owner), DOCUMENT, json!({}));
    next(&mut stream).await;
    let began = Instant::now();
    let mut worker = world.claim(&id).await;
    for number in 0..40 {
        worker.write(vec![iteration(number)]).await;
    }
    worker.finish().await;
    let mut updates = 0_u32;
    loop {
        let update = next(&mut stream).await;
        updates += 1;
        if update["status"] == "SUCCEEDED" {
            assert_eq!(update["lastSequence"], "42");
            break;
        }
    }
    let intervals = began.elapsed().as_millis() / 200;
    assert!(u128::from(updates) <= intervals + 1, "{updates} updates in {intervals} fifths of a second");
}

#[tokio::test]
async fn sends_what_no_longer_matches_once_more_so_that_a_list_can_drop_it() {
    let world = World::new().await;
    let id = world.things().await.execution;
    let mut stream = world.subscribe(Some(world.owner), DOCUMENT, json!({"filter": {"status": ["QUEUED", "RUNNING"]}}));
    assert_eq!(next(&mut stream).await["status"], "QUEUED");
    world.claim(&id).await.finish().await;
    assert_eq!(next(&mut stream).await["status"], "SUCCEEDED");
}

#[tokio::test]
async fn sends_a_stranger_nothing() {
    let world = World::new().await;
    let things = world.things().await;
    let mut stream = world.subscribe(Some(world.stranger), DOCUMENT, json!({}));
    let mut own = world.subscribe(Some(world.owner), DOCUMENT, json!({}));
    next(&mut own).await;
    // Polled before the change, so that it listens.
    assert!(timeout(Duration::from_millis(50), stream.next()).await.is_err());
    world.claim(&things.execution).await.finish().await;
    assert_eq!(next(&mut own).await["status"], "SUCCEEDED");
    assert!(timeout(Duration::from_millis(700), stream.next()).await.is_err());
}

//! What servers are compared with: the connections that were used, and the sandboxes that are recorded as gone.

use std::time::Duration;

use domain::clock::Timestamp;
use domain::execution::Change;
use domain::sandbox::SandboxRecords as _;
use domain::testing::Samples;

use crate::world::World;

const BEGIN: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

async fn what_is_recorded_as_gone_is_told_and_nothing_else(world: World) {
    let samples = Samples::new(1);
    let home = samples.home(&world.ports).await;
    let execution = samples.start(&world.ports, &home, BEGIN).await;
    world.ports.executions.claim(execution, "w", Duration::from_secs(600)).await.unwrap().unwrap();
    let fence = world.ports.executions.fence(execution).await.unwrap().unwrap();
    let (ours, foreign) = (samples.sandbox(1, BEGIN), samples.sandbox_id());
    let change = Change::SaveSandbox(Box::new(ours.clone()));
    world.ports.executions.commit(&samples.commit(fence, 1, vec![change])).await.unwrap();

    let used = world.store.connections_used(BEGIN).await.unwrap();
    assert_eq!(used, [(home.scope(), ours.connection_version)]);
    let later = BEGIN.plus(Duration::from_micros(1));
    assert_eq!(world.store.connections_used(later).await.unwrap(), []);
    let there = [ours.id, foreign];
    assert_eq!(world.store.gone_among(&there).await.unwrap(), []);
    world.ports.executions.sandbox_gone(execution, ours.id).await.unwrap();
    assert_eq!(world.store.gone_among(&there).await.unwrap(), [ours.id]);
    assert_eq!(world.store.gone_among(&[]).await.unwrap(), []);
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_recorded_as_gone_is_told_on_sqlite() {
    what_is_recorded_as_gone_is_told_and_nothing_else(World::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_recorded_as_gone_is_told_on_mariadb() {
    what_is_recorded_as_gone_is_told_and_nothing_else(World::mariadb().await).await;
}

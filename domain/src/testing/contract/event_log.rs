//! The event log.

use std::time::Duration;

use bytes::Bytes;

use crate::ctx::Scope;
use crate::event::Segment;
use crate::execution::{Commit, ExecutionRef, Fence};
use crate::testing::samples::LAST_MOMENT_OF_A_DAY as AT;
use crate::testing::{Home, Ports, Samples};

async fn claimed(ports: &Ports, samples: &Samples) -> (Home, Fence) {
    let home = samples.home(ports).await;
    let execution = samples.start(ports, &home, AT).await;
    ports.executions.claim(execution, "w", Duration::from_secs(600)).await.unwrap().unwrap();
    (home, ports.executions.fence(execution).await.unwrap().unwrap())
}

/// From wherever a reader goes on, it gets every event behind, once and in order, whatever the size of a read.
pub async fn a_reader_misses_nothing_and_repeats_nothing(ports: &Ports) {
    let samples = Samples::new(1);
    let (home, mut fence) = claimed(ports, &samples).await;
    for count in [1, 5, 2, 9, 1, 30] {
        ports.executions.commit(&samples.commit(fence, count, Vec::new())).await.unwrap();
        fence.next_sequence += count;
    }
    let head = ports.log.head(home.scope(), fence.execution).await.unwrap().unwrap();
    assert_eq!(head, fence.next_sequence - 1);
    for after in 0..=head + 1 {
        for max_bytes in [0, 1, 500, 100_000] {
            let mut seen = Vec::new();
            let mut last = after;
            loop {
                let segments = ports.log.read(fence.execution, last, max_bytes).await.unwrap();
                let Some(end) = segments.last() else { break };
                for segment in &segments {
                    seen.extend(segment.lines_after(last).map(|(sequence, _)| sequence));
                }
                last = end.last_sequence;
            }
            assert_eq!(seen, (after + 1..=head).collect::<Vec<_>>(), "after {after}, {max_bytes} bytes");
        }
    }
}

/// A read stops at about the bytes it may have, and gives at least one segment.
pub async fn a_read_is_bounded(ports: &Ports) {
    let samples = Samples::new(1);
    let (_, mut fence) = claimed(ports, &samples).await;
    for _ in 0..10 {
        let segment = samples.segment(fence.next_sequence, 1, &"x".repeat(1000));
        ports
            .executions
            .commit(&Commit { segment: Some(segment), ..samples.commit(fence, 0, Vec::new()) })
            .await
            .unwrap();
        fence.next_sequence += 1;
    }
    assert_eq!(ports.log.read(fence.execution, 1, 1).await.unwrap().len(), 1);
    let some = ports.log.read(fence.execution, 1, 3000).await.unwrap();
    assert!((2..=4).contains(&some.len()), "{}", some.len());
    assert_eq!(ports.log.read(fence.execution, 1, usize::MAX).await.unwrap().len(), 10);
}

/// F72: bytes come back equal, also behind the 64 KiB at which a MySQL TEXT ends.
pub async fn long_segments_come_back_equal(ports: &Ports) {
    let samples = Samples::new(1);
    let (_, mut fence) = claimed(ports, &samples).await;
    let every_byte: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let texts = ["é".repeat(35_000).into_bytes(), "\u{1F980}".repeat(1 << 18).into_bytes(), every_byte];
    for bytes in texts {
        let first_sequence = fence.next_sequence;
        let segment = Segment { first_sequence, last_sequence: first_sequence, bytes: Bytes::from(bytes) };
        let commit = Commit { segment: Some(segment.clone()), ..samples.commit(fence, 0, Vec::new()) };
        ports.executions.commit(&commit).await.unwrap();
        let read = ports.log.read(fence.execution, first_sequence - 1, 1).await.unwrap();
        assert!(read == [segment], "segment {first_sequence} differs");
        fence.next_sequence += 1;
    }
}

/// Another tenant sees no log.
pub async fn a_foreign_tenant_sees_no_log(ports: &Ports) {
    let samples = Samples::new(1);
    let (home, fence) = claimed(ports, &samples).await;
    let stranger = samples.home(ports).await;
    let foreign = ExecutionRef { tenant_id: stranger.tenant.id, id: fence.execution.id };
    assert_eq!(ports.log.read(foreign, 0, 1000).await.unwrap(), []);
    assert_eq!(ports.log.head(stranger.scope(), foreign).await.unwrap(), None);
    assert_eq!(ports.log.head(stranger.scope(), fence.execution).await.unwrap(), None);
    assert_eq!(ports.log.head(home.scope(), foreign).await.unwrap(), None);
    let unknown = Scope { tenant_id: samples.tenant_id() };
    assert_eq!(ports.log.head(unknown, fence.execution).await.unwrap(), None);
}

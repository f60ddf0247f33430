//! The quota of sandboxes, and the credentials that were in them.

use std::time::Duration;

use futures_util::future::join_all;

use crate::error::StoreError;
use crate::execution::{Change, Fence};
use crate::sandbox::{GRACE, IssuedCredential, LONGEST_TTL, RevokedBecause, Sandbox, SandboxState};
use crate::testing::samples::LAST_MOMENT_OF_A_DAY as AT;
use crate::testing::{Home, Ports, Samples};

const LONG: Duration = Duration::from_secs(600);

async fn claimed(ports: &Ports, samples: &Samples, home: &Home) -> Fence {
    let execution = samples.start(ports, home, AT).await;
    ports.executions.claim(execution, "w", LONG).await.unwrap().unwrap();
    ports.executions.fence(execution).await.unwrap().unwrap()
}

fn intent(samples: &Samples) -> Sandbox {
    Sandbox { state: SandboxState::Intent, ..samples.sandbox(1, AT) }
}

async fn open(
    ports: &Ports,
    samples: &Samples,
    fence: &mut Fence,
    sandbox: &Sandbox,
    quota: u32,
) -> Result<(), StoreError> {
    let change = Change::OpenSandbox { sandbox: Box::new(sandbox.clone()), quota };
    write(ports, samples, fence, change).await
}

async fn write(ports: &Ports, samples: &Samples, fence: &mut Fence, change: Change) -> Result<(), StoreError> {
    ports.executions.commit(&samples.commit(*fence, 1, vec![change])).await?;
    fence.next_sequence += 1;
    Ok(())
}

fn assert_full(outcome: &Result<(), StoreError>) {
    assert!(matches!(outcome, Err(StoreError::QuotaReached)), "{outcome:?}");
}

/// Counted are those of the tenant that were not seen to be gone, over all its executions; a refusal writes nothing.
pub async fn a_tenant_has_as_many_sandboxes_as_it_may(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let other = samples.home(ports).await;
    let mut first = claimed(ports, &samples, &home).await;
    let mut second = claimed(ports, &samples, &home).await;
    let mut foreign = claimed(ports, &samples, &other).await;
    let (one, two, three) = (intent(&samples), intent(&samples), intent(&samples));
    open(ports, &samples, &mut first, &one, 1).await.unwrap();
    // Said twice, as after a lost answer, it is the same one.
    open(ports, &samples, &mut first, &one, 1).await.unwrap();
    assert_full(&open(ports, &samples, &mut second, &two, 1).await);
    assert_eq!(ports.reader.sandbox(home.scope(), two.id).await.unwrap(), None);
    assert_eq!(ports.executions.fence(second.execution).await.unwrap(), Some(second));
    open(ports, &samples, &mut foreign, &three, 1).await.unwrap();
    for state in [SandboxState::Live, SandboxState::KillPending] {
        let row = Sandbox { state, ..one.clone() };
        write(ports, &samples, &mut first, Change::SaveSandbox(Box::new(row))).await.unwrap();
        assert_full(&open(ports, &samples, &mut second, &two, 1).await);
    }
    ports.executions.sandbox_gone(first.execution, one.id).await.unwrap();
    open(ports, &samples, &mut second, &two, 1).await.unwrap();
}

/// One that its server had to remove long ago is not counted, whoever says so: the server, or the intent; and a row that
/// says nothing is counted for as long as any sandbox lives.
pub async fn an_overdue_sandbox_takes_no_place(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let mut fence = claimed(ports, &samples, &home).await;
    let first = Sandbox { state: SandboxState::KillPending, remote_id: None, ..samples.sandbox(1, AT) };
    let silent = Sandbox { expires_at: None, ..first.clone() };
    for (row, ends_at) in [(&first, first.expires_at.unwrap()), (&silent, AT.plus(LONGEST_TTL))] {
        write(ports, &samples, &mut fence, Change::SaveSandbox(Box::new(row.clone()))).await.unwrap();
        let overdue_at = ends_at.plus(GRACE);
        let just_before = overdue_at.minus(Duration::from_micros(1));
        assert!(!row.is_overdue(just_before) && row.is_overdue(overdue_at));
        let early = Sandbox { created_at: just_before, ..intent(&samples) };
        assert_full(&open(ports, &samples, &mut fence, &early, 1).await);
        let late = Sandbox { created_at: overdue_at, ..intent(&samples) };
        open(ports, &samples, &mut fence, &late, 1).await.unwrap();
        ports.executions.sandbox_gone(fence.execution, late.id).await.unwrap();
    }
}

/// Of many that open at one time exactly as many come through as there is room for.
pub async fn sandboxes_that_open_at_one_time_are_counted(ports: &Ports) {
    const ROOM: u32 = 3;
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let mut fences = Vec::new();
    for _ in 0..12 {
        fences.push((claimed(ports, &samples, &home).await, intent(&samples)));
    }
    let samples = &samples;
    let opened = join_all(fences.into_iter().map(|(mut fence, sandbox)| async move {
        match open(ports, samples, &mut fence, &sandbox, ROOM).await {
            Ok(()) => true,
            Err(StoreError::QuotaReached) => false,
            Err(error) => panic!("{error:?}"),
        }
    }));
    assert_eq!(opened.await.into_iter().map(u32::from).sum::<u32>(), ROOM);
}

/// A record is there before the file is, and is closed with the sandbox at the latest.
pub async fn issued_credentials_end_with_their_sandbox(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let mut fence = claimed(ports, &samples, &home).await;
    let sandbox = samples.sandbox(1, AT);
    write(ports, &samples, &mut fence, Change::SaveSandbox(Box::new(sandbox.clone()))).await.unwrap();
    let issued = samples.issued_credential(samples.tool_call(1, 0, 1, AT).id, sandbox.id, AT);
    let returned =
        IssuedCredential { name: "A".to_owned(), revoked: Some((AT, RevokedBecause::CallEnded)), ..issued.clone() };
    for row in [&issued, &returned] {
        let change = Change::SaveIssuedCredential(Box::new(row.clone()));
        write(ports, &samples, &mut fence, change).await.unwrap();
    }
    let stored = ports.reader.issued_credentials(fence.execution).await.unwrap();
    assert_eq!(stored, [returned.clone(), issued.clone()]);
    ports.executions.sandbox_gone(fence.execution, sandbox.id).await.unwrap();
    let stored = ports.reader.issued_credentials(fence.execution).await.unwrap();
    assert_eq!(stored[0], returned);
    assert!(matches!(stored[1].revoked, Some((_, RevokedBecause::SandboxEnded))), "{stored:?}");
}

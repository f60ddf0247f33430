//! Beside the work of a call goes what looks after it: attempts are told, credentials are taken away.
//!
//! Rule: neither side waits for the other until the work is done.

use futures_util::future::join;
use tokio_util::sync::CancellationToken;

/// Does the work, and what goes beside it: neither is held up by the other, however slow a request of it is. `over` tells
/// the other side that the work is done; it is driven to its own end, for what it has begun must be recorded.
pub(super) async fn beside<T>(
    work: impl Future<Output = T> + Send,
    over: &CancellationToken,
    other: impl Future<Output = ()> + Send,
) -> T {
    // Both are large, and every call has them.
    let work = Box::pin(async {
        let done = work.await;
        over.cancel();
        done
    });
    join(work, Box::pin(other)).await.0
}

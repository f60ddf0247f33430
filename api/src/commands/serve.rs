//! `vitrine serve`.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{ServeArgs, load, tools};
use crate::server;

pub(super) fn run(args: ServeArgs) -> ExitCode {
    let config = match load(args.config, args.listen) {
        Ok(config) => config,
        Err(error) => return tools::fail(&error),
    };
    tools::start_logging();
    tools::on_runtime(async move {
        let stop = CancellationToken::new();
        let server = server::serve(config, args.ready_file, stop.clone());
        let mut server = std::pin::pin!(server);
        tokio::select! {
            result = &mut server => return result,
            () = signalled() => stop.cancel(),
        }
        tracing::info!("stopping; a second signal does not wait");
        tokio::select! {
            result = &mut server => result,
            () = signalled() => Err("stopped without waiting".into()),
        }
    })
}

/// Resolves at SIGTERM or SIGINT.
async fn signalled() {
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

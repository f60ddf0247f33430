//! Pausing and resuming a sandbox: its processes stand still, and go on.
//!
//! Rule: the answer says only that the server will try. A change is done when the server shows it; until then it is
//! unconfirmed. It is asked for once, and a lost answer is resolved by looking. A resumed sandbox may have moved, so no
//! address from before is used again. Some servers keep only the files of a paused sandbox: after its resumption every
//! command may be unknown.

use http::Method;
use tokio::time::{Instant, sleep};

use super::client::{Client, POLL};
use super::error::{Change, Error};
use super::lifecycle::SandboxState;
use super::sandbox::Sandbox;

impl Client {
    /// Pauses a sandbox and waits until the server shows it, else `pause_unconfirmed`.
    pub async fn pause(&self, id: &str) -> Result<(), Error> {
        self.change(id, Change::Pause).await
    }

    /// Resumes a sandbox and waits until the server shows it, else `resume_unconfirmed`.
    pub async fn resume(&self, id: &str) -> Result<(), Error> {
        self.change(id, Change::Resume).await
    }

    async fn change(&self, id: &str, change: Change) -> Result<(), Error> {
        let (verb, wanted) = match change {
            Change::Pause => ("pause", SandboxState::Paused),
            Change::Resume | Change::Destroy => ("resume", SandboxState::Running),
        };
        let deadline = Instant::now() + self.transport().timeouts.pause;
        let call = self.call(Method::POST, self.url(&["sandboxes", id, verb])?, None).await?;
        let sent = self.transport().once(&call, verb, self.transport().timeouts.pause).await;
        let mut cause = match sent {
            Ok(_) => None,
            Err(error @ Error::OutcomeUnknown { .. }) => Some(error),
            // A cluster whose provider cannot pause calls every state invalid.
            Err(Error::Rejected(reply)) if reply.status == 400 && reply.has_code("INVALID_STATE") => {
                return Err(Error::NotSupported { capability: verb, reply });
            }
            Err(error) => return Err(error.unless_supported(verb)),
        };
        loop {
            match self.look(id).await {
                Ok(info) if info.state == wanted => return Ok(()),
                Ok(info) if info.state.is_terminal() => break,
                Ok(_) => {}
                Err(error @ Error::NotFound(_)) => return Err(error),
                Err(error) => cause = Some(error),
            }
            if Instant::now() + POLL >= deadline {
                break;
            }
            sleep(POLL).await;
        }
        Err(Error::Unconfirmed { change, id: id.to_owned(), cause: cause.map(Box::new) })
    }
}

impl Sandbox {
    /// Makes its processes stand still. See [`Client::pause`].
    pub async fn pause(&self) -> Result<(), Error> {
        self.client().pause(self.id()).await
    }

    /// Lets its processes go on, and forgets where it was reached. See [`Client::resume`].
    pub async fn resume(&self) -> Result<(), Error> {
        let result = self.client().resume(self.id()).await;
        self.forget_endpoint().await;
        result
    }

    /// Whether its processes stand still, as far as the server can be asked: then silence means nothing.
    pub(super) async fn stands_still(&self) -> bool {
        let state = self.info().await.map(|info| info.state);
        matches!(state, Ok(SandboxState::Pausing | SandboxState::Paused | SandboxState::Resuming))
    }
}

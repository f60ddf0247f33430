//! What execd of a sandbox can do: asked once per sandbox, by running a command that prints two lines.
//!
//! Nothing on the wire names a version. A server that refuses arguments without a shell is an older one; how the two
//! lines arrive says whether the text of an event keeps its line terminator.

use serde_json::{Value, json};
use tokio::time::timeout;

use super::command_stream::{CommandStream, Next};
use super::error::{Deadline, Error};
use super::output::{ExecdWire, OutputStream, OutputWire, PROBE_COMMAND};
use super::sandbox::Sandbox;
use super::stream::Event;

impl Sandbox {
    /// How this sandbox's commands send output.
    pub async fn output_wire(&self) -> Result<OutputWire, Error> {
        Ok(self.execd_wire().await?.output)
    }

    /// Whether commands can be given as arguments, without a shell.
    pub async fn takes_argv(&self) -> Result<bool, Error> {
        Ok(self.execd_wire().await?.takes_argv)
    }

    pub(super) async fn execd_wire(&self) -> Result<ExecdWire, Error> {
        let total = self.transport().timeouts.request;
        let probe = || async {
            let result = timeout(total, self.probe()).await;
            // Whether the probe ran matters to nobody, and must not look as if the caller's command had.
            result.unwrap_or(Err(Error::DeadlineExceeded(Deadline::Total))).map_err(Error::without_effect)
        };
        self.wire().get_or_try_init(probe).await.copied()
    }

    async fn probe(&self) -> Result<ExecdWire, Error> {
        let takes_argv = match self.probe_with(&json!({ "argv": ["sh", "-c", PROBE_COMMAND] })).await {
            Ok(Some(output)) => return Ok(ExecdWire { output, takes_argv: true }),
            // It was accepted, but there is no such program.
            Ok(None) => true,
            Err(Error::Rejected(_)) => false,
            Err(error) => return Err(error),
        };
        let output = self.probe_with(&json!({ "command": PROBE_COMMAND })).await?;
        let output = output.ok_or_else(|| Error::protocol("probe of the output wire did not complete"))?;
        Ok(ExecdWire { output, takes_argv })
    }

    /// None when the command failed.
    async fn probe_with(&self, body: &Value) -> Result<Option<OutputWire>, Error> {
        let execd = self.execd().await?;
        let mut stream = CommandStream::open(self.transport(), &execd, body).await?;
        let mut texts = Vec::new();
        loop {
            match stream.next(self.transport().timeouts.silence).await {
                Next::Event(Event::Output { stream: OutputStream::Stdout, text }) => texts.push(text),
                Next::Event(Event::Complete { .. }) => break,
                Next::Event(event) if event.is_terminal() => return Ok(None),
                Next::Event(_) => {}
                Next::Silent => return Err(Error::DeadlineExceeded(Deadline::Idle)),
                Next::Ended | Next::Broken | Next::Overlong => {
                    return Err(Error::protocol("probe of the output wire did not complete"));
                }
            }
        }
        let wire = OutputWire::from_probe(&texts);
        wire.map(Some).ok_or_else(|| Error::protocol("output wire is neither of the known two"))
    }
}

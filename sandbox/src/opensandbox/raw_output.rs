//! The bytes of a command's output as they were, as Vitrine's own local runtime keeps them where the stream lost something.
//!
//! Rule: other servers do not have this, and a runtime that has it says so with its sandboxes.

use bytes::Bytes;
use http::Method;

use super::command::check_command_id;
use super::error::Error;
use super::output::OutputStream;
use super::sandbox::Sandbox;

impl Sandbox {
    /// What a command that has ended wrote to a stream. None when the server does not have it, or more than `most` bytes.
    pub async fn raw_output(&self, command: &str, stream: OutputStream, most: usize) -> Result<Option<Bytes>, Error> {
        check_command_id(command)?;
        let name = match stream {
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
        };
        let (execd, transport) = (self.execd().await?, self.transport());
        let call = execd.call(Method::GET, execd.url(&["vitrine", "raw-output", command, name])?);
        let answer = transport.open(transport.request(&call), transport.timeouts.idle, call.redactor).await;
        let response = match answer {
            Ok(response) => response,
            Err(Error::Rejected(_) | Error::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let (content, is_whole) = transport.read(response, most).await?;
        Ok(is_whole.then_some(content))
    }
}

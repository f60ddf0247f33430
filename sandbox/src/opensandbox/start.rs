//! Starting a command in the background, for [`Sandbox::follow`].

use super::command::{CommandRequest, Program};
use super::command_stream::{CommandStream, Next};
use super::error::{Error, Reply};
use super::lifecycle::check_id;
use super::sandbox::{Port, Sandbox};
use super::stream::Event;

impl Sandbox {
    /// Starts a command in the background and returns its id. Its end of stream means only that it has started.
    ///
    /// It is sent once. When the answer breaks off behind the id, the status tells whether the command is there.
    pub async fn start(&self, request: &CommandRequest) -> Result<String, Error> {
        request.check()?;
        let takes_argv = match request.program {
            Program::Argv(_) => self.takes_argv().await?,
            Program::Shell(_) => false,
        };
        let mut body = request.to_json(takes_argv);
        body["background"] = true.into();
        let execd = self.execd().await?;
        let mut stream = CommandStream::open(self.transport(), &execd, &body).await?;
        let mut command_id = None;
        loop {
            let event = match stream.next(self.transport().timeouts.silence).await {
                Ok(Next::Event(event)) => event,
                Ok(Next::Silent | Next::Ended | Next::Broken) | Err(_) => return self.find_started(command_id).await,
            };
            match event {
                Event::Init { id } => command_id = Some(check_id(id).map_err(|error| error.after_sending("command"))?),
                Event::Complete { .. } => break,
                Event::Failed { value: message } => return Err(refused(&execd, None, &message)),
                Event::LateError { code, message } => return Err(refused(&execd, Some(code), &message)),
                Event::Ping | Event::Output { .. } | Event::Unknown { .. } => {}
            }
        }
        command_id.ok_or_else(|| lost("background command has no id"))
    }

    async fn find_started(&self, command_id: Option<String>) -> Result<String, Error> {
        if let Some(id) = command_id
            && self.command_status(&id).await.is_ok()
        {
            return Ok(id);
        }
        Err(lost("background command did not say that it started"))
    }
}

fn lost(what: &str) -> Error {
    Error::protocol(what).after_sending("command")
}

fn refused(execd: &Port, code: Option<String>, message: &str) -> Error {
    let reply = Reply { status: 200, code, message: message.to_owned(), ..Reply::default() };
    Error::Rejected(execd.redactor.reply(reply))
}

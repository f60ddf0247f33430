//! Starting a command in the background, for [`Sandbox::follow`].

use tokio::time::{Instant, sleep};

use super::command::{CommandRequest, Program};
use super::command_stream::{CommandStream, Next};
use super::error::{Error, Reply};
use super::follow::{FIRST_PAUSE, REGISTERED_WITHIN, is_of_execd};
use super::lifecycle::check_id;
use super::sandbox::{Port, Sandbox};
use super::stream::Event;

impl Sandbox {
    /// Starts a command in the background and returns its id. Its end of stream means only that it has started.
    ///
    /// It is sent once. When the answer breaks off behind the id, the status tells whether the command is there: it is
    /// asked for as long as a server may need to know its own command.
    pub async fn start(&self, request: &CommandRequest) -> Result<String, Error> {
        request.check()?;
        let takes_argv = match request.program {
            Program::Argv(_) => self.takes_argv().await?,
            Program::Shell(_) => false,
        };
        let mut body = request.to_json(takes_argv)?;
        body["background"] = true.into();
        let execd = self.execd().await?;
        let mut stream = CommandStream::open(self.transport(), &execd, &body).await?;
        let mut command_id = None;
        loop {
            let event = match stream.next(self.transport().timeouts.silence).await {
                Next::Event(event) => event,
                Next::Silent | Next::Ended | Next::Broken | Next::Overlong => {
                    return self.find_started(command_id).await;
                }
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
        let lost = || lost("background command did not say that it started");
        let id = command_id.ok_or_else(lost)?;
        let deadline = Instant::now() + REGISTERED_WITHIN;
        let mut pause = FIRST_PAUSE;
        loop {
            match self.command_status(&id).await {
                Ok(_) => return Ok(id),
                Err(error) if !is_of_execd(&error) || Instant::now() + pause >= deadline => return Err(lost()),
                Err(_) => {}
            }
            sleep(pause).await;
            pause *= 2;
        }
    }
}

fn lost(what: &str) -> Error {
    Error::protocol(what).after_sending("command")
}

fn refused(execd: &Port, code: Option<String>, message: &str) -> Error {
    let reply = Reply { status: 200, code, message: message.to_owned(), ..Reply::default() };
    Error::Rejected(execd.redactor.reply(reply))
}

//! What the manager asks of a server, and what it makes of its answers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::ids::TenantId;
use domain::resource::SandboxTier;
use domain::sandbox::{Exit, OutputSink, OutputStream, Program, ProgramEnd, SandboxRuntime as _, SandboxTarget};
use domain::testing::{plain_context, plain_live, plain_target};
use http::Method;
use sandbox::manager::{LocalTier, SandboxManager};
use sandbox::opensandbox::{OutputWire, shell_words};
use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::support::{Fake, KEY, Step, canned, complete, init, send, stdout};

struct NoTier;

#[async_trait]
impl LocalTier for NoTier {
    async fn connection(&self) -> Result<(Url, SecretString), String> {
        Err("there is none".to_owned())
    }

    fn refusal(&self, _: TenantId) -> Option<String> {
        None
    }
}

struct Nowhere;

#[async_trait]
impl OutputSink for Nowhere {
    async fn output(&self, _: OutputStream, _: &str) {}
}

/// Runs a shell command by a manager that knows nothing of its sandbox yet.
async fn execute(fake: &Fake, command: &str, steps: impl IntoIterator<Item = Step>) -> ProgramEnd {
    let sandbox = json!({"id": "sb1", "status": {"state": "Running"}});
    fake.world.sandboxes.lock().unwrap().insert("sb1".to_owned(), sandbox);
    let target = SandboxTarget {
        api_key: Some(KEY.to_owned()),
        ..plain_target(SandboxTier::Remote, &format!("http://{}", fake.world.address))
    };
    let live = plain_live(target);
    fake.script([init(), stdout("has env\nhas bash\nlayout made\nsurvey done"), complete()]);
    fake.script(steps);
    let program = Program::Shell(command.to_owned());
    let manager = SandboxManager::new(Arc::new(NoTier));
    manager.execute(&plain_context(), &live, &program, Duration::from_secs(60), &Nowhere).await.unwrap()
}

#[tokio::test]
async fn the_words_of_a_program_are_arguments_where_a_server_takes_them_w35() {
    let command = "it's \"odd\" $HOME $(id) é中🦀\n\nlast";
    let end = ["bash", "-c", command];
    for wire in [OutputWire::Kept, OutputWire::Stripped] {
        let fake = Fake::start().await;
        *fake.world.wire.lock().unwrap() = wire;
        assert_eq!(execute(&fake, command, [init(), complete()]).await, ProgramEnd::of(Exit::Code(0)));
        let sent = &fake.commands()[1];
        match wire {
            OutputWire::Kept => {
                let words: Vec<&str> =
                    sent["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
                assert_eq!(words[..2], ["/usr/bin/env", "-i"]);
                assert!(words.ends_with(&end), "{words:?}");
            }
            OutputWire::Stripped => {
                let text = sent["command"].as_str().unwrap();
                assert!(text.contains("exec '/usr/bin/env' '-i' ") && text.ends_with(&shell_words(&end)), "{text}");
            }
        }
    }
}

/// Nothing may run beside the next tool.
#[tokio::test]
async fn a_command_that_writes_an_endless_line_costs_its_sandbox_only_when_it_may_run_on() {
    for (interrupt, sandbox_lost) in [(200, false), (503, true)] {
        let fake = Fake::start().await;
        for _ in 0..3 {
            fake.answer(Method::DELETE, "/command", canned(interrupt, ""));
        }
        let line = send("{\"type\":\"stdout\",\"text\":\"");
        let end = execute(&fake, "yes | tr -d '\\n'", [init(), line, Step::Forever(vec![b'y'; 65536].into())]).await;
        assert_eq!(end, ProgramEnd { sandbox_lost, ..ProgramEnd::of(Exit::LineTooLong) });
        assert_eq!(fake.count(Method::DELETE, "/sandboxes/sb1"), usize::from(sandbox_lost));
    }
}

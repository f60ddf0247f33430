//! The manager runs programs in a real runtime: what the fewest processes of a profile are enough for, and what a browser
//! reaches by the filtering proxy.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;
#[cfg(test)]
mod manager_support;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use domain::ids::{SandboxId, ToolCallId};
use domain::resource::{MIN_PIDS, SandboxNetwork, SandboxProfileSpec, SandboxTier};
use domain::sandbox::{
    CallMark, EgressVerdict, Exit, LiveSandbox, OutputSink, OutputStream, Page, PageForm, PageTarget, Program,
    SandboxRequest, SandboxRuntime as _, Setting,
};
use domain::testing::{plain_context, plain_target};
use local_support::origin::Origin;
use local_support::{Host, KEY};
use manager_support::{Stage, manager_at, profile};

const LIMIT: Duration = Duration::from_secs(120);

/// What a program printed on its standard output.
#[derive(Default)]
struct Printed(Mutex<String>);

#[async_trait]
impl OutputSink for Printed {
    async fn output(&self, stream: OutputStream, text: &str) {
        if stream == OutputStream::Stdout {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        }
    }
}

#[cfg(test)]
impl Stage {
    async fn run(&self, live: &LiveSandbox, program: &Program) -> (Exit, String) {
        let printed = Printed::default();
        let end = self.manager.execute(&self.context, live, program, LIMIT, &printed).await.unwrap();
        let text = printed.0.lock().unwrap().clone();
        (end.exit, text)
    }

    /// The sandbox as a call uses it.
    fn lent_to(&self, call: ToolCallId) -> LiveSandbox {
        LiveSandbox { setting: Setting { call: Some(call), ..Setting::default() }, ..self.live.clone() }
    }
}

/// A server that takes the request and says nothing does not hold a cancel up; the sandbox may be there all the same.
#[tokio::test]
async fn a_create_that_nobody_answers_ends_with_its_cancel() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let manager = manager_at(&format!("http://{}", silent.local_addr().unwrap()), KEY);
    let target = plain_target(SandboxTier::Local, "local:");
    let request = SandboxRequest { id: SandboxId::from_bits(7), target, profile: profile() };
    let context = plain_context();
    let cancel = async {
        let taken = silent.accept().await.unwrap();
        context.cancel.cancel();
        taken
    };
    let (made, _taken) = tokio::join!(manager.create(&context, &request), cancel);
    let not_made = made.unwrap_err();
    assert_eq!((not_made.error.code, not_made.may_exist), ("SANDBOX_UNAVAILABLE", true));
}

/// A server that is started anew refuses connections for a while, and nothing was asked of it in that time.
#[tokio::test(flavor = "multi_thread")]
async fn a_create_waits_for_a_server_that_is_started_anew() {
    let place = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let manager = manager_at(&format!("http://{place}"), KEY);
    let target = plain_target(SandboxTier::Local, "local:");
    let request = SandboxRequest { id: SandboxId::from_bits(7), target, profile: profile() };
    let context = plain_context();
    let start = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        tokio::task::spawn_blocking(move || Host::start_with(&["--listen", &place])).await.unwrap()
    };
    let (made, _host) = tokio::join!(manager.create(&context, &request), start);
    assert!(!made.unwrap().remote_id.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fewest_processes_are_enough_for_every_language() {
    for host in [Host::start(), Host::start_with(&["--no-cgroups"])] {
        let stage = Stage::new(&host, |profile| profile.pids = MIN_PIDS).await;
        // Twice each: the processes of the last program may be ending still.
        for _ in 0..2 {
            for program in [
                Program::Python(
                    "import subprocess; subprocess.run(['bash', '-c', 'python3 -c \"print(42)\"'])".to_owned(),
                ),
                Program::JavaScript("console.log(6 * 7)".to_owned()),
                Program::Shell("echo 42 | cat | python3 -c 'print(input())'".to_owned()),
            ] {
                assert_eq!(stage.run(&stage.live, &program).await, (Exit::Code(0), "42\n".to_owned()), "{program:?}");
            }
        }
    }
}

/// Each word of the command is an argument: no shell reads it before its own program does.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_arrives_byte_for_byte_however_long_and_odd_it_is() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    // Bash prints what it was given. Quoted for a shell, it would be longer than a process can be given.
    let odd = "printf %s \"$BASH_EXECUTION_STRING\" # it's \"odd\" $HOME $(id) `id` \\ é中🦀\n\n: ' line two '\n#";
    for command in [odd.to_owned(), format!("{odd}{}", "'".repeat(125_000))] {
        let (exit, printed) = stage.run(&stage.live, &Program::Shell(command.clone())).await;
        assert_eq!(exit, Exit::Code(0));
        assert!(printed == command, "{printed:.300}");
    }
    let endless = Program::Shell("#".repeat(140_000));
    let refused = stage.manager.execute(&stage.context, &stage.live, &endless, LIMIT, &Printed::default()).await;
    let refused = refused.unwrap_err();
    assert_eq!((refused.code, refused.sandbox_lost), ("COMMAND_TOO_LONG", false));
    assert!(refused.message.contains("write it into a file with write_file"), "{refused}");
}

#[cfg(test)]
fn browsing(profile: &mut SandboxProfileSpec) {
    profile.image = "vitrine/browser".to_owned();
    profile.memory_bytes = 1 << 30;
    profile.disk_bytes = 1 << 29;
    profile.pids = 512;
    profile.network = SandboxNetwork::Hosts;
    profile.network_hosts = vec!["shown.test".to_owned()];
}

/// A page of an allowed host with a picture of another one. Its call is not under way alone: another one tries a host of
/// its own meanwhile, and neither says who it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_shown_and_what_it_may_not_load_is_told_of_its_call() {
    let page = "<!doctype html><title>t</title><h1>Shown by its origin</h1><img src=http://hidden.test/x.png>";
    let origin = Origin::answering(Box::leak(
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{page}", page.len())
            .into_boxed_str(),
    ));
    let host = Host::start_with_hosts(&format!("shown.test={0},hidden.test={0},other.test={0}", origin.at));
    let stage = Stage::new(&host, browsing).await;
    let open = |form| Program::Browse(Page { target: PageTarget::Url("http://shown.test/page".to_owned()), form });
    let (browse, other) = (ToolCallId::from_bits(0xabc_def0), ToolCallId::from_bits(0x123_4567));
    let (sandbox, beside) = (stage.lent_to(browse), stage.lent_to(other));
    let elsewhere = Program::Shell("curl -sf http://other.test/ && exit 1; exit 0".to_owned());
    let text = open(PageForm::Text);
    let ((exit, document), (beside_exit, _)) = tokio::join!(stage.run(&sandbox, &text), stage.run(&beside, &elsewhere));
    assert_eq!((exit, beside_exit), (Exit::Code(0), Exit::Code(0)), "{document}");
    assert!(document.contains("Shown by its origin"), "{document}");
    let picture = PageForm::Screenshot { path: "outputs/p.png".to_owned(), width: 400, height: 300 };
    let document = PageForm::Pdf { path: "outputs/p.pdf".to_owned() };
    for (form, path, start) in
        [(picture, "outputs/p.png", b"\x89PNG".as_slice()), (document, "outputs/p.pdf", b"%PDF".as_slice())]
    {
        assert_eq!(stage.run(&sandbox, &open(form)).await.0, Exit::Code(0));
        let file = stage.manager.read_file(&stage.context, &stage.live, path, 1 << 24).await.unwrap().unwrap();
        assert!(file.starts_with(start) && file.len() > 1000, "{path} has {} bytes", file.len());
    }
    let tried = stage.manager.egress_attempts(&stage.live, 0).await.unwrap().attempts;
    let of = |call: ToolCallId| -> Vec<(&str, EgressVerdict)> {
        let own = tried.iter().filter(|attempt| attempt.call == Some(CallMark::of(call)));
        own.map(|attempt| (attempt.host.as_str(), attempt.verdict)).collect()
    };
    assert!(of(browse).contains(&("shown.test", EgressVerdict::Allowed)), "{tried:?}");
    assert!(of(browse).contains(&("hidden.test", EgressVerdict::Denied)), "{tried:?}");
    // The browser itself asks for nothing: not for updates, nor for the time.
    assert!(of(browse).iter().all(|(host, _)| ["shown.test", "hidden.test"].contains(host)), "{tried:?}");
    assert_eq!(of(other), [("other.test", EgressVerdict::Denied)]);
    assert_eq!(tried.len(), of(browse).len() + of(other).len(), "{tried:?}");
    let seen = origin.seen.lock().unwrap();
    assert!(seen.iter().all(|head| head.contains("host: shown.test") && !head.contains("roxy")), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_host_that_is_not_listed_is_not_shown() {
    let origin = Origin::hello();
    let host = Host::start_with_hosts(&format!("hidden.test={}", origin.at));
    let stage = Stage::new(&host, browsing).await;
    let call = ToolCallId::from_bits(5);
    let target = PageTarget::Url("http://hidden.test/page".to_owned());
    let (_, document) = stage.run(&stage.lent_to(call), &Program::Browse(Page { target, form: PageForm::Text })).await;
    // The refusal has no body that could be taken for the page.
    assert_eq!(document, "");
    let tried = stage.manager.egress_attempts(&stage.live, 0).await.unwrap().attempts;
    assert!(!tried.is_empty() && origin.count() == 0);
    for attempt in tried {
        assert_eq!((attempt.host.as_str(), attempt.verdict), ("hidden.test", EgressVerdict::Denied));
        assert_eq!(attempt.call, Some(CallMark::of(call)));
    }
}

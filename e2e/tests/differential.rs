//! Our OpenSandbox client and the official ones report the same of the same operations, or a checked-in list says why
//! not. `e2e/differential/README.md` tells how to read a difference.

use std::io::Write;
use std::thread;

use e2e::Result;
use e2e::differential::driver::{Driver, Report};
use e2e::differential::known::Known;
use e2e::differential::plan::{self, Server};
use e2e::differential::{Unmatched, judge};
use e2e::process::{SandboxRuntime, binary};
use e2e::{node, python};
use serde_json::Value;

/// Operations that run in all, and at least by each client: fewer means that something was left out.
const LEAST_IN_ALL: usize = 60;
const LEAST: [(&str, usize); 4] = [("adapter", 175), ("python", 174), ("osb", 157), ("javascript", 173)];
/// The calls of the Lifecycle API, and how many operations the list has of them at least.
const LIFECYCLE: [&str; 8] = ["create", "get", "list", "kill", "renew", "endpoint", "pause", "resume"];
const LEAST_LIFECYCLE: usize = 45;

#[test]
fn the_clients_agree_or_the_list_says_why() -> Result {
    match named_server() {
        Some(server) => agree_on_lifecycle(&server),
        None => agree_on_everything(),
    }
}

/// On the local runtime: every operation, and every entry of the list is needed.
fn agree_on_everything() -> Result {
    let state = tempfile::tempdir()?;
    let runtime = SandboxRuntime::start(state.path())?;
    let server =
        Server { url: runtime.url.clone(), api_key: runtime.api_key.clone(), image: "vitrine/code".to_owned() };
    let operations = plan::operations(&[])?;
    let reports = perform(&server, &operations)?;
    for (report, (client, least)) in reports.iter().zip(LEAST) {
        assert!(report.client == client && report.ran() >= least, "{client} ran {} operations", report.ran());
    }
    assert!(operations.len() >= LEAST_IN_ALL, "the list has {} operations", operations.len());
    expect_no_faults(judge(&reports, &known()?, Unmatched::Fault))
}

/// On a server that has a stand-in for execd: the Lifecycle API.
fn agree_on_lifecycle(server: &Server) -> Result {
    let operations = plan::operations(&LIFECYCLE)?;
    let reports = perform(server, &operations)?;
    assert!(operations.len() >= LEAST_LIFECYCLE, "the list has {} operations", operations.len());
    expect_no_faults(judge(&reports, &known()?, Unmatched::Fine))
}

/// The server that `VITRINE_TEST_OPENSANDBOX_URL` names.
fn named_server() -> Option<Server> {
    let url = setting("URL")?;
    let (api_key, image) = (setting("API_KEY").unwrap_or_default(), setting("IMAGE").unwrap_or_default());
    Some(Server { url: url.trim_end_matches('/').to_owned(), api_key, image })
}

#[expect(clippy::disallowed_methods, reason = "whoever starts the test chooses the server")]
fn setting(name: &str) -> Option<String> {
    std::env::var(format!("VITRINE_TEST_OPENSANDBOX_{name}")).ok().filter(|value| !value.is_empty())
}

fn known() -> Result<Known> {
    Known::read(&plan::folder().join("differences.toml"))
}

/// Every driver, each in a process of its own; ours first.
fn perform(server: &Server, operations: &[Value]) -> Result<Vec<Report>> {
    let drivers = drivers()?;
    let reports: Vec<Result<Report>> = thread::scope(|scope| {
        let running: Vec<_> = drivers.iter().map(|driver| scope.spawn(|| driver.perform(server, operations))).collect();
        running.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a driver's thread failed".into()))).collect()
    });
    let reports = reports.into_iter().collect::<Result<Vec<Report>>>()?;
    for report in &reports {
        writeln!(std::io::stdout(), "{}: {} of {} operations", report.client, report.ran(), operations.len())?;
    }
    Ok(reports)
}

fn drivers() -> Result<Vec<Driver>> {
    let commands = python::install("opensandbox-clients")?;
    let javascript = node::install("differential/javascript")?;
    let ours = binary()?.with_file_name("vitrine-sandbox-differential");
    let scripts = plan::folder().join("python");
    let python = |client, script: &str| Driver {
        client,
        program: commands.join("python"),
        arguments: vec![scripts.join(script)],
    };
    Ok(vec![
        Driver { client: "adapter", program: ours, arguments: Vec::new() },
        python("python", "sdk.py"),
        python("osb", "osb.py"),
        Driver { client: "javascript", program: "node".into(), arguments: vec![javascript.join("sdk.mjs")] },
    ])
}

fn expect_no_faults(faults: Vec<String>) -> Result {
    if faults.is_empty() { Ok(()) } else { Err(format!("{} faults\n\n{}", faults.len(), faults.join("\n")).into()) }
}

//! Credentials, lifetimes and the quota of sandboxes, on the local runtime and through the public API.

use std::time::Duration;

use e2e::Result;
use e2e::agents::{AgentSpec, create, project};
use e2e::client::{Client, text};
use e2e::follow::whole_log;
use e2e::leftovers::leftovers;
use e2e::process::{Server, ServerOptions, eventually};
use serde_json::{Value, json};

const SECRET: &str = "s3cr3t/+of the \"house\"-0123456789";
/// Prints what it is told about its credential, and the secret in every spelling.
const LOOK: &str = r#"
import base64, json, os, subprocess, sys, urllib.parse
path = os.environ["TOKEN_FILE"]
secret = open(path).read()
kind = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True).stdout.strip()
mode = subprocess.run(["stat", "-c", "%a", path], capture_output=True, text=True).stdout.strip()
print("kind", kind, "mode", mode, "in workspace", path.startswith("/workspace"))
print("in environment", any(secret in value for value in os.environ.values()))
print("length", len(secret))
for spelled in (secret, urllib.parse.quote(secret), json.dumps(secret), base64.b64encode(secret.encode()).decode(),
                base64.b64encode(("ab" + secret).encode()).decode(), secret.encode().hex()):
    print("spelled", spelled)
for half in (secret[:9], secret[9:]):
    sys.stdout.write(half)
    sys.stdout.flush()
print()
open("outputs/stolen.txt", "w").write(secret)
open("kept.txt", "w").write(secret)
open("outputs/clean.txt", "w").write("nothing of it")
open("path.txt", "w").write(path)
sys.stdout.flush()
sys.stdout.buffer.write(b"\xff" + secret.encode())
"#;
const AFTERWARDS: &str =
    "test -e \"$(cat path.txt)\" && echo there || echo gone; cat kept.txt; ls /dev/shm /tmp -a | grep -c vitrine-tcl";

struct Scene {
    _data: tempfile::TempDir,
    options: ServerOptions,
    server: Server,
    client: Client,
    project: String,
}

impl Scene {
    async fn set(environment: &[(&str, &str)]) -> Result<Self> {
        let data = tempfile::tempdir()?;
        let mut options = ServerOptions::new(&data.path().join("data"));
        options.environment = environment.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let server = Server::start(&options)?;
        let client = server.client(server.api_key.as_deref().ok_or("no API key")?)?;
        let project = project(&client).await?;
        Ok(Self { _data: data, options, server, client, project })
    }

    /// An agent whose sandbox profile has these members beside the usual ones.
    async fn agent(&self, slug: &str, more: Value) -> Result<String> {
        let sandbox_profile = Some(self.profile(slug, more).await?);
        create(&self.client, &AgentSpec { sandbox_profile, ..AgentSpec::new(slug, "tools").with_sandbox() }).await
    }

    async fn profile(&self, slug: &str, more: Value) -> Result<String> {
        let document = "query C($project: ID!) { sandboxConnections(projectId: $project) { nodes { id } } }";
        let found = self.client.query(document, json!({ "project": self.project })).await?;
        let mut spec = json!({
            "connectionId": text(&found, "/sandboxConnections/nodes/0/id")?, "image": "vitrine/code",
            "memoryBytes": "268435456", "diskBytes": "67108864", "ttlSeconds": 120,
        });
        if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
            spec.extend(more.clone());
        }
        let profile = json!({ "projectId": self.project, "slug": slug, "name": slug, "publish": true, "spec": spec });
        let made =
            self.client.mutate("sandboxProfileCreate", "SandboxProfileCreateInput", "sandboxProfile { id }", profile);
        text(&made.await?, "/sandboxProfile/id")
    }

    async fn run(&self, agent: &str, key: &str, calls: Value) -> Result<Value> {
        let task = json!({ "calls": calls, "answer": "Done." }).to_string();
        let id = self.client.start(agent, &task, key).await?;
        self.client.ended(&id).await
    }

    fn stop(self) -> Result {
        assert!(self.server.stop()?.success(), "the server did not stop in order");
        assert_eq!(leftovers(&self.options.data_dir)?, [] as [String; 0]);
        Ok(())
    }
}

fn shell(command: &str) -> Value {
    json!([{ "tool": "run_shell", "arguments": { "command": command } }])
}

fn tool_calls(ended: &Value) -> Vec<Value> {
    let iterations = ended["iterations"]["nodes"].as_array().cloned().unwrap_or_default();
    iterations.iter().filter_map(|iteration| iteration["toolCalls"].get(0).cloned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_is_a_file_for_one_call_and_never_comes_back() -> Result {
    let scene = Scene::set(&[]).await?;
    let credential = json!({ "projectId": scene.project, "slug": "token", "name": "token", "secret": SECRET });
    let made =
        scene.client.mutate("credentialCreate", "CredentialCreateInput", "credential { id }", credential).await?;
    let credentials = json!([{ "credentialId": text(&made, "/credential/id")?, "name": "TOKEN" }]);
    let agent = scene.agent("lender", json!({ "credentials": credentials })).await?;
    let look = json!([{ "tool": "run_python", "arguments": { "code": LOOK } }]);
    let read = json!([{ "tool": "read_file", "arguments": { "path": "kept.txt" } }]);
    let ended = scene.run(&agent, "look", json!([look, shell(AFTERWARDS), read])).await?;
    let calls = tool_calls(&ended);
    let looked = text(&calls[0], "/result")?;
    assert!(looked.contains("kind tmpfs mode 400 in workspace False"), "{looked}");
    assert!(
        looked.contains("in environment False") && looked.contains(&format!("length {}", SECRET.len())),
        "{looked}"
    );
    assert_eq!(looked.matches("[redacted: TOKEN]").count(), 8, "{looked}");
    let afterwards = text(&calls[1], "/result")?;
    // The second call has a file of its own.
    assert!(afterwards.starts_with("gone\n[redacted: TOKEN]"), "{afterwards}");
    assert_eq!(text(&calls[2], "/result")?.matches("[redacted: TOKEN]").count(), 1);
    let names: Vec<_> = ended["artifacts"].as_array().into_iter().flatten().map(|file| file["name"].clone()).collect();
    assert_eq!(names, ["clean.txt"]);
    let id = text(&ended, "/id")?;
    let log = whole_log(&scene.client, &id).await?;
    let log = format!("{log:?}");
    for told in [
        "CredentialIssued",
        "CredentialRevoked",
        "CALL_ENDED",
        "OUTPUTS_LEFT_OUT",
        "WORKSPACE_NOT_KEPT",
        "RAW_OUTPUT_WITHHELD",
    ] {
        assert!(log.contains(told), "{told} is not in the log");
    }
    assert!(!log.contains("RawOutputKept"), "bytes with a secret were kept");
    assert!(!log.contains("s3cr3t") && !ended.to_string().contains("s3cr3t"));
    // Nothing of it lies in the data of the server, sealed as it is.
    let found = std::process::Command::new("grep").args(["-rlaF", "s3cr3t"]).arg(&scene.options.data_dir).output()?;
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    scene.stop()
}

/// In a text a secret is found; in a picture of it nobody would find one.
#[tokio::test(flavor = "multi_thread")]
async fn no_picture_is_taken_of_a_file_that_holds_a_secret() -> Result {
    let scene = Scene::set(&[]).await?;
    let credential = json!({ "projectId": scene.project, "slug": "token", "name": "token", "secret": SECRET });
    let made =
        scene.client.mutate("credentialCreate", "CredentialCreateInput", "credential { id }", credential).await?;
    let credentials = json!([{ "credentialId": text(&made, "/credential/id")?, "name": "TOKEN" }]);
    let profile = scene.profile("painter", json!({ "credentials": credentials })).await?;
    let mut spec = AgentSpec::new("painter", "tools").with_sandbox();
    spec.tools.push("browse".to_owned());
    let agent = create(&scene.client, &AgentSpec { sandbox_profile: Some(profile), ..spec }).await?;
    let picture = |form: &str| json!([{ "tool": "browse", "arguments": { "path": "page.html", "as": form } }]);
    let write = shell("(echo '<h1>'; cat $TOKEN_FILE; echo '</h1>') > page.html");
    let ended = scene.run(&agent, "paint", json!([write, picture("screenshot"), picture("pdf")])).await?;
    let codes: Vec<_> = tool_calls(&ended).iter().map(|call| call["error"]["code"].clone()).collect();
    assert_eq!(codes, [Value::Null, "SECRET_IN_FILE".into(), "SECRET_IN_FILE".into()], "{ended}");
    assert_eq!(ended["artifacts"], json!([]));
    scene.stop()
}

/// What cannot be kept, a name that no server takes and a directory that may not be read, costs only itself.
const LEFT_BEHIND: &str = "echo one > a.txt; echo $$ > /tmp/mark; mkdir '$id' closed; echo two > '$id/page'; \
                           echo three > closed/f; chmod 000 closed";

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_sandbox_ends_and_the_next_tool_goes_on_with_its_files() -> Result {
    let scene = Scene::set(&[]).await?;
    let agent = scene.agent("sleeper", json!({ "idleTtlSeconds": 5 })).await?;
    // The model thinks for longer than that.
    let task = json!({
        "calls": [shell(LEFT_BEHIND), shell("cat a.txt '$id/page'; ls -d closed; ls /tmp/mark")],
        "first_ms": 7000, "answer": "Done.",
    });
    let id = scene.client.start(&agent, &task.to_string(), "sleep").await?;
    let ended = scene.client.ended(&id).await?;
    let result = text(&tool_calls(&ended)[1], "/result")?;
    let told = ["one\n", "\nclosed\n", "'$id/page': No such file", "[The sandbox is a new one"];
    assert!(told.iter().all(|told| result.contains(told)), "{result}");
    assert_eq!(ended["sandboxes"].as_array().map(Vec::len), Some(2), "{}", ended["sandboxes"]);
    eventually(Duration::from_secs(30), "both sandboxes are gone", async || {
        let state = scene.client.execution(&id).await?;
        let sandboxes = state["sandboxes"].as_array().cloned().unwrap_or_default();
        Ok(sandboxes.iter().all(|sandbox| sandbox["state"] == "GONE").then_some(()))
    })
    .await?;
    scene.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_beyond_the_quota_is_refused_while_the_first_one_lives() -> Result {
    let scene = Scene::set(&[("VITRINE_SANDBOXES_PER_TENANT", "1")]).await?;
    let agent = scene.agent("crowd", json!({})).await?;
    let task = json!({ "calls": [shell("echo began; sleep 600")], "answer": "Done." });
    let first = scene.client.start(&agent, &task.to_string(), "first").await?;
    eventually(Duration::from_secs(30), "the first sandbox lives", async || {
        let state = scene.client.execution(&first).await?;
        Ok((state["sandboxes"][0]["state"] == "LIVE").then_some(()))
    })
    .await?;
    let refused = scene.run(&agent, "second", json!([shell("echo never")])).await?;
    let call = &tool_calls(&refused)[0];
    assert_eq!((&call["state"], &call["error"]["code"]), (&json!("FAILED"), &json!("SANDBOX_QUOTA_EXCEEDED")));
    assert_eq!((&refused["status"], &refused["sandboxes"]), (&json!("SUCCEEDED"), &json!([])));
    let cancel = json!({ "executionId": first });
    scene.client.mutate("executionCancel", "ExecutionCancelInput", "execution { status }", cancel).await?;
    scene.client.ended(&first).await?;
    eventually(Duration::from_secs(30), "its sandbox is gone", async || {
        let state = scene.client.execution(&first).await?;
        Ok((state["sandboxes"][0]["state"] == "GONE").then_some(()))
    })
    .await?;
    let third = scene.run(&agent, "third", json!([shell("echo room")])).await?;
    assert_eq!(tool_calls(&third)[0]["state"], "SUCCEEDED", "{third}");
    scene.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_listed_is_denied_and_told_with_its_call() -> Result {
    const REACH: &str = r#"
import urllib.request
for url in ("http://evil.example.net/", "http://169.254.169.254/latest/meta-data/"):
    try:
        print(url, urllib.request.urlopen(url, timeout=10).status)
    except Exception as error:
        print(url, "failed", type(error).__name__)
"#;
    let scene = Scene::set(&[]).await?;
    let agent = scene.agent("reacher", json!({ "network": "HOSTS", "networkHosts": ["api.example.com"] })).await?;
    let calls = json!([[{ "tool": "run_python", "arguments": { "code": REACH } }]]);
    let ended = scene.run(&agent, "reach", calls).await?;
    let call = &tool_calls(&ended)[0];
    assert_eq!(text(call, "/result")?.matches("failed").count(), 2, "{call}");
    let log = whole_log(&scene.client, &text(&ended, "/id")?).await?;
    let attempts: Vec<Value> = log
        .iter()
        .filter_map(|event| serde_json::from_str::<Value>(&event.payload).ok())
        .filter(|event| event["kind"] == "SandboxEgress")
        .collect();
    let told: Vec<_> = attempts.iter().map(|event| (event["host"].clone(), event["verdict"].clone())).collect();
    assert_eq!(told, [(json!("evil.example.net"), json!("DENIED")), (json!("169.254.169.254"), json!("DENIED"))]);
    assert!(attempts.iter().all(|event| event["toolCallId"] == call["id"]), "{attempts:?}");
    scene.stop()
}

/// The browser ends as after any other page, and an older picture may lie where the new one belongs.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_not_reached_is_not_taken_for_one() -> Result {
    let scene = Scene::set(&[]).await?;
    let roomy = json!({
        "image": "vitrine/browser", "network": "HOSTS", "networkHosts": ["nobody.invalid"], "pids": 512,
        "memoryBytes": "1073741824",
    });
    let mut spec = AgentSpec::new("surfer", "tools").with_sandbox();
    spec.tools.push("browse".to_owned());
    let profile = scene.profile("surfer", roomy).await?;
    let agent = create(&scene.client, &AgentSpec { sandbox_profile: Some(profile), ..spec }).await?;
    let browse = |url: &str, form: &str| json!([{ "tool": "browse", "arguments": { "url": url, "as": form } }]);
    let calls = json!([
        shell("echo old > outputs/page.png"),
        browse("https://nobody.invalid/", "text"),
        browse("http://nobody.invalid/", "text"),
        browse("http://nobody.invalid/", "screenshot"),
        browse("https://nobody.invalid/", "pdf"),
        browse("http://...../", "text"),
        shell("echo '<script>location=\"http://127.0.0.1:1/\"</script>' > away.html"),
        json!([{ "tool": "browse", "arguments": { "path": "away.html" } }]),
        json!([{ "tool": "browse", "arguments": { "path": "away.html", "as": "screenshot" } }]),
    ]);
    let ended = scene.run(&agent, "surf", calls).await?;
    let calls = tool_calls(&ended);
    let browsed = calls.iter().filter(|call| call["tool"] == "browse");
    let codes: Vec<_> = browsed.map(|call| call["error"]["code"].as_str().unwrap_or("")).collect();
    let lost = "PAGE_NOT_LOADED";
    assert_eq!(codes, [lost, lost, lost, lost, "NETWORK_NOT_ALLOWED", lost, lost], "{ended}");
    scene.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_never_is_done_is_stopped_at_the_time_limit_with_what_it_may_be() -> Result {
    let scene = Scene::set(&[]).await?;
    let patience = json!({
        "image": "vitrine/browser", "pids": 512, "memoryBytes": "1073741824", "commandTimeoutMs": 8000,
    });
    let mut spec = AgentSpec::new("waiter", "tools").with_sandbox();
    spec.tools.push("browse".to_owned());
    let profile = scene.profile("waiter", patience).await?;
    let agent = create(&scene.client, &AgentSpec { sandbox_profile: Some(profile), ..spec }).await?;
    let calls = json!([
        shell("echo '<script>alert(1)</script>' > asks.html"),
        json!([{ "tool": "browse", "arguments": { "path": "asks.html" } }]),
        shell("echo on"),
    ]);
    let ended = scene.run(&agent, "wait", calls).await?;
    let calls = tool_calls(&ended);
    assert_eq!(calls[1]["error"]["code"], "TIMED_OUT", "{ended}");
    assert!(
        text(&calls[1], "/result")?.contains("after 8000 ms, the time limit. A page that opens a dialogue"),
        "{ended}"
    );
    assert_eq!(calls[2]["result"], "on\n");
    scene.stop()
}

/// What lies where the picture goes is replaced, or the call says why not; nothing is written through a link.
#[tokio::test(flavor = "multi_thread")]
async fn a_picture_takes_the_place_that_was_named_and_no_other() -> Result {
    const LAY: &str = "echo precious > keep.txt; ln -s ../keep.txt outputs/link.png; mkdir outputs/dir.png; \
                       mkfifo outputs/pipe.png; echo old > outputs/closed.png; chmod 444 outputs/closed.png; \
                       echo '<h1>A page</h1>' > page.html";
    let scene = Scene::set(&[]).await?;
    let mut spec = AgentSpec::new("painter", "tools").with_sandbox();
    spec.tools.push("browse".to_owned());
    let roomy = json!({ "image": "vitrine/browser", "pids": 512, "memoryBytes": "1073741824" });
    let profile = scene.profile("painter", roomy).await?;
    let agent = create(&scene.client, &AgentSpec { sandbox_profile: Some(profile), ..spec }).await?;
    let picture = |name: &str| json!([{ "tool": "browse", "arguments": { "path": "page.html", "as": "screenshot", "save_as": name } }]);
    let calls = json!([
        shell(LAY),
        picture("link.png"),
        picture("dir.png"),
        picture("pipe.png"),
        picture("closed.png"),
        shell("cat keep.txt; head -c 4 outputs/closed.png | tail -c 3"),
        shell("rm -r outputs; ln -s /tmp outputs"),
        picture("elsewhere.png"),
        shell("rm outputs"),
        picture("again.png"),
    ]);
    let ended = scene.run(&agent, "paint", calls).await?;
    let calls = tool_calls(&ended);
    let codes: Vec<_> = calls.iter().map(|call| call["error"]["code"].as_str().unwrap_or("")).collect();
    let refused = "NOT_A_FILE";
    assert_eq!(codes, ["", refused, refused, refused, "", "", "", "NOT_A_DIRECTORY", "", ""], "{ended}");
    assert_eq!(calls[5]["result"], "precious\nPNG");
    assert!(text(&calls[9], "/result")?.starts_with("Saved outputs/again.png, "), "{}", calls[9]);
    scene.stop()
}

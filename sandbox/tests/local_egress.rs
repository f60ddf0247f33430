//! The way out of a sandbox: what a policy opens, what is told of it, and how it changes.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use std::io::{Read, Write};

use local_support::origin::{GET, Origin, allow, attempts, open, python};
use local_support::{Host, body, until};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

#[tokio::test]
async fn listed_hosts_are_reached_and_others_are_not() {
    let origin = Origin::hello();
    let host = Host::start_with_hosts(&format!("allowed.test={0},a.wild.test={0},wild.test={0}", origin.at));
    let sandbox = open(&host, allow(&["allowed.test", "*.wild.test"])).await;
    let urls = ["http://allowed.test/x?y", "http://a.wild.test/", "http://wild.test/", "http://denied.test/"];
    assert_eq!(python(&sandbox, GET, &urls).await, ["200 origin", "200 origin", "403 not_listed", "403 not_listed"]);
    assert_eq!(origin.count(), 2);
    assert!(origin.seen.lock().unwrap()[0].starts_with("GET /x?y HTTP/1.1\r\nhost: allowed.test\r\n"));
    let curl = sandbox.run("curl -sS -m 20 -H Expect: -F f=@/etc/passwd http://allowed.test/up").await;
    assert_eq!((curl.stdout.as_str(), curl.exit), ("origin", 0), "{}", curl.stderr);
    let chunked = "curl -sS -m 20 -H Transfer-Encoding:chunked -d some http://allowed.test/up";
    assert_eq!(sandbox.run(chunked).await.stdout, "origin");
    assert!(origin.last().ends_with("\r\n\r\n4\r\nsome\r\n0\r\n\r\n"), "{}", origin.last());
}

#[tokio::test]
async fn without_a_policy_there_is_no_way_out_at_all() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let (_, shown) = host.get(&format!("/v1/sandboxes/{}", sandbox.id)).await;
    assert!(shown["extensions"].get("vitrine.proxy").is_none());
    let program = "import socket\nprint(socket.socket().connect_ex(('127.0.0.1', 3128)), open('/proc/net/route').read().count('\\n'), open('/proc/net/tcp').read().count(':0C38'))";
    let refused = rustix::io::Errno::CONNREFUSED.raw_os_error();
    assert_eq!(python(&sandbox, program, &[]).await, [format!("{refused} 1 0")]);
    assert!(!sandbox.run("env").await.stdout.to_lowercase().contains("proxy"));
    let path = format!("/v1/sandboxes/{}/networkpolicy", sandbox.id);
    assert_eq!(host.get(&path).await.0, StatusCode::CONFLICT);
    let (_, endpoint) = host.get(&format!("/v1/sandboxes/{}/endpoints/18080", sandbox.id)).await;
    let url = format!("http://{}/policy", endpoint["endpoint"].as_str().unwrap());
    let answer = host.client.get(url).header("X-EXECD-ACCESS-TOKEN", &sandbox.token).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
}

/// Prints what each file, variable and argument list inside holds of the needles, which come spelt backwards: what searches
/// must not find itself.
#[cfg(test)]
const SEARCH: &str = r#"
import os, socket, stat, sys
needles = {word[::-1].encode(): name for name, word in (pair.split("=", 1) for pair in sys.argv[1:])}
def look(path):
    try:
        content = open(path, "rb").read()
    except OSError:
        return
    for needle, name in needles.items():
        if needle in content:
            print(name, "in", path)
for place, directories, files in os.walk("/"):
    if place in ("/usr", "/proc", "/sys"):
        directories.clear()
    for file in files:
        path = os.path.join(place, file)
        if stat.S_ISREG(os.lstat(path).st_mode):
            look(path)
seen = 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    for file in ("environ", "cmdline", "maps", "status", "mountinfo", "cgroup"):
        look(f"/proc/{pid}/{file}")
    seen += 1
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "127.7.7.7"), (socket.AF_INET6, "::1")):
    for port in (18080, 44772):
        with socket.socket(family) as attempt:
            if attempt.connect_ex((address, port)) == 0:
                print(port, "answers at", address)
print("done", seen > 1)
"#;

/// The API of the way out is outside, and so are the secrets that open the runtime's doors.
#[tokio::test]
async fn nothing_inside_leads_to_the_policy_of_the_sandbox_s9() {
    let host = Host::start();
    let sandbox = open(&host, allow(&["allowed.test"])).await;
    let (_, egress) = host.egress(&sandbox).await;
    let planted = "a-word-that-is-planted";
    sandbox.upload("/workspace/planted", planted.as_bytes(), 644).await;
    let backwards = |name: &str, word: &str| format!("{name}={}", word.chars().rev().collect::<String>());
    let needles = [
        backwards("egress", &egress),
        backwards("execd", &sandbox.token),
        backwards("key", local_support::KEY),
        backwards("planted", planted),
    ];
    let argv: Vec<&str> = ["python3", "-c", SEARCH].into_iter().chain(needles.iter().map(String::as_str)).collect();
    let run = sandbox.execute(json!({ "argv": argv, "envs": { "PLANTED": planted } })).await;
    let found: Vec<&str> = run.stdout.lines().collect();
    let [file, variable, "done True"] = found[..] else { panic!("{found:#?} {}", run.stderr) };
    assert_eq!(file, "planted in /workspace/planted", "the search finds what is there");
    assert!(variable.starts_with("planted in /proc/") && variable.ends_with("/environ"), "{variable}");
}

#[tokio::test]
async fn with_a_policy_there_is_no_other_way_out() {
    let origin = Origin::hello();
    let host = Host::start_with_hosts(&format!("allowed.test={}", origin.at));
    let sandbox = open(&host, allow(&["allowed.test"])).await;
    let (_, shown) = host.get(&format!("/v1/sandboxes/{}", sandbox.id)).await;
    assert_eq!(shown["extensions"]["vitrine.proxy"], "http://127.0.0.1:3128");
    let program = format!(
        "import socket\ns = socket.socket()\ns.settimeout(5)\nprint(s.connect_ex(('1.1.1.1', 443)), socket.socket().connect_ex(('127.0.0.1', {})))\ntry:\n socket.getaddrinfo('allowed.test', 80)\n print('resolved')\nexcept OSError:\n print('no names')",
        origin.at.port()
    );
    let codes = [rustix::io::Errno::NETUNREACH, rustix::io::Errno::CONNREFUSED].map(|code| code.raw_os_error());
    assert_eq!(python(&sandbox, &program, &[]).await, [format!("{} {}", codes[0], codes[1]), "no names".to_owned()]);
    assert_eq!(origin.count(), 0);
}

#[tokio::test]
async fn closed_addresses_stay_closed_whatever_the_policy_says() {
    let origin = Origin::hello();
    let names = format!(
        "private.test=!10.0.0.1:80,meta.test=!169.254.169.254:80,mixed.test={0}+!192.168.0.1:80,mapped.test=![::ffff:127.0.0.1]:80,loop.test=!{0},self.test=!0.0.0.0:80",
        origin.at
    );
    let host = Host::start_with_hosts(&names);
    let metadata =
        ["169.254.169.254", "100.100.100.200", "127.0.0.1", "fd00:ec2::254", "::ffff:127.0.0.1", "10.0.0.0/8"];
    let rules = allow(&[&["*.test"], metadata.as_slice()].concat());
    let sandbox = open(&host, rules).await;
    let urls = [
        "http://private.test/",
        "http://meta.test/latest/meta-data/",
        "http://mixed.test/",
        "http://mapped.test/",
        "http://loop.test/",
        "http://self.test/",
        "http://169.254.169.254/latest/",
        "http://100.100.100.200/",
        "http://[fd00:ec2::254]/",
        "http://[::ffff:127.0.0.1]/",
        "http://10.0.0.1/",
        &format!("http://127.0.0.1:{}/", origin.at.port()),
    ];
    // The addresses of the sandbox's own loopback are left to the sandbox by NO_PROXY, so the variable goes.
    let program = format!("import os\nfor n in ('no_proxy', 'NO_PROXY'): os.environ.pop(n)\n{GET}");
    assert_eq!(python(&sandbox, &program, &urls).await, vec!["403 private_address"; urls.len()]);
    let tricks = ["http://0x7f.1/", "http://2130706433/", "http://127.1/"];
    assert_eq!(python(&sandbox, &program, &tricks).await, ["400 malformed"; 3]);
    assert_eq!(origin.count(), 0);
}

#[tokio::test]
async fn a_name_that_changes_its_address_leads_nowhere_new() {
    let (first, second) = (Origin::hello(), Origin::hello());
    let host = Host::start_with_hosts(&format!("rebind.test={}|!{}", first.at, second.at));
    let sandbox = open(&host, allow(&["rebind.test"])).await;
    let urls = ["http://rebind.test/", "http://rebind.test/"];
    assert_eq!(python(&sandbox, GET, &urls).await, ["200 origin", "403 private_address"]);
    assert_eq!((first.count(), second.count()), (1, 0), "the address that was checked is the one that is used");
}

#[tokio::test]
async fn a_redirect_is_judged_anew() {
    let denied = Origin::hello();
    let to_denied =
        "HTTP/1.1 302 Found\r\nlocation: http://denied.test/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let origin = Origin::answering(to_denied);
    let host = Host::start_with_hosts(&format!("allowed.test={},denied.test={}", origin.at, denied.at));
    let sandbox = open(&host, allow(&["allowed.test"])).await;
    assert_eq!(python(&sandbox, GET, &["http://allowed.test/"]).await, ["403 not_listed"]);
    assert_eq!((origin.count(), denied.count()), (1, 0));
    let (_, tried) = (0, attempts(&host, &sandbox, 0).await);
    let verdicts: Vec<_> = tried["attempts"].as_array().unwrap().iter().map(|a| (&a["host"], &a["verdict"])).collect();
    assert_eq!(verdicts, [(&json!("allowed.test"), &json!("allowed")), (&json!("denied.test"), &json!("denied"))]);
}

#[tokio::test]
async fn attempts_are_told_with_the_address_that_was_asked_and_a_cursor() {
    let origin = Origin::hello();
    let host = Host::start_with_hosts(&format!("allowed.test={},none.test=!,dead.test=127.0.0.1:1", origin.at));
    let sandbox = open(&host, allow(&["allowed.test", "none.test", "dead.test"])).await;
    let urls = ["http://allowed.test/", "http://none.test/", "http://dead.test/", "http://denied.test:81/"];
    let program = GET.replace(
        "import sys",
        "import os\nfor n in ('http_proxy', 'HTTP_PROXY'): os.environ[n] = 'http://127.64.0.9:3128'\nimport sys",
    );
    let answers = python(&sandbox, &program, &urls).await;
    assert_eq!(answers, ["200 origin", "502 not_resolved", "502 unreachable", "403 not_listed"]);
    let tried = attempts(&host, &sandbox, 0).await;
    let all = tried["attempts"].as_array().unwrap();
    assert_eq!((all.len(), &tried["next"]), (4, &json!(4)));
    assert!(all.iter().all(|attempt| attempt["via"] == "127.64.0.9" && attempt["at"].is_string()));
    let last = &all[3];
    assert_eq!(
        (&last["sequence"], &last["method"], &last["host"], &last["port"], &last["verdict"], &last["reason"]),
        (&json!(4), &json!("HTTP"), &json!("denied.test"), &json!(81), &json!("denied"), &json!("not_listed"))
    );
    assert_eq!(attempts(&host, &sandbox, 3).await["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(attempts(&host, &sandbox, 4).await["next"], 4);
    assert!(tried["bytes"]["received"].as_u64().unwrap() > 6);
}

/// Row 61.
#[tokio::test]
async fn the_policy_is_shown_and_changed_while_the_sandbox_runs() {
    let origin = Origin::hello();
    let host = Host::start_with_hosts(&format!("a.test={0},b.test={0}", origin.at));
    let sandbox = host.sandbox(json!({ "networkPolicy": {} })).await;
    let (url, token) = host.egress(&sandbox).await;
    let call = async |method: Method, request: Value| {
        let call = host.client.request(method, format!("{url}/policy")).header("OPENSANDBOX-EGRESS-AUTH", &token);
        let call = if request.is_null() { call } else { call.json(&request) };
        body(call.send().await.unwrap()).await
    };
    let reaches = async |name: &str| python(&sandbox, GET, &[&format!("http://{name}/")]).await[0].starts_with("200");
    let (status, shown) = call(Method::GET, Value::Null).await;
    assert_eq!((status, &shown["status"], &shown["mode"]), (StatusCode::OK, &json!("ok"), &json!("deny_all")));
    assert_eq!(shown["policy"], json!({ "egress": [], "defaultAction": "deny" }));
    assert!(!reaches("a.test").await);
    let (_, patched) = call(Method::PATCH, allow(&["a.test"])).await;
    assert_eq!((&patched["mode"], patched.get("policy")), (&json!("enforcing"), None));
    assert!(reaches("a.test").await);
    call(Method::PATCH, json!([{ "action": "deny", "target": "A.test" }, { "action": "allow", "target": "b.test" }]))
        .await;
    assert!(!reaches("a.test").await && reaches("b.test").await);
    let (_, shown) = call(Method::GET, Value::Null).await;
    let targets: Vec<_> = shown["policy"]["egress"].as_array().unwrap().iter().map(|rule| &rule["target"]).collect();
    assert_eq!(targets, [&json!("a.test"), &json!("b.test")]);
    assert!(call(Method::DELETE, json!(["b.test"])).await.1.get("reason").is_none());
    assert!(call(Method::DELETE, json!(["b.test"])).await.1["reason"].is_string());
    assert!(!reaches("b.test").await);
    let (_, put) = call(Method::PUT, json!({ "defaultAction": "allow" })).await;
    assert_eq!(put["mode"], "allow_all");
    assert!(reaches("b.test").await);
    assert_eq!(call(Method::POST, Value::Null).await.1["mode"], "deny_all");
    for (method, request, expected) in [
        (Method::PATCH, json!([]), StatusCode::BAD_REQUEST),
        (Method::PATCH, json!([{ "action": "maybe", "target": "a.test" }]), StatusCode::BAD_REQUEST),
        (Method::PUT, json!({ "egress": 7 }), StatusCode::BAD_REQUEST),
        (Method::DELETE, json!([]), StatusCode::BAD_REQUEST),
        (Method::OPTIONS, Value::Null, StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let (status, text) = call(method, request.clone()).await;
        assert!(status == expected && text.is_string(), "{request} {status} {text}");
    }
    for wrong in ["", "wrong", &sandbox.token] {
        let answer = host.client.get(format!("{url}/policy")).header("OPENSANDBOX-EGRESS-AUTH", wrong);
        let answer = body(answer.send().await.unwrap()).await;
        assert_eq!(answer, (StatusCode::UNAUTHORIZED, json!("unauthorized")));
    }
    assert_eq!(host.client.get(format!("{url}/healthz")).send().await.unwrap().text().await.unwrap(), "ok");
    let path = format!("/v1/sandboxes/{}/networkpolicy", sandbox.id);
    assert_eq!(host.get(&path).await.1["mode"], "deny_all");
    let put = host.request(Method::PUT, &path).json(&json!({ "egress": allow(&["a.test"]) }));
    assert_eq!(put.send().await.unwrap().status(), StatusCode::OK);
    assert!(reaches("a.test").await);
    assert_eq!(host.get(&format!("/v1/sandboxes/{}/proxy/18080/policy", sandbox.id)).await.1["mode"], "enforcing");
}

#[tokio::test]
async fn a_connection_that_the_policy_forbids_later_is_cut() {
    let origin = Origin::serving(|mut stream, seen| {
        seen.lock().unwrap().push("opened".to_owned());
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nbegun");
        // Until the proxy lets go.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let host = Host::start_with_hosts(&format!("a.test={}", origin.at));
    let sandbox = open(&host, allow(&["a.test"])).await;
    let command = json!({ "command": "curl -sN http://a.test/ > got; echo over >> got", "background": true });
    sandbox.start(command).await.text().await.unwrap();
    until("the response has begun", async || sandbox.run("cat got").await.stdout == "begun").await;
    let path = format!("/v1/sandboxes/{}/networkpolicy", sandbox.id);
    host.request(Method::PUT, &path).json(&json!({})).send().await.unwrap();
    until("the connection is cut", async || sandbox.run("cat got").await.stdout == "begunover\n").await;
}

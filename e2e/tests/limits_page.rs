//! The page about limits: each of its examples is run as it stands there, and prints what the page says.

#[cfg(test)]
mod tests {
    use std::process::Command;

    use e2e::Result;
    use e2e::process::{Server, ServerOptions};
    use serde_json::Value;

    const PAGE: &str = include_str!("../../docs/limits.md");
    /// Stands between what two examples print.
    const MARK: &str = "=== next ===";

    /// The examples of the page: each with what it is to print.
    struct Examples {
        setup: String,
        each: Vec<(String, Value)>,
    }

    fn examples() -> Result<Examples> {
        let blocks = fenced_blocks(PAGE);
        let mut blocks = blocks.iter().map(|(kind, text)| (kind.as_str(), text.clone()));
        let ("sh", setup) = blocks.next().ok_or("the page has no example")? else {
            return Err("the first block of the page is no shell".into());
        };
        let mut each = Vec::new();
        while let Some(block) = blocks.next() {
            let (("sh", script), Some(("json", expected))) = (block, blocks.next()) else {
                return Err("behind each example stands what it prints".into());
            };
            each.push((script, serde_json::from_str(&expected)?));
        }
        Ok(Examples { setup, each })
    }

    /// Kind and text of each fenced block.
    fn fenced_blocks(page: &str) -> Vec<(String, String)> {
        let mut blocks = Vec::new();
        let mut lines = page.lines();
        while let Some(line) = lines.next() {
            let Some(kind) = line.strip_prefix("```") else { continue };
            let text: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((kind.to_owned(), text.join("\n")));
        }
        blocks
    }

    /// Equal, where a text of the page that ends with … stands for all that begin so.
    fn agrees(said: &Value, printed: &Value) -> bool {
        match (said, printed) {
            (Value::String(said), Value::String(printed)) => {
                said.strip_suffix('…').map_or(said == printed, |begin| printed.starts_with(begin))
            }
            (Value::Array(said), Value::Array(printed)) => {
                said.len() == printed.len() && said.iter().zip(printed).all(|(said, printed)| agrees(said, printed))
            }
            (Value::Object(said), Value::Object(printed)) => {
                said.len() == printed.len()
                    && said.iter().all(|(key, said)| printed.get(key).is_some_and(|printed| agrees(said, printed)))
            }
            (said, printed) => said == printed,
        }
    }

    #[test]
    fn every_example_prints_what_the_page_says() -> Result {
        let Examples { setup, each } = examples()?;
        assert_eq!(each.len(), 9, "one for each limit, and one with an error item");
        let data = tempfile::tempdir()?;
        let server = Server::start(&ServerOptions::new(&data.path().join("data")))?;
        let scripts: Vec<_> = each.iter().map(|(script, _)| format!("echo '{MARK}'\n{script}\n")).collect();
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &format!("{setup}\n{}", scripts.concat())])
            .env("VITRINE_URL", &server.url)
            .env("VITRINE_API_KEY", server.api_key.as_deref().ok_or("no API key at the first start")?)
            .output()?;
        let printed = String::from_utf8(output.stdout)?;
        assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
        let answers: Vec<_> = printed.split(MARK).skip(1).collect();
        assert_eq!(answers.len(), each.len(), "{printed}");
        let mut differing = Vec::new();
        for ((script, said), answer) in each.iter().zip(answers) {
            if !agrees(said, &serde_json::from_str(answer)?) {
                differing.push(format!("{script}\nprints\n{answer}\nand the page says\n{said}\n"));
            }
        }
        assert!(differing.is_empty(), "{}", differing.join("\n"));
        Ok(())
    }

    #[test]
    fn the_page_tells_about_every_limit_of_the_api() {
        let schema = include_str!("../../schema.graphql");
        let input = schema.split("input LimitsInput {").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap();
        let fields = input.lines().filter_map(|line| line.trim().split_once(':')).map(|(field, _)| field);
        let limits: Vec<_> = fields.filter(|field| field.starts_with("max")).chain(["deadlineAt"]).collect();
        assert_eq!(limits.len(), 8, "{limits:?}");
        for limit in limits {
            assert!(PAGE.contains(&format!("\n## {limit}\n")), "{limit} has no section");
        }
    }
}

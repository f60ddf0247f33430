//! The demo, as a newcomer runs it: on the repository's own lock file and on an altered one, with every figure counted
//! again by other means.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;
    use std::process::Command;

    use e2e::Result;
    use e2e::client::{Client, text};
    use e2e::process::{Server, ServerOptions, binary};
    use serde_json::Value;

    const LOCK_FILE: &str = include_str!("../../Cargo.lock");

    /// What a lock file says, counted line by line and not by a TOML parser.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Counts {
        packages: usize,
        members: usize,
        registry: usize,
        families: usize,
        duplicates: usize,
        largest: (String, usize),
    }

    fn count(lock_file: &str) -> Counts {
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut families: BTreeMap<&str, usize> = BTreeMap::new();
        let mut counts = Counts::default();
        for package in lock_file.split("[[package]]").skip(1) {
            let value = |key: &str| {
                package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
            };
            let name = value("name").unwrap();
            counts.packages += 1;
            versions.entry(name).or_default().insert(value("version").unwrap());
            *families.entry(name.split(['-', '_']).next().unwrap()).or_default() += 1;
            match value("source") {
                None => counts.members += 1,
                Some(source) if source.starts_with("registry+") => counts.registry += 1,
                Some(_) => {}
            }
        }
        counts.families = families.len();
        counts.duplicates = versions.values().filter(|versions| versions.len() > 1).count();
        let largest = families.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0))).unwrap();
        counts.largest = ((*largest.0).to_owned(), *largest.1);
        counts
    }

    /// Three more crates, one of them a second version, and one member less.
    fn altered() -> String {
        let more = "\n[[package]]\nname = \"zz-top-a\"\nversion = \"1.0.0\"\nsource = \"registry+https://example.org/index\"\n\
                    \n[[package]]\nname = \"zz-top-a\"\nversion = \"2.0.0\"\nsource = \"registry+https://example.org/index\"\n\
                    \n[[package]]\nname = \"zz_top_b\"\nversion = \"0.1.0\"\nsource = \"registry+https://example.org/index\"\n";
        let without_a_member = LOCK_FILE.replacen(
            "[[package]]\nname = \"migrations\"\nversion = \"0.1.0\"",
            "[[package]]\nname = \"migrations\"\nversion = \"0.1.0\"\nsource = \"registry+https://example.org/index\"",
            1,
        );
        assert_ne!(without_a_member, LOCK_FILE);
        without_a_member + more
    }

    fn run_demo(data_dir: &Path, lock_file: Option<&Path>) -> Result<String> {
        let mut command = Command::new(binary()?);
        command.arg("demo").arg("--data-dir").arg(data_dir);
        if let Some(path) = lock_file {
            command.arg("--lock-file").arg(path);
        }
        let output = command.output()?;
        let printed = String::from_utf8(output.stdout)?;
        assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
        Ok(printed)
    }

    async fn check(client: &Client, printed: &str, lock_file: &str) -> Result {
        let id = printed.lines().find_map(|line| line.strip_prefix("Execution ")).ok_or("no execution was printed")?;
        let execution = client.execution(id).await?;
        let answer = text(&execution, "/answer")?;
        let counts = count(lock_file);
        for (label, figure) in [
            ("Packages", counts.packages),
            ("Members of the workspace", counts.members),
            ("From a registry", counts.registry),
            ("Families of crates", counts.families),
            ("Crates in more than one version", counts.duplicates),
        ] {
            assert!(answer.contains(&format!("| {label} | {figure} |")), "{label} is not {figure} in\n{answer}");
        }
        let (family, size) = &counts.largest;
        assert!(answer.contains(&format!("| `{family}` | {size} |")), "{family} {size} is missing in\n{answer}");
        assert!(printed.contains("KeyError: 'source'"), "the first program's own traceback is missing");
        check_artifacts(client, &execution, &counts).await
    }

    async fn check_artifacts(client: &Client, execution: &Value, counts: &Counts) -> Result {
        let artifacts = execution["artifacts"].as_array().ok_or("no artifacts")?;
        let named = |name: &str| artifacts.iter().find(|artifact| artifact["name"] == name).ok_or(format!("no {name}"));
        let table = client.download(&text(named("duplicates.csv")?, "/downloadUrl")?).await?;
        assert_eq!(
            String::from_utf8(table)?.lines().count(),
            counts.duplicates + 1,
            "a line for each duplicate and a head"
        );
        let chart = client.download(&text(named("families.svg")?, "/downloadUrl")?).await?;
        assert!(String::from_utf8(chart)?.contains(&counts.largest.0), "the chart does not name the largest family");
        assert!(
            execution["sandboxes"].as_array().is_some_and(|all| all.iter().all(|sandbox| sandbox["state"] == "GONE"))
        );
        Ok(())
    }

    #[tokio::test]
    async fn the_figures_come_out_of_the_sandbox() -> Result {
        let dir = tempfile::tempdir()?;
        let data_dir = dir.path().join("data");
        let server = Server::start(&ServerOptions::new(&data_dir))?;
        let client = server.client(server.api_key.as_deref().ok_or("no key")?)?;
        let lock_file = altered();
        assert_ne!(count(LOCK_FILE), count(&lock_file));
        let path = dir.path().join("Cargo.lock");
        std::fs::write(&path, &lock_file)?;

        check(&client, &run_demo(&data_dir, None)?, LOCK_FILE).await?;
        check(&client, &run_demo(&data_dir, Some(&path))?, &lock_file).await?;
        assert!(server.stop()?.success(), "the server did not stop in order");
        Ok(())
    }
}

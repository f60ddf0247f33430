//! The demo's conversation over real programs: every figure of the answer against a count of our own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use api::scripted_model::{Script, demo};
use domain::model_call::{Message, ModelCallEnd, ModelFailureKind, ModelOutcome, ReplyMode};
use serde_json::{Value, json};

use super::stage::{Stage, assert_finished, go_on, user};

/// Runs a tool of the demo in `folder`; the pauses that are there for people are left out.
fn run_tool(folder: &Path, name: &str, arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    let mut command = match name {
        "run_python" => {
            let mut command = Command::new("python3");
            let program =
                "import sys, time; time.sleep = lambda _: None; exec(compile(sys.argv[1], 'main.py', 'exec'))";
            command.args(["-c", program, arguments["code"].as_str().unwrap()]);
            command
        }
        "run_shell" => {
            let mut command = Command::new("sh");
            command.args(["-c", arguments["command"].as_str().unwrap()]);
            command
        }
        other => panic!("the demo has no tool {other}"),
    };
    let output = command.current_dir(folder).output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    format!("{text}exit code {}", output.status.code().unwrap())
}

/// Plays the whole conversation; gives the answer and all tool results.
async fn play(folder: &Path, lock: &str) -> (ModelOutcome, Vec<String>) {
    std::fs::create_dir_all(folder.join("inputs")).unwrap();
    std::fs::write(folder.join(demo::INPUT_PATH), lock).unwrap();
    let stage = Stage::open(Script::demo().unwrap()).await;
    let mut messages = user(demo::TASK);
    let mut results = Vec::new();
    loop {
        let request = stage.request(demo::MODEL, messages.clone(), ReplyMode::Complete);
        let (outcome, _) = stage.ask(&request).await;
        if outcome.reply.tool_calls.is_empty() {
            return (outcome, results);
        }
        go_on(&mut messages, &outcome, |name, arguments| {
            results.push(run_tool(folder, name, arguments));
            results.last().unwrap().clone()
        });
    }
}

/// What a lock file holds, counted without the demo's programs.
struct Count {
    lines: Vec<String>,
    csv: String,
    families: Vec<(String, usize)>,
}

fn count(lock: &str) -> Count {
    let lock: toml::Table = lock.parse().unwrap();
    let (mut packages, mut members, mut registry, mut git) = (0, 0, 0, 0);
    let mut versions: BTreeMap<String, BTreeSet<Vec<u64>>> = BTreeMap::new();
    let mut families: BTreeMap<String, usize> = BTreeMap::new();
    for package in lock["package"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        packages += 1;
        match package.get("source").map(|source| source.as_str().unwrap()) {
            None => members += 1,
            Some(source) if source.starts_with("git+") => git += 1,
            Some(_) => registry += 1,
        }
        let numbers = |version: &str| version.split(['.']).map(|part| part.parse().unwrap_or(0)).collect();
        let version = package["version"].as_str().unwrap().split(['+', '-']).next().unwrap();
        versions.entry(name.to_owned()).or_default().insert(numbers(version));
        let family = &name[..name.find(['-', '_']).unwrap_or(name.len())];
        *families.entry(family.to_owned()).or_default() += 1;
    }
    let family_count = families.len();
    let mut families: Vec<_> = families.into_iter().collect();
    families.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    families.truncate(10);
    let mut several: Vec<_> = versions.into_iter().filter(|(_, versions)| versions.len() > 1).collect();
    several.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then(a.0.cmp(&b.0)));
    let print = |version: &Vec<u64>| version.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
    let mut lines = vec![
        format!("| Packages | {packages} |"),
        format!("| Members of the workspace | {members} |"),
        format!("| From a registry | {registry} |"),
        format!("| From a Git repository | {git} |"),
        format!("| Families of crates | {family_count} |"),
        format!("| Crates in more than one version | {} |", several.len()),
    ];
    lines.extend(families.iter().map(|(name, size)| format!("| `{name}` | {size} |")));
    let mut csv = "name,count,versions\r\n".to_owned();
    for (number, (name, versions)) in several.iter().enumerate() {
        let versions: Vec<_> = versions.iter().map(print).collect();
        if number < 10 {
            lines.push(format!("| `{name}` | {} |", versions.join(", ")));
        }
        csv.push_str(&format!("{name},{},{}\r\n", versions.len(), versions.join(" ")));
    }
    if several.len() > 10 {
        lines.push(format!("| and {} more | see the file |", several.len() - 10));
    }
    if let Some((name, versions)) = several.first() {
        lines.push(format!("Look at `{name}` first: it is present in {} versions.", versions.len()));
    }
    Count { lines, csv, families }
}

async fn check(lock: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (outcome, results) = play(folder.path(), lock).await;
    assert_finished(&outcome);
    assert!(results[0].contains("Traceback") && results[0].contains("KeyError: 'source'"), "{}", results[0]);
    assert!(results[0].starts_with("Reading inputs/Cargo.lock\n"), "progress comes before the fault");
    assert!(results[1].ends_with("exit code 0"), "{}", results[1]);
    assert!(results[1].contains("\x1b[38;5;"), "the chart has colours");
    let count = count(lock);
    let answer = outcome.reply.text;
    let with_figures: Vec<&str> = answer.lines().filter(|line| line.contains(|c: char| c.is_ascii_digit())).collect();
    assert_eq!(with_figures, count.lines, "{answer}");
    assert_eq!(std::fs::read_to_string(folder.path().join("outputs/duplicates.csv")).unwrap(), count.csv);
    let svg = std::fs::read_to_string(folder.path().join("outputs/families.svg")).unwrap();
    assert_eq!(svg.matches("<rect").count(), count.families.len());
    for (name, size) in &count.families {
        assert!(svg.contains(&format!(">{name}</text>")) && svg.contains(&format!(">{size}</text>")), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_figure_is_right_for_our_own_lock_file() {
    check(std::str::from_utf8(demo::CARGO_LOCK).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_figure_is_right_for_an_altered_lock_file() {
    let lock = std::str::from_utf8(demo::CARGO_LOCK).unwrap();
    let kept = lock.split("\n\n").enumerate().filter(|(number, _)| number % 3 != 2).map(|(_, package)| package);
    let mut altered = kept.collect::<Vec<_>>().join("\n\n");
    for (name, version, source) in [
        ("zeta-one", "1.2.3", "git+https://example.invalid/zeta#0123"),
        ("zeta-one", "10.0.0", "sparse+https://example.invalid/index/"),
        ("zeta-one", "9.0.0", "sparse+https://example.invalid/index/"),
        ("zeta-one", "2.0.0", "registry+https://example.invalid/index"),
    ] {
        altered
            .push_str(&format!("\n\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"{source}\"\n"));
    }
    assert_ne!(count(&altered).lines, count(lock).lines);
    assert!(count(&altered).lines.contains(&"| `zeta-one` | 1.2.3, 2.0.0, 9.0.0, 10.0.0 |".to_owned()));
    check(&altered).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_figure_is_right_for_a_lock_file_without_dependencies() {
    check("version = 4\n\n[[package]]\nname = \"alone\"\nversion = \"0.1.0\"\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_lock_file_fails_the_script_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (outcome, results) = play(folder.path(), "this is no TOML").await;
    assert!(results[0].contains("TOMLDecodeError"), "{}", results[0]);
    match outcome.end {
        ModelCallEnd::Failed(failure) => {
            assert_eq!(failure.kind, ModelFailureKind::ProviderError);
            assert!(failure.message.contains("do not hold `KeyError: 'source'`"), "{failure}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_value_that_is_missing_fails_the_script_by_name() {
    let stage = Stage::open(Script::demo().unwrap()).await;
    let mut messages = user(demo::TASK);
    let results = [
        "KeyError: 'source'".to_owned(),
        format!("AUDIT_RESULT {}", json!({"packages": 7})),
        "families.svg duplicates.csv".to_owned(),
    ];
    for result in &results {
        let (outcome, _) = stage.ask(&stage.request(demo::MODEL, messages.clone(), ReplyMode::Complete)).await;
        assert_finished(&outcome);
        go_on(&mut messages, &outcome, |_, _| result.clone());
    }
    let (outcome, _) = stage.ask(&stage.request(demo::MODEL, messages.clone(), ReplyMode::Stream)).await;
    match outcome.end {
        ModelCallEnd::Failed(failure) => assert!(failure.message.contains("{{members}}"), "{failure}"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(messages.last(), Some(Message::Tool { .. })));
}

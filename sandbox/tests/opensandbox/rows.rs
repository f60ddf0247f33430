//! The table of rows names tests that exist, and misses no row.

use std::collections::BTreeSet;
use std::path::Path;

const CLIENT_ROWS: [u32; 20] = [23, 24, 25, 26, 27, 28, 29, 32, 37, 38, 39, 40, 42, 43, 47, 51, 53, 61, 62, 63];

/// Names of the functions below `#[test]`, `#[tokio::test]` and the like.
fn tests_below(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.extend(tests_of(&std::fs::read_to_string(&path).unwrap()));
        }
    }
}

fn tests_of(source: &str) -> Vec<String> {
    let mut is_test = false;
    let mut names = Vec::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[test") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) {
            names.push(rest.split('(').next().unwrap().to_owned());
            is_test = false;
        }
    }
    names
}

/// Row, and tests that it names.
fn rows() -> Vec<(String, Vec<String>)> {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sandbox-rows.md");
    let table = std::fs::read_to_string(table).unwrap();
    let lines = table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| row"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [row, _, tests] = cells.as_slice() else { panic!("a row has three cells: {line}") };
            let names = tests.split(',').map(|name| name.trim().trim_matches('`').to_owned());
            ((*row).to_owned(), names.collect())
        })
        .collect()
}

#[test]
fn every_row_of_the_table_names_tests_that_exist() {
    let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut known = BTreeSet::new();
    tests_below(&crate_directory.join("src"), &mut known);
    tests_below(&crate_directory.join("tests"), &mut known);
    assert!(known.contains("every_row_of_the_table_names_tests_that_exist"), "tests are found at all");
    for (row, tests) in rows() {
        for test in tests.iter().filter(|test| *test != "not in use") {
            assert!(known.contains(test), "row {row} names {test}, which is no test");
        }
    }
}

#[test]
fn the_table_misses_no_row() {
    let listed: Vec<String> = rows().into_iter().map(|(row, _)| row).collect();
    let wire = (1..=41).map(|number| format!("W{number}"));
    let security = (1..=22).map(|number| format!("S{number}"));
    let checklist = CLIENT_ROWS.iter().map(ToString::to_string);
    let expected: Vec<String> = wire.chain(security).chain(checklist).collect();
    assert_eq!(listed, expected);
}

#!/usr/bin/env python3
"""Checks the limits of this repository that no compiler checks: sizes, names, words, links.

Each rule carries an example that breaks it and one that keeps it; `--self-test` runs the rules over their examples,
so that a rule that can no longer fail is found. CONTRIBUTING.md says what to do about a finding.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent
SOURCE_LINES = 500
TEST_LINES = 800
COMPONENT_LINES = 300
RESOLVER_LINES = 25
UNSAFE_FILE = "sandbox/src/local/sys.rs"
ADAPTERS = r"\b(SqlStore|ArtifactDir|KeyFile|OpenAiCompatible|SandboxManager)\b"

Finding = tuple[int, str]
Check = Callable[[str, str], Iterator[Finding]]


@dataclass
class Rule:
    name: str
    applies: Callable[[str], bool]
    check: Check
    bad: list[tuple[str, str]]
    good: list[tuple[str, str]]


# What a path is.


def is_rust(path: str) -> bool:
    return path.endswith(".rs")


def is_script_source(path: str) -> bool:
    return path.endswith((".ts", ".tsx", ".mjs", ".js")) and not is_generated(path)


def is_generated(path: str) -> bool:
    return "/generated/" in path or path.endswith((".snap", "package-lock.json", "Cargo.lock", "schema.graphql"))


def is_test(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    in_tests = "/tests/" in path or "/testing/" in path or path.startswith("e2e/")
    return in_tests or name == "tests.rs" or name.endswith("_tests.rs") or ".test." in name


def is_text(path: str) -> bool:
    kinds = (".rs", ".ts", ".tsx", ".mjs", ".js", ".css", ".py", ".sh", ".md", ".toml", ".yaml", ".yml", ".graphql")
    named = ("Makefile", "Dockerfile", "LICENSE", "run", ".gitignore", ".dockerignore")
    return (path.endswith(kinds) or path.rsplit("/", 1)[-1] in named) and not is_generated(path)


def is_resolver(path: str) -> bool:
    return path.startswith("api/src/graphql/") and is_rust(path)


# What is wrong with a text.


def without_tests(text: str) -> str:
    """The part of a Rust file before its test module."""
    return re.split(r"(?m)^#\[cfg\(test\)\]\nmod \w+ \{", text)[0]


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines without comments."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("//"):
            yield number, line


def matching(pattern: str, message: str, lines: Callable[[str], Iterator[tuple[int, str]]] = code_lines) -> Check:
    compiled = re.compile(pattern)

    def check(_path: str, text: str) -> Iterator[Finding]:
        for number, line in lines(text):
            if found := compiled.search(line):
                yield number, f"{message}: {found.group(0).strip()}"

    return check


def all_lines(text: str) -> Iterator[tuple[int, str]]:
    yield from enumerate(text.splitlines(), 1)


def shipped_lines(text: str) -> Iterator[tuple[int, str]]:
    yield from code_lines(without_tests(text))


def size(path: str, text: str) -> Iterator[Finding]:
    whole, shipped = len(text.splitlines()), len(without_tests(text).splitlines())
    if is_test(path):
        if whole > TEST_LINES:
            yield 1, f"{whole} lines; a test file has at most {TEST_LINES}"
    elif path.endswith(".tsx") and whole > COMPONENT_LINES:
        yield 1, f"{whole} lines; a component file has at most {COMPONENT_LINES}"
    elif shipped > SOURCE_LINES:
        yield 1, f"{shipped} lines without tests; a source file has at most {SOURCE_LINES}: what is the second thing in it?"


def module_doc(_path: str, text: str) -> Iterator[Finding]:
    if not text.startswith("//! "):
        yield 1, "the file does not open with a module doc (//!)"


def resolver_size(_path: str, text: str) -> Iterator[Finding]:
    """Counts the lines of each function's body; rustfmt puts its closing brace below its first letter."""
    begin, indent, name = 0, "", ""
    for number, line in enumerate(without_tests(text).splitlines(), 1):
        if opened := re.match(r"( *)(?:pub(?:\([a-z:]+\))? )?(?:async )?fn (\w+)", line):
            begin, indent, name = number, opened.group(1), opened.group(2)
        if line.rstrip() == indent + "}" and begin:
            if number - begin + 1 > RESOLVER_LINES:
                yield begin, f"{name} has {number - begin + 1} lines; a resolver has at most {RESOLVER_LINES}"
            begin = 0


def log_form(_path: str, text: str) -> Iterator[Finding]:
    """A log line is a constant: lower case, no values in it, no full stop; the values are fields."""
    for call in re.finditer(r"tracing::(?:error|warn|info|debug|trace)!\((.*?)\);?\n", text, re.DOTALL):
        literals = re.findall(r'"((?:[^"\\]|\\.)*)"', call.group(1))
        number = text.count("\n", 0, call.start()) + 1
        if not literals:
            yield number, "a log line needs a message"
        elif re.search(r"\{|\.$|^[A-Z]", literals[-1]):
            yield number, f"log messages are constant, lower case, without a full stop: {literals[-1]}"


def links(path: str, text: str) -> Iterator[Finding]:
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if fenced:
            continue
        for target in re.findall(r"\]\(([^)\s]+)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:|#", target):
                continue
            if not (ROOT / path).parent.joinpath(target.split("#")[0]).exists():
                yield number, f"the link leads nowhere: {target}"


def paths_exist(_path: str, text: str) -> Iterator[Finding]:
    """In the map of the repository, each path in backticks that names one of its folders is there."""
    folders = "domain|infra|sandbox|api|migrations|frontend|e2e|deploy|scripts|docs|demo"
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(rf"`((?:{folders})/[\w./-]*)`", line):
            if not (ROOT / target).exists():
                yield number, f"there is no {target}"


def white_space(_path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield number, "white space at the end of the line"
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "the last line has no end"


# Words of where a text was written are no part of the project. They are spelt in halves, since this file is checked.
FOREIGN = re.compile("|".join([r"(?<![\w.])/wo" r"rk/", "sub" "agent", "sub-" "agent", r"/root/\.car" "go", "deb" r"\.debian\.org"]), re.IGNORECASE)

# A word of the glossary, and the names that would say the same.
SYNONYMS = {
    "Execution": "Run|Job|Workflow",
    "NodeAttempt": "Retry|Step|TaskAttempt",
    "AgentIteration": "Turn|LoopTurn|Round",
    "ModelCall": "Completion|Inference|Generation|LlmCall",
    "ToolCall": "FunctionCall|ToolUse",
    "SandboxExecution": "Exec|ShellCall",
    "SandboxProfile": "SandboxTemplate|SandboxPolicy",
    "Lease": "Lock|ExecutionLock",
    "Budget": "Quota|Allowance",
    "Reservation": "Hold|CreditHold",
    "StopReason": "StopStatus|EndReason",
}
SYNONYM_NAMES = "|".join(SYNONYMS.values())

RULES = [
    Rule(
        "size",
        lambda path: is_rust(path) or is_script_source(path),
        size,
        bad=[
            ("domain/src/a.rs", "x\n" * 501),
            ("infra/tests/it/a.rs", "x\n" * 801),
            ("frontend/src/A.tsx", "x\n" * 301),
            ("frontend/src/a.ts", "x\n" * 501),
        ],
        good=[("domain/src/a.rs", "x\n" * 500 + "#[cfg(test)]\nmod tests {\n" + "x\n" * 200), ("a/tests/b.rs", "x\n" * 800)],
    ),
    Rule(
        "module doc",
        lambda path: is_rust(path) and not is_test(path) and not path.endswith("build.rs"),
        module_doc,
        bad=[("domain/src/a.rs", "use std::fmt;\n")],
        good=[("domain/src/a.rs", "//! A Lease is a claim.\n")],
    ),
    Rule(
        "unfinished",
        lambda path: is_rust(path) or is_script_source(path),
        matching(
            r"\b(todo|unimplemented)!\(|#\[ignore|\b(FIX" r"ME|XX" r"X)\b|#!?\[allow\(|\b(it|test|describe)\.(skip|only|todo)\(|@ts-(ignore|nocheck)",
            "unfinished or silenced",
            all_lines,
        ),
        bad=[
            ("api/src/a.rs", "    todo!()\n"),
            ("api/src/a.rs", "    unimplemented!()\n"),
            ("api/src/a.rs", "#[ignore = 'slow']\n"),
            ("api/src/a.rs", "#[allow(dead_code)]\n"),
            ("api/src/a.rs", "// FIX" "ME later\n"),
            ("frontend/src/a.test.ts", "it.only('x', () => {})\n"),
            ("frontend/src/a.ts", "// @ts-ignore\n"),
        ],
        good=[("api/src/a.rs", "#[allow_missing = true]\n#[expect(unused, reason = 'x')]\n")],
    ),
    Rule(
        "unsafe",
        lambda path: is_rust(path) and path != UNSAFE_FILE,
        matching(r"unsafe_code|\bunsafe (\{|fn|impl)", f"unsafe code stands only in {UNSAFE_FILE}"),
        bad=[("sandbox/src/local/a.rs", "#![expect(unsafe_code, reason = 'x')]\n"), ("infra/src/a.rs", "unsafe { x() }\n")],
        good=[("sandbox/src/local/a.rs", "let unsafe_name = 1;\n")],
    ),
    Rule(
        "thin GraphQL",
        is_resolver,
        matching(r"\b(sea_orm|sqlx|redis|infra|reqwest)\b|(?<![:\w])sandbox::(local|manager|opensandbox|runner)\b", "resolvers know no adapter"),
        bad=[("api/src/graphql/a.rs", "use sea_orm::Value;\n"), ("api/src/graphql/a.rs", "infra::sql::open();\n"), ("api/src/graphql/a.rs", "use sandbox::manager::X;\n")],
        good=[("api/src/graphql/a.rs", "use domain::sandbox::Profile;\n"), ("api/src/graphql/a.rs", "// not infra\n")],
    ),
    Rule(
        "resolver size",
        lambda path: is_resolver(path) and path.rsplit("/", 1)[-1] in ("query.rs", "mutation.rs", "subscription.rs", "object.rs"),
        resolver_size,
        bad=[("api/src/graphql/a/query.rs", "impl Q {\n    async fn a() {\n" + "        x\n" * 24 + "    }\n}\n")],
        good=[("api/src/graphql/a/query.rs", "impl Q {\n    async fn a() {\n" + "        x\n" * 23 + "    }\n}\n")],
    ),
    Rule(
        "one place wires",
        lambda path: is_rust(path) and path.startswith("api/src/") and path != "api/src/wiring.rs" and not is_test(path),
        matching(ADAPTERS, "only api/src/wiring.rs names adapters", shipped_lines),
        bad=[("api/src/server.rs", "let store = SqlStore::open();\n")],
        good=[("api/src/server.rs", "let store = open_store();\n#[cfg(test)]\nmod tests {\n    SqlStore::open();\n")],
    ),
    Rule(
        "no I/O in domain",
        lambda path: is_rust(path) and path.startswith("domain/src/") and not is_test(path),
        matching(
            r"\btokio::|\btokio_util::(?!sync::CancellationToken\b)|\bstd::(fs|net|process|env)\b|Instant::now",
            "domain knows no runtime and no I/O",
            shipped_lines,
        ),
        bad=[
            ("domain/src/a.rs", "use tokio::time::sleep;\n"),
            ("domain/src/a.rs", "use tokio_util::task::TaskTracker;\n"),
            ("domain/src/a.rs", "std::fs::read(path)\n"),
        ],
        good=[("domain/src/a.rs", "use tokio_util::sync::CancellationToken;\n#[cfg(test)]\nmod tests {\n    tokio::spawn();\n")],
    ),
    Rule(
        "names",
        is_rust,
        matching(
            r"\b(struct|enum|trait|type) (?!SandboxManager\b)\w*(Manager|Helper|Utils?|Impl|Service|Handler)\b",
            "the name says nothing; style of names: CONTRIBUTING.md",
        ),
        bad=[("api/src/a.rs", "pub struct RunManager {\n"), ("api/src/a.rs", "trait StoreImpl {\n")],
        good=[("sandbox/src/a.rs", "pub struct SandboxManager {\n"), ("api/src/a.rs", "struct Services {\n")],
    ),
    Rule(
        "glossary",
        lambda path: is_rust(path) and (path.startswith("domain/") or is_resolver(path)),
        matching(rf"\b(struct|enum|trait|type) ({SYNONYM_NAMES})\b", "GLOSSARY.md has another word for it"),
        bad=[("domain/src/a.rs", "pub struct Job {\n"), ("api/src/graphql/a.rs", "enum EndReason {\n")],
        good=[("domain/src/a.rs", "pub struct Execution {\n"), ("infra/src/a.rs", "enum EndReason {\n")],
    ),
    Rule(
        "log form",
        lambda path: is_rust(path) and not is_test(path),
        log_form,
        bad=[
            ("api/src/a.rs", 'tracing::info!("Ready.");\n'),
            ("api/src/a.rs", 'tracing::warn!(\n    a = 1,\n    "no {a}"\n);\n'),
            ("api/src/a.rs", "tracing::info!(a = 1);\n"),
        ],
        good=[("api/src/a.rs", 'tracing::info!(url = "x", "ready");\n')],
    ),
    Rule(
        "links",
        lambda path: path.endswith(".md"),
        links,
        bad=[("README.md", "see [it](docs/nowhere.md)\n")],
        good=[("README.md", "see [it](scripts/tidy.py) [that](https://example.org) [up](#top)\n```\n[no](no.md)\n```\n")],
    ),
    Rule(
        "map",
        lambda path: path in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "GLOSSARY.md"),
        paths_exist,
        bad=[("ARCHITECTURE.md", "the loop is `domain/src/no/loop.rs`\n")],
        good=[("ARCHITECTURE.md", "this is `scripts/tidy.py`\n")],
    ),
    Rule(
        "lock file",
        lambda path: path.endswith("package-lock.json"),
        matching(r'"resolved": "https?:', "a lock file names no server; set omit-lockfile-registry-resolved", all_lines),
        bad=[("frontend/package-lock.json", '  "resolved": "https://example.org/a.tgz",\n')],
        good=[("frontend/package-lock.json", '  "integrity": "sha512-x",\n')],
    ),
    Rule(
        "white space",
        is_text,
        white_space,
        bad=[("README.md", "a \n"), ("README.md", "a")],
        good=[("README.md", "a\n\nb\n"), ("README.md", "")],
    ),
    Rule(
        "foreign words",
        lambda path: is_text(path) or path.endswith(".snap"),
        matching(FOREIGN.pattern, "this is not the project's own word", all_lines),
        bad=[("README.md", "see /wo" "rk/shared\n"), ("README.md", "a sub" "agent\n")],
        good=[("README.md", "the network/work folder, /workspace/inputs\n")],
    ),
]


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    )
    paths = listed.stdout.decode().split("\0")
    return sorted(path for path in set(paths) if path and (ROOT / path).is_file())


def self_test() -> int:
    faults = []
    for rule in RULES:
        for path, text in rule.bad:
            if not rule.applies(path) or not list(rule.check(path, text)):
                faults.append(f"{rule.name}: lets pass what it should refuse: {path}: {text[:60]!r}")
        for path, text in rule.good:
            if rule.applies(path) and (found := list(rule.check(path, text))):
                faults.append(f"{rule.name}: refuses what it should let pass: {path}: {found}")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"tidy: self-test of {len(RULES)} rules, {len(faults)} faults")
    return 1 if faults else 0


def check_repository() -> int:
    count = 0
    used = {rule.name: 0 for rule in RULES}
    for path in tracked():
        rules = [rule for rule in RULES if rule.applies(path)]
        if not rules:
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        for rule in rules:
            used[rule.name] += 1
            for line, message in rule.check(path, text):
                count += 1
                print(f"{path}:{line}: {rule.name}: {message}", file=sys.stderr)
    for name, files in used.items():
        if files == 0:
            count += 1
            print(f"{name}: the rule applies to no file: were the folders renamed?", file=sys.stderr)
    print(f"tidy: {len(RULES)} rules, {count} findings")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(self_test() if "--self-test" in sys.argv[1:] else check_repository())

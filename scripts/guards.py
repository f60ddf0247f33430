#!/usr/bin/env python3
"""Checks the guards' guards: with a check taken out of the program, at least one named test must fail.

For each guard below it changes one place in a copy of the working tree, runs the named tests, and wants to see each of
them fail; before that, unchanged, it wants to see each of them pass. It builds everything in a directory of its own, so it takes a while;
`make guards` runs it when a guard or its tests have changed. The last lines are a table for docs/guards.md.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Guard:
    name: str
    file: str
    whole: str
    broken: str
    # Test target (None for unit tests), tests.
    suites: list[tuple[str | None, list[str]]]


GUARDS = [
    Guard(
        "the lease fence: a commit under an old epoch",
        "infra/src/sql/commits.rs",
        "AND lease_epoch = ? AND next_sequence = ?",
        "AND lease_epoch >= 0 * ? AND next_sequence >= 0 * ?",
        [("it", ["contracts::sqlite::claims::a_stale_worker_writes_nothing"])],
    ),
    Guard(
        "the lease fence: a renewal under an old epoch",
        "infra/src/sql/claims.rs",
        "WHERE tenant_id = ? AND id = ? AND lease_epoch = ? \\\n         AND open_since IS NOT NULL AND lease_owner",
        "WHERE tenant_id = ? AND id = ? AND lease_epoch >= 0 * ? \\\n         AND open_since IS NOT NULL AND lease_owner",
        [("it", ["contracts::sqlite::claims::a_stale_worker_writes_nothing"])],
    ),
    Guard(
        "the budget check: money",
        "domain/src/budget/ledger.rs",
        "by_cost.filter(|cap| *cap >= useful).ok_or(Limit::Cost)?",
        "by_cost.unwrap_or(u64::MAX)",
        [(None, ["budget::tests::refuses_a_call_when_the_useful_minimum_does_not_fit"])],
    ),
    Guard(
        "the budget check: tool calls",
        "domain/src/budget/ledger.rs",
        "let granted = wanted.min(left);",
        "let granted = wanted.max(left.min(wanted));",
        [(None, ["budget::tests::grants_only_the_tool_calls_that_fit"])],
    ),
    Guard(
        "the budget check: what others hold of an account",
        "infra/src/sql/account_moves.rs",
        "a.max_nano_usd + added_nano_usd - spent_nano_usd - reserved_nano_usd)",
        "a.max_nano_usd + added_nano_usd - spent_nano_usd)",
        [("it", ["contracts::sqlite::accounts::a_hold_takes_what_fits_and_nothing_else"])],
    ),
    Guard(
        "the budget check: every account that applies",
        "infra/src/sql/account_moves.rs",
        " AND ? = (SELECT COUNT(*)",
        " AND ? >= 0 * (SELECT COUNT(*)",
        [("it", ["contracts::sqlite::accounts::a_hold_covers_every_account_that_applies"])],
    ),
    Guard(
        "the authoriser: what the API asks",
        "domain/src/access/authorizer.rs",
        "match self.decide(principal, action, target, facts) {",
        "match self.decide(principal, action, target, facts).map(|_| Decision::Allow) {",
        [("graphql", ["access::lets_a_viewer_read_and_forbids_the_rest"])],
    ),
    Guard(
        "the authoriser: what the loop asks before a call",
        "domain/src/agent/claim.rs",
        "self.ports.authorizer.authorize(&self.principal(), Action::Use, &target).await",
        "{ let _ = (Action::Use, &target, &self.ports.authorizer); Ok(()) }",
        [
            (
                "agent",
                [
                    "access::a_model_that_was_revoked_is_not_called",
                    "access::a_grant_that_was_revoked_in_mid_run_ends_the_run",
                    "access::a_sandbox_profile_that_was_revoked_is_not_used",
                ],
            )
        ],
    ),
    Guard(
        "the redactor: what a model's provider says",
        "infra/src/model/redact.rs",
        "bound(&without_tokens(&without_key))",
        "{ let _ = (&without_key, without_tokens); bound(text) }",
        [("model", ["refusals::a_status_has_its_class_and_no_secret_gets_out"])],
    ),
    Guard(
        "the redactor: what a sandbox server says",
        "sandbox/src/opensandbox/redact.rs",
        "text = text.replace(secret, MARK);",
        "let _ = (secret, MARK);",
        [(None, ["opensandbox::reply::tests::redacts_before_it_cuts"])],
    ),
    Guard(
        "the redactor: a secret that comes in pieces",
        "domain/src/sandbox/redact/stream.rs",
        "Probe::Begun { .. } | Probe::Found { may_grow: true, .. } => break,",
        "Probe::Begun { .. } | Probe::Found { may_grow: true, .. } => at += 1,",
        [(None, ["sandbox::redact::tests::a_secret_never_comes_out_however_it_is_written_and_cut"])],
    ),
    Guard(
        "the redactor: what a program prints",
        "domain/src/sandbox/redacting.rs",
        "output.push(stream, text)",
        "{ let _ = output.push(stream, text); vec![(stream, text.to_owned())] }",
        [("agent", ["sandboxes::a_credential_is_there_for_one_call_and_never_comes_back"])],
    ),
    Guard(
        "the redactor: files with a secret in the workspace",
        "domain/src/sandbox/redacting.rs",
        "Some(bytes) if redactor(sandbox).is_in(&bytes) => Err(",
        "Some(bytes) if false && redactor(sandbox).is_in(&bytes) => Err(",
        [("agent", ["sandboxes::a_credential_is_there_for_one_call_and_never_comes_back"])],
    ),
    Guard(
        "the authoriser: what is asked before a credential is lent",
        "domain/src/tool_call/credentials.rs",
        "match claim.authorize_use(credential.credential_id).await {",
        "match claim.authorize_use(credential.credential_id).await.or(Ok(())) {",
        [("agent", ["sandboxes::a_revoked_grant_stops_the_next_call"])],
    ),
    Guard(
        "the quota: sandboxes of a tenant at one time",
        "infra/src/sql/sandboxes.rs",
        "if taken >= quota {",
        "if taken > quota {",
        [("agent", ["sandboxes::a_call_beyond_the_quota_fails_and_the_run_goes_on"])],
    ),
    Guard(
        "the network: addresses that are not public",
        "sandbox/src/public_network.rs",
        "IpAddr::V4(address) => !CLOSED.iter().any(|(base, bits)| is_within(address.into(), (*base).into(), *bits)),",
        "IpAddr::V4(address) => address.is_unspecified() || CLOSED.len() == 17,",
        [("local_egress", ["closed_addresses_stay_closed_whatever_the_policy_says"])],
    ),
    Guard(
        "the network: hosts that are not on the list",
        "sandbox/src/local/egress/policy.rs",
        "pub fn allows(&self, host: &Host, port: u16) -> bool {",
        "pub fn allows(&self, host: &Host, port: u16) -> bool {\n        if port > 0 {\n            return true;\n        }",
        [("local_egress", ["listed_hosts_are_reached_and_others_are_not"])],
    ),
]


def run(tree: Path, target: str | None, tests: list[str]) -> dict[str, bool]:
    """Whether each test passed. A build that fails is an error: it would prove nothing."""
    # The whole workspace is named, so that features are the same as in the tests; the target is in one package only.
    where = ["--lib"] if target is None else ["--test", target]
    build = ["cargo", "test", "--workspace", "--features", os.environ.get("FEATURES", "sandbox/testing"), "--no-run"]
    built = subprocess.run([*build, *where], cwd=tree, capture_output=True, text=True)
    if built.returncode != 0:
        sys.exit(f"the changed program does not compile:\n{built.stderr[-3000:]}")
    command = [*build[:-1], "--no-fail-fast", *where, "--", "--exact", *tests]
    said = subprocess.run(command, cwd=tree, capture_output=True, text=True).stdout
    ends = {test: f"test {test} ... " for test in tests}
    missing = [test for test, begin in ends.items() if f"\n{begin}" not in said]
    if missing:
        sys.exit(f"these tests did not run: {', '.join(missing)}\n{said[-3000:]}")
    return {test: f"\n{begin}ok" in said for test, begin in ends.items()}


def copy_of_the_tree(into: Path) -> Path:
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, files.stdout.decode().split("\0")):
        source, copy = ROOT / name, into / name
        if source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
    return into


def check(tree: Path, guard: Guard) -> list[str]:
    path = tree / guard.file
    text = path.read_text()
    if text.count(guard.whole) != 1:
        sys.exit(f"{guard.file}: the place of “{guard.name}” is there {text.count(guard.whole)} times; mend {__file__}")
    rows = []
    path.write_text(text.replace(guard.whole, guard.broken))
    try:
        for target, tests in guard.suites:
            for test, passed in run(tree, target, tests).items():
                print(f"  {'STILL PASSES' if passed else 'fails'}: {test}", flush=True)
                rows.append(f"| {guard.name} | `{guard.file}` | `{test}` | {'**still passes**' if passed else 'fails'} |")
    finally:
        path.write_text(text)
    return rows


def main() -> None:
    # A directory of its own: cargo takes the crates of two copies of one workspace for the same.
    os.environ["CARGO_TARGET_DIR"] = str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "guards")
    with tempfile.TemporaryDirectory(prefix="vitrine-guards-") as directory:
        tree = copy_of_the_tree(Path(directory))
        print("Unchanged, every named test must pass", flush=True)
        for target in {target: None for guard in GUARDS for target, _ in guard.suites}:
            named = {test for guard in GUARDS for other, tests in guard.suites if other == target for test in tests}
            failed = [test for test, passed in run(tree, target, sorted(named)).items() if not passed]
            if failed:
                sys.exit(f"these fail already: {', '.join(failed)}")
        rows = []
        for guard in GUARDS:
            print(f"Without {guard.name}", flush=True)
            rows += check(tree, guard)
    print("\n| taken out | where | test | result |\n| --- | --- | --- | --- |")
    print("\n".join(rows))
    if any("still passes" in row for row in rows):
        sys.exit("a guard can be taken out and its test still passes")


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# Runs every test: the Rust workspace, Studio's units, and Studio in a browser.
#
# Installs what they need first. The tests start the servers they use, on loopback, and stop them; nothing is left
# running. The last line is the sum of all suites. A suite that ran no test is a failure.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"

need_toolchain
need_sandbox
need_packages python3=python3 mariadbd=mariadb-server-core my_print_defaults=mariadb-client-core
[ ! -f e2e/browser/package.json ] || need_packages chromium=chromium

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
passed=0
failed=0
summary=()
broken=0

# suite NAME COUNTER COMMAND...: runs it, shows what it prints, and adds up what it counted.
suite() {
    local name=$1 counter=$2 log status=0 counts ok bad note=''
    shift 2
    log="$logs/log"
    say "$name: $*"
    "$@" </dev/null 2>&1 | tee "$log" || status=$?
    counts=$("$counter" <"$log")
    read -r ok bad <<<"$counts"
    passed=$((passed + ok))
    failed=$((failed + bad))
    [ "$((ok + bad))" -gt 0 ] || note=' (ran no test)'
    [ "$status" -eq 0 ] || note="$note (exit status $status)"
    [ -z "$note" ] || broken=1
    summary+=("$name: $ok passed, $bad failed$note")
}

plain() { sed 's/\x1b\[[0-9;]*m//g'; }

# "test result: ok. 12 passed; 0 failed; ..." for each test binary.
count_cargo() { plain | awk '/^test result:/ { for (i = 1; i < NF; i++) { if ($(i + 1) ~ /^passed/) ok += $i; if ($(i + 1) ~ /^failed/) bad += $i } } END { print ok + 0, bad + 0 }'; }

# "Tests  3 failed | 61 passed (64)".
count_vitest() { plain | awk '$1 == "Tests" { for (i = 1; i < NF; i++) { if ($(i + 1) ~ /^passed/) ok += $i; if ($(i + 1) ~ /^failed/) bad += $i } } END { print ok + 0, bad + 0 }'; }

# Node's own runner: "# pass 5" or "ℹ pass 5".
count_node() { plain | awk '($1 == "#" || $1 == "ℹ") && NF == 3 { if ($2 == "pass") ok += $3; if ($2 == "fail") bad += $3 } END { print ok + 0, bad + 0 }'; }

scripts/studio.sh
suite 'Rust workspace' count_cargo \
    cargo test --locked --workspace --features "$FEATURES" --no-fail-fast
say 'schema.graphql is what the program prints'
if ! "$(target_dir)/debug/vitrine" schema | diff -u schema.graphql -; then
    printf 'error: schema.graphql is not what the program prints; run make update\n' >&2
    broken=1
fi
suite 'Studio units' count_vitest npm --prefix frontend test
if [ -f e2e/browser/package.json ]; then
    npm --prefix e2e/browser ci --no-audit --no-fund </dev/null
    suite 'Studio in a browser' count_node npm --prefix e2e/browser test
fi

say 'Suites'
printf '%s\n' "${summary[@]}"
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$broken" -eq 0 ]

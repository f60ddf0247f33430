#!/usr/bin/env bash
# Runs every test: the Rust workspace, Studio's units, and Studio in a browser.
#
# Installs what they need first. The tests start the servers they use, on loopback, and stop them; nothing is left
# running. The last line is the sum of all suites. A suite that ran no test is a failure.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"

need_toolchain
need_test_programs

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
count_cargo() {
    plain | awk '
        /^test result:/ {
            for (i = 1; i < NF; i++) {
                if ($(i + 1) ~ /^passed/) ok += $i
                if ($(i + 1) ~ /^failed/) bad += $i
            }
        }
        END { print ok + 0, bad + 0 }'
}

# Vitest says "Tests  3 failed | 61 passed (64)", Playwright "5 passed", Node's own runner "# pass 5" or "ℹ pass 5".
count_npm() {
    plain | awk '
        $1 == "Tests" || (NF >= 2 && $1 ~ /^[0-9]+$/ && $2 ~ /^(passed|failed)$/) {
            for (i = 1; i < NF; i++) {
                if ($(i + 1) ~ /^passed/) ok += $i
                if ($(i + 1) ~ /^failed/) bad += $i
            }
        }
        ($1 == "#" || $1 == "ℹ") && NF == 3 && $2 == "pass" { ok += $3 }
        ($1 == "#" || $1 == "ℹ") && NF == 3 && $2 == "fail" { bad += $3 }
        END { print ok + 0, bad + 0 }'
}

# "Ran 22 tests in 0.9s" and then "OK" or "FAILED (failures=1, errors=2)".
count_unittest() {
    plain | awk '
        /^Ran [0-9]+ tests? in/ { ran += $2 }
        /^FAILED \(/ {
            n = split($0, parts, /[(,)]/)
            for (i = 1; i <= n; i++) if (split(parts[i], pair, "=") == 2 && pair[1] ~ /failures|errors/) bad += pair[2]
        }
        END { print ran - bad, bad + 0 }'
}

# The ids of the running processes whose program was built here.
mkdir -p "$(target_dir)"
built=$(cd "$(target_dir)" && pwd -P)
ours() {
    { find /proc -mindepth 2 -maxdepth 2 -name exe -lname "$built/*" 2>/dev/null || true; } | cut -d/ -f3 | LC_ALL=C sort
}

# What a test has started and not stopped. The last ones may still be on their way out.
left_behind() {
    local left='' end=$((SECONDS + 10))
    while [ "$SECONDS" -lt "$end" ]; do
        left=$(LC_ALL=C comm -13 <(printf '%s\n' "$before") <(ours))
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    # shellcheck disable=SC2086
    ps -o pid,ppid,args -p "$(echo $left | tr ' ' ',')" || true
    return 1
}

before=$(ours)
scripts/studio.sh
suite 'Rust workspace' count_cargo \
    cargo test --locked --workspace --features "$FEATURES" --no-fail-fast
suite "OpenSandbox's specifications" count_unittest scripts/spec.sh test
suite 'Studio units' count_npm npm --prefix frontend test
if [ -f e2e/browser/package.json ]; then
    npm --prefix e2e/browser ci --no-audit --no-fund </dev/null
    suite 'Studio in a browser' count_npm npm --prefix e2e/browser test
fi

if ! left_behind; then
    printf 'error: tests have left these processes running\n' >&2
    broken=1
fi

say 'Suites'
printf '%s\n' "${summary[@]}"
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$broken" -eq 0 ]

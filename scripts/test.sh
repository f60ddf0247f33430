#!/usr/bin/env bash
# Runs every test: the Rust workspace, Studio's units, and Studio in a browser.
#
# Installs what they need first. The tests start the servers they use, on loopback, and stop them; nothing is left
# running. The last line is the sum of all suites. A suite that ran no test is a failure.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=scripts/suites.sh
. "$(dirname -- "$0")/suites.sh"

need_toolchain
need_test_programs

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

conclude

#!/usr/bin/env bash
# Runs only the tests that drive the whole program from outside, built exactly as for `make test`.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"

need_toolchain
need_test_programs

tests=()
for file in e2e/tests/*.rs e2e/tests/*/main.rs; do
    [ -f "$file" ] || continue
    name=${file#e2e/tests/}
    name=${name%/main.rs}
    tests+=(--test "${name%.rs}")
done
[ "${#tests[@]}" -gt 0 ] || [ -f e2e/browser/package.json ] || die 'there are no tests in e2e'

scripts/studio.sh
# With the tests of the whole workspace the program is built, too, and with the same features.
cargo test --locked --workspace --features "$FEATURES" --no-run
[ "${#tests[@]}" -eq 0 ] || cargo test --locked --workspace --features "$FEATURES" "${tests[@]}"

if [ -f e2e/browser/package.json ]; then
    npm --prefix e2e/browser ci --no-audit --no-fund </dev/null
    npm --prefix e2e/browser test </dev/null
fi

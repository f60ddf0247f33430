#!/usr/bin/env bash
# Every check that runs no test: formatting, lints, arrows, house rules, derived files, and licences when cargo-deny is there.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"
need_toolchain
has python3 || need_packages python3=python3

say 'Formatting (cargo fmt --check)'
cargo fmt --all --check

say 'House rules (scripts/tidy.py)'
python3 scripts/tidy.py --self-test
python3 scripts/tidy.py

say 'Arrows between crates (scripts/check-arrows.sh)'
scripts/check-arrows.sh

say 'Lints (cargo clippy)'
cargo clippy --locked --workspace --all-targets --features "$FEATURES" -- --deny warnings

say "Studio's types and lints"
scripts/studio.sh --install-only
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
cp -R frontend/src/graphql/generated "$before"
(cd frontend && npm run --silent codegen </dev/null)
diff -ru "$before/generated" frontend/src/graphql/generated ||
    die "Studio's types were not those of schema.graphql; they are now: commit them"
(cd frontend && npm run --silent typecheck </dev/null && npm run --silent lint </dev/null)

say 'Licences and sources of dependencies (cargo deny)'
if has cargo-deny; then
    cargo deny --locked check bans licenses sources
else
    printf 'skipped: cargo-deny is not installed (cargo install cargo-deny --locked)\n'
fi

if has shellcheck; then
    say 'Shell scripts (shellcheck)'
    shellcheck --external-sources scripts/*.sh .ci/run
fi

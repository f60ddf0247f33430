#!/usr/bin/env bash
# Writes every derived file again: the schema, Studio's types from it, and the snapshots of the tests.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"
need_toolchain

say 'schema.graphql'
# Through a file: a build that fails must not leave an empty schema.
new=$(mktemp)
trap 'rm -f "$new"' EXIT
cargo run --locked --quiet --bin vitrine --features "$FEATURES" -- schema >"$new"
cat "$new" >schema.graphql

say "Studio's types"
scripts/studio.sh --install-only
(cd frontend && npm run --silent codegen </dev/null)

say 'Formatting'
cargo fmt --all

say 'Snapshots'
INSTA_UPDATE=always cargo test --locked --workspace --features "$FEATURES"

say 'What changed'
git status --short

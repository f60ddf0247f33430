#!/usr/bin/env bash
# Every check that runs no test: formatting, house rules, arrows, lints, derived files; licences and shell scripts where
# their programs are there. All of them run; the end says which failed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"
need_toolchain
need_packages python3=python3

failed=()

# check NAME COMMAND...
check() {
    local name=$1
    shift
    say "$name"
    "$@" </dev/null || failed+=("$name")
}

# Studio's types are those of schema.graphql: generating them again changes nothing.
generated_types() (
    before=$(mktemp -d)
    trap 'rm -rf "$before"' EXIT
    cp -R frontend/src/graphql/generated "$before"
    npm --prefix frontend run --silent codegen || exit 1
    diff -ru "$before/generated" frontend/src/graphql/generated && exit 0
    printf "Studio's types were not those of schema.graphql. They are now; commit them.\n" >&2
    exit 1
)

# The inventory is what the pinned specifications and the list of what is in use say: making it again changes nothing.
specifications() (
    before=$(mktemp)
    trap 'rm -f "$before"' EXIT
    cp sandbox/spec.inventory.json "$before"
    scripts/spec.sh generate "$OPENSANDBOX_SPECS" || exit 1
    if ! diff -u "$before" sandbox/spec.inventory.json; then
        printf 'The inventory was not that of the specifications. It is now; commit it.\n' >&2
        exit 1
    fi
    scripts/spec.sh verify "$OPENSANDBOX_SPECS"
)

check 'Formatting' cargo fmt --all --check
check 'House rules can fail' python3 scripts/tidy.py --self-test
check 'House rules' python3 scripts/tidy.py
check 'Arrows between crates' scripts/check-arrows.sh
check 'Lints' cargo clippy --locked --workspace --all-targets --features "$FEATURES" -- --deny warnings
check "Studio's packages" scripts/studio.sh --install-only
check "Studio's types are up to date" generated_types
check "Studio's types hold" npm --prefix frontend run --silent typecheck
check "Studio's lints" npm --prefix frontend run --silent lint
check "OpenSandbox's pins and their matrix" scripts/spec.sh matrix
if [ -n "${OPENSANDBOX_SPECS:-}" ]; then
    check "OpenSandbox's specifications" specifications
else
    say "OpenSandbox's specifications: skipped, OPENSANDBOX_SPECS names no directory with them"
fi
if has cargo-deny; then
    check 'Licences and sources of dependencies' cargo deny --locked check bans licenses sources
else
    say 'Licences and sources of dependencies: skipped, cargo-deny is not installed'
fi
if has shellcheck; then
    check 'Shell scripts' shellcheck --external-sources scripts/*.sh .ci/run
else
    say 'Shell scripts: skipped, shellcheck is not installed'
fi

[ "${#failed[@]}" -eq 0 ] || die "these checks failed: $(printf '%s; ' "${failed[@]}")"
say 'All checks hold'

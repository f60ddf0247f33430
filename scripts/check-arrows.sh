#!/usr/bin/env bash
# Keeps the arrows between the crates: who may know whom, and which crate may use which library.
#
# Each check has its twin: a name that nobody depends on fails, so that a misspelt one cannot pass for an absent one.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"

has cargo || die 'cargo is missing'
faults=0
checks=0

fault() {
    printf 'arrow: %s\n' "$*" >&2
    faults=$((faults + 1))
}

# The crates of this workspace that depend directly on a package, tests and build scripts left out, in one line.
direct_dependents() {
    cargo tree --locked --workspace --edges normal --invert "$1" --depth 1 --prefix none --format '{p}' |
        sed -n "s|^\([^ ]*\) v[^ ]* (\(proc-macro) (\)\?$root/.*|\1|p" | grep -vFx -e "$1" | LC_ALL=C sort -u | tr '\n' ' '
}

# only PACKAGE CRATE...: exactly these crates name the package in their dependencies.
only() {
    local package=$1 found
    shift
    checks=$((checks + 1))
    found=$(direct_dependents "$package") || found=''
    [ "$found" = "$(printf '%s\n' "$@" | LC_ALL=C sort -u | tr '\n' ' ')" ] ||
        fault "$package may be a dependency of: $*; it is one of: ${found:-nobody}"
}

# never CRATE PACKAGE...: none of these is reached from the crate, on any path.
never() {
    local crate=$1 package answer
    shift
    for package in "$@"; do
        checks=$((checks + 1))
        if answer=$(cargo tree --locked --package "$crate" --edges normal --invert "$package" --prefix none 2>&1); then
            case "$answer" in
            "$package v"*) fault "$crate must not reach $package; try: cargo tree -p $crate -i $package" ;;
            *) fault "cargo tree says about $crate and $package: $answer" ;;
            esac
        elif ! grep -q 'did not match any packages' <<<"$answer"; then
            fault "cargo tree says about $crate and $package: $answer"
        fi
        exists "$package" || fault "$package is in nobody's tree: is the name right?"
    done
}

declare -A known=()
exists() {
    [ -n "${known[$1]:-}" ] ||
        cargo tree --locked --workspace --edges normal --invert "$1" --depth 0 >/dev/null 2>&1 || return 1
    known[$1]=yes
}

# Our own crates.
only domain api infra sandbox
only infra api
only sandbox api
only migrations api
never domain infra sandbox migrations
never infra sandbox
never sandbox infra
never migrations domain infra sandbox
never e2e domain infra sandbox migrations

# Libraries that stop at one layer.
only async-graphql api
only axum api sandbox
only sea-orm infra
only sea-orm-migration migrations
never domain axum sea-orm sqlx reqwest hyper async-graphql rustls
never sandbox sea-orm async-graphql
never infra async-graphql axum
never migrations async-graphql axum reqwest
never e2e sea-orm async-graphql axum

[ "$faults" -eq 0 ] || die "$faults of $checks arrows are wrong"
printf 'arrows: %s checks, all hold\n' "$checks"

# shellcheck shell=bash
# Functions that the scripts share. Source it: it changes to the root of the repository.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd -- "$root" || exit 1

say() { printf '\n== %s\n' "$*"; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]; }

# Installs Debian packages: as root by the package manager; everybody else is told the one line to run.
install_packages() {
    if [ "$(id -u)" -ne 0 ] || ! has apt-get; then
        local sudo=''
        [ "$(id -u)" -eq 0 ] || sudo='sudo '
        die "missing: $*. Install with: ${sudo}apt-get install -y $*"
    fi
    say "Installing $*"
    DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null
    # In this run level no package starts its service.
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" </dev/null
}

# Each argument is PROGRAM=PACKAGE. Installs the packages whose program is missing.
need_packages() {
    local pair missing=()
    for pair in "$@"; do
        has "${pair%%=*}" || missing+=("${pair#*=}")
    done
    [ "${#missing[@]}" -gt 0 ] || return 0
    install_packages "${missing[@]}"
    for pair in "$@"; do
        has "${pair%%=*}" || die "${pair#*=} was installed, but ${pair%%=*} is not on the path"
    done
}

# Rust and Node are not Debian's: which ones to use is for the developer to choose.
need_toolchain() {
    has cargo || die "cargo is missing. Install Rust $(rust_version) or newer: https://www.rust-lang.org/tools/install"
    has node || die 'node is missing. Install Node.js 20.19 or newer: https://nodejs.org'
    has npm || die 'npm is missing. It comes with Node.js 20.19 or newer: https://nodejs.org'
    has cc || need_packages cc=build-essential
    node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
        die "node $(node --version) is too old. Install Node.js 20.19 or newer: https://nodejs.org"
}

rust_version() { sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml; }

# What the built-in sandbox image shows to the code in it lies below /usr.
need_sandbox() {
    need_packages bwrap=bubblewrap
    [ -x /usr/bin/python3 ] || [ -x /usr/local/bin/python3 ] || need_packages /usr/bin/python3=python3
}

# What the tests need beside Rust and Node. They start their servers themselves.
need_test_programs() {
    need_sandbox
    need_packages python3=python3 mariadbd=mariadb-server-core my_print_defaults=mariadb-client-core
    python3 -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
    [ ! -f e2e/browser/package.json ] || has chromium || install_packages chromium fonts-liberation
}

# The directory that cargo builds into.
target_dir() { printf '%s' "${CARGO_TARGET_DIR:-target}"; }

# python_environment NAME REQUIREMENTS: makes the environment of that name in the target directory, unless it is there and
# as the file says. Prints its directory.
python_environment() {
    local environment
    environment=$(target_dir)/python/$1
    if ! cmp --silent "$2" "$environment/installed-requirements.txt"; then
        python3 -m venv --clear "$environment" >&2
        "$environment/bin/pip" install --quiet --requirement "$2" >&2
        cp "$2" "$environment/installed-requirements.txt"
    fi
    printf '%s' "$environment"
}

# One set of features for every build of a check or a test, so that nothing is compiled twice.
FEATURES=sandbox/testing
export FEATURES

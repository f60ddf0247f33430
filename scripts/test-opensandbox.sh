#!/usr/bin/env bash
# Runs the conformance suite, the fault tests and the comparison of clients against the real OpenSandbox server
# (scripts/opensandbox-server.sh), and stops it again. The last line is the sum; no test at all is a failure.
#
# A server that runs already is used and left running.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=scripts/suites.sh
. "$(dirname -- "$0")/suites.sh"

need_toolchain
scripts/opensandbox-server.sh env >/dev/null 2>&1 || trap 'scripts/opensandbox-server.sh stop; rm -rf "$logs"' EXIT
scripts/opensandbox-server.sh start >/dev/null
while IFS='=' read -r name value; do
    export "$name=$value"
done < <(scripts/opensandbox-server.sh env)

suite 'OpenSandbox server' count_cargo \
    cargo test --locked --workspace --features "$FEATURES" --test conformance
# The programs that it needs were built for the suite above.
suite 'OpenSandbox clients on it' count_cargo \
    cargo test --locked --workspace --features "$FEATURES" --test differential on_the_server_that_is_named -- --nocapture
conclude

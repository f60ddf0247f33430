#!/usr/bin/env bash
# Starts the gate before OpenSandbox's specifications (scripts/spec/gate.py) or its tests, with the one package they need.
#
#   scripts/spec.sh generate DIR | verify DIR | matrix | test [DIR]
#
# DIR has the three files of the pinned commit: a checkout's `specs`, or an archive of it, unpacked.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"

need_packages python3=python3
python3 -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
environment=$(python_environment spec scripts/spec/requirements.txt)

case "${1:-}" in
test)
    OPENSANDBOX_SPECS=${2:-${OPENSANDBOX_SPECS:-}} \
        exec "$environment/bin/python" -B -m unittest discover --start-directory scripts/spec --pattern '*_tests.py'
    ;;
*) exec "$environment/bin/python" -B scripts/spec/gate.py "$@" ;;
esac

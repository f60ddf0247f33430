#!/usr/bin/env bash
# Builds for release and prints speed and size beside what the design allows.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"

need_toolchain
need_sandbox
need_packages python3=python3
# A release build carries Studio inside, so Studio comes first.
scripts/studio.sh
say 'Building for release'
cargo build --locked --release --bin vitrine
say 'Measuring (about a minute)'
python3 scripts/bench.py "$(target_dir)/release/vitrine"

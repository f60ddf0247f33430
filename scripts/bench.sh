#!/usr/bin/env bash
# Builds for release and prints speed and size beside what is aimed at.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"

need_toolchain
need_sandbox
# A release build carries Studio inside, so Studio comes first.
scripts/studio.sh
say 'Building for release'
cargo build --locked --release --bin vitrine --bin bench
say 'Measuring'
"$(target_dir)/release/bench"
printf 'size of the binary: %s MiB\n' "$(($(stat -c %s "$(target_dir)/release/vitrine") / 1048576))"

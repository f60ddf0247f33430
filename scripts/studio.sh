#!/usr/bin/env bash
# Builds Studio into frontend/dist, and only when its sources changed since the last time.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"
need_toolchain

# No spinner: it fills logs with control codes.
export NPM_CONFIG_PROGRESS=false NPM_CONFIG_UPDATE_NOTIFIER=false

cd frontend
installed=node_modules/.vitrine-installed
built=node_modules/.vitrine-built

# One hash over the names and bytes of the files below the given paths.
hash_of() { find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1; }

lock=$(hash_of package.json package-lock.json)
if [ "$(cat "$installed" 2>/dev/null)" != "$lock" ]; then
    say "Installing Studio's packages"
    npm ci --no-audit --no-fund </dev/null
    printf '%s' "$lock" >"$installed"
fi

[ "${1:-}" != --install-only ] || exit 0

sources=$(hash_of package.json package-lock.json index.html tsconfig.json vite.config.ts src)
if [ "$(cat "$built" 2>/dev/null)" != "$sources" ] || [ ! -f dist/index.html ]; then
    say 'Building Studio'
    npm run build </dev/null
    [ -f dist/index.html ] || die 'the build of Studio left no dist/index.html'
    printf '%s' "$sources" >"$built"
fi

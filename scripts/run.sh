#!/usr/bin/env bash
# From a clone to a demo on the screen: builds Studio and the server, starts the server, and follows one demo execution.
#
# Then the server stays in the foreground until Ctrl-C, which stops it in order. When a server already runs on the data
# directory, this only starts another demo on it. VITRINE_DATA_DIR and VITRINE_LISTEN mean what they mean to the server.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"

need_toolchain
need_sandbox

data=${VITRINE_DATA_DIR:-.vitrine}
ready="$data/ready.json"
log="$data/serve.log"
vitrine="$(target_dir)/debug/vitrine"
server=''
stopping=''

is_running() { [ -f "$data/lock" ] && ! flock --nonblock "$data/lock" true; }

# A field of the ready file, or nothing.
ready_field() { node -e 'process.stdout.write(JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))[process.argv[2]] ?? "")' "$ready" "$1"; }

# Asks the server to end, and waits for it: runs settle, sandboxes go, the database is closed. A second Ctrl-C asks again,
# and then the server does not wait. Called by the trap.
# shellcheck disable=SC2317
stop() {
    [ -n "$server" ] || return 0
    trap 'kill -TERM "$server" 2>/dev/null || true' INT TERM HUP
    printf '\nStopping the server ...\n'
    kill -TERM "$server" 2>/dev/null || true
    while kill -0 "$server" 2>/dev/null; do
        wait "$server" 2>/dev/null || true
    done
}
trap 'stopping=yes' INT TERM HUP
trap stop EXIT

show_log() {
    printf '\nThe end of %s:\n' "$log" >&2
    tail -n 20 "$log" >&2 || true
}

start() {
    (umask 077 && mkdir -p "$data")
    rm -f "$ready"
    # In a session of its own, so that Ctrl-C reaches only this script, which stops the server once.
    setsid "$vitrine" serve --data-dir "$data" --ready-file "$ready" </dev/null >"$log" 2>&1 &
    server=$!
    until [ -s "$ready" ]; do
        if ! kill -0 "$server" 2>/dev/null; then
            server=''
            show_log
            die 'the server did not start'
        fi
        [ -z "$stopping" ] || exit 130
        sleep 0.05
    done
}

scripts/studio.sh
say 'Building the server (the first time takes some minutes)'
cargo build --locked --bin vitrine

if is_running; then
    say "A server already runs on $data; starting a demo on it"
    exec "$vitrine" demo --data-dir "$data"
fi

say 'Starting the server'
start
url=$(ready_field url)
printf 'Vitrine  %s (log: %s)\n' "$url" "$log"
if [ -n "$(ready_field apiKey)" ]; then
    (umask 077 && ready_field apiKey >"$data/api-key")
    printf 'API key  in %s; it is shown to nobody again\n' "$data/api-key"
fi

say 'Demo'
demo=0
# In the background, so that a signal is acted on at once and not at the end of the demo.
"$vitrine" demo --data-dir "$data" &
follower=$!
wait "$follower" || demo=$?
if [ -n "$stopping" ]; then
    kill "$follower" 2>/dev/null || true
    exit 130
fi
[ "$demo" -eq 0 ] || printf '\nThe demo did not succeed (exit status %s).\n' "$demo"

printf '\nStudio   %s\n' "$("$vitrine" studio-link --data-dir "$data")"
printf 'This link signs a browser in once; "%s studio-link --data-dir %s" prints another. Ctrl-C stops the server.\n' "$vitrine" "$data"

# A signal ends the wait; the trap has noted it.
wait "$server" || true
if [ -z "$stopping" ] && ! kill -0 "$server" 2>/dev/null; then
    server=''
    show_log
    die 'the server ended by itself'
fi
exit "$demo"

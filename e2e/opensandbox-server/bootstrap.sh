#!/bin/sh
# The main process of a sandbox: starts execd and then the sandbox's entrypoint, and ends with it.
"${EXECD:-/opt/opensandbox/execd}" &
execd=$!
"$@" &
entrypoint=$!
trap 'kill "$entrypoint" "$execd" 2>/dev/null' TERM INT
wait "$entrypoint"
status=$?
kill "$execd" 2>/dev/null
exit "$status"

#!/usr/bin/env bash
# The real OpenSandbox lifecycle server (PyPI opensandbox-server) on this machine, for tests.
#
#   start         makes what is missing, starts the server and waits until it answers; prints the variables below
#   env           prints the variables of the server that runs; fails when none does
#   server-kill   kills the server only, as a crash would: its sandboxes stay
#   server-start  starts it again, with the same address and key
#   stop          ends the server, its sandboxes and the Docker daemon; images stay
#
# Printed are lines NAME=VALUE, also in $CARGO_TARGET_DIR/opensandbox/env while the server runs:
#   VITRINE_TEST_OPENSANDBOX_URL           http://127.0.0.1:PORT
#   VITRINE_TEST_OPENSANDBOX_API_KEY       its key
#   VITRINE_TEST_OPENSANDBOX_IMAGE         the image that sandboxes are made of
#   VITRINE_TEST_OPENSANDBOX_CAPABILITIES  what it can show: see sandbox/tests/conformance/target.rs
#   VITRINE_TEST_OPENSANDBOX_PID_FILE      the file with the server's process id
#   VITRINE_TEST_OPENSANDBOX_CONTROL       this script
#
# The server is real, and so is Docker. The execd in the sandboxes is not: it is e2e/opensandbox-server/execd, since the
# official image is only in a registry. Everything is below the target directory and stopped by process id.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=scripts/docker.sh
. "$(dirname -- "$0")/docker.sh"

sources=e2e/opensandbox-server
environment_file="$state/env"
config="$state/server.toml"

# The stand-in execd as one file in an image from which the server copies it into each sandbox. Prints its name.
execd_image() {
    local code=$1 tag image build="$state/execd-image"
    tag=$(find "$sources/execd" "$sources/bootstrap.sh" "$sources/execd.Dockerfile" -type f -not -name '*.pyc' -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum | cat - <(printf '%s' "$code") | sha256sum | cut -c1-12)
    image="vitrine/execd-stand-in:$tag"
    if ! has_image "$image"; then
        say "Building $image"
        rm -rf "$build"
        mkdir -p "$build"
        python3 -B -m zipapp "$sources/execd" --output "$build/execd" --python '/usr/bin/env python3'
        cp "$sources/bootstrap.sh" "$build/bootstrap.sh"
        DOCKER_BUILDKIT=0 docker build --build-arg BASE="$code" --tag "$image" --file "$sources/execd.Dockerfile" "$build"
    fi >&2
    printf '%s' "$image"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# write_config EXECD_IMAGE: an address and a key of its own for each start.
write_config() {
    local port key
    port=$(free_port)
    key=$(head -c 24 /dev/urandom | base64 | tr '+/' 'ab')
    (umask 077 && cat >"$config") <<-END
		[server]
		host = "127.0.0.1"
		port = $port
		api_key = "$key"
		max_sandbox_timeout_seconds = 86400
		[log]
		level = "INFO"
		[runtime]
		type = "docker"
		execd_image = "$1"
		[docker]
		network_mode = "bridge"
		publish_host = "127.0.0.1"
		no_new_privileges = true
		pids_limit = 512
		[storage]
		allowed_host_paths = ["/nowhere"]
		[store]
		type = "sqlite"
		path = "$state/server.db"
	END
}

setting() { sed -n "s/^$1 = \"\{0,1\}\([^\"]*\)\"\{0,1\}$/\1/p" "$config" | head -n 1; }

server_start() {
    local url end=$((SECONDS + 60))
    runs "$state/server.pid" && return 0
    url="http://127.0.0.1:$(setting port)"
    # In a session of its own: a signal to a script must not reach it. HOME is where it would write logs and records.
    HOME="$state" setsid "$state/../python/opensandbox-server/bin/opensandbox-server" --config "$config" \
        </dev/null >>"$state/server.log" 2>&1 &
    printf '%s\n' "$!" >"$state/server.pid"
    until curl --silent --fail --max-time 2 "$url/health" >/dev/null; do
        if ! runs "$state/server.pid" || [ "$SECONDS" -ge "$end" ]; then
            tail -n 20 "$state/server.log" >&2
            die 'the server did not start'
        fi
        sleep 0.05
    done
}

start() {
    local code execd packages
    need_packages curl=curl python3=python3
    python3 -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
    # What is downloaded for the one does not wait for the other.
    python_environment opensandbox-server "$sources/requirements.txt" >/dev/null &
    packages=$!
    docker_start
    code=$(scripts/sandbox-images.sh code)
    execd=$(execd_image "$code")
    wait "$packages" || die 'the server could not be installed from PyPI'
    if ! runs "$state/server.pid" || [ "$(setting execd_image)" != "$execd" ]; then
        stop_process "$state/server.pid" TERM
        write_config "$execd"
        say 'Starting the OpenSandbox server'
        server_start
    fi
    (umask 077 && cat >"$environment_file") <<-END
		VITRINE_TEST_OPENSANDBOX_URL=http://127.0.0.1:$(setting port)
		VITRINE_TEST_OPENSANDBOX_API_KEY=$(setting api_key)
		VITRINE_TEST_OPENSANDBOX_IMAGE=$code
		VITRINE_TEST_OPENSANDBOX_CAPABILITIES=pause,snapshots,sessions,memory-limit,pids-limit,older-wire,minutes
		VITRINE_TEST_OPENSANDBOX_PID_FILE=$state/server.pid
		VITRINE_TEST_OPENSANDBOX_CONTROL=$root/scripts/opensandbox-server.sh
	END
}

stop() {
    rm -f "$environment_file"
    # One that a test has frozen would not see the signal.
    ! runs "$state/server.pid" || kill -CONT "$(cat "$state/server.pid")"
    stop_process "$state/server.pid" TERM
    docker_stop
}

case "${1:-}" in
start)
    start >&2
    cat "$environment_file"
    ;;
env)
    runs "$state/server.pid" || die 'no server runs; start one: scripts/opensandbox-server.sh start'
    cat "$environment_file"
    ;;
server-kill) stop_process "$state/server.pid" KILL ;;
server-start)
    docker_start >&2
    server_start >&2
    ;;
stop) stop ;;
*) die 'say start, env, server-kill, server-start or stop' ;;
esac

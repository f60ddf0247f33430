# shellcheck shell=bash
# Functions around Docker for the scripts that build images or run sandboxes in it. Source it after lib.sh.
#
# Rule: with DOCKER_HOST set, that daemon is used as it is. Otherwise a daemon of our own is started, with data, socket,
# bridge and process ids of its own in the target directory. It touches no firewall rule, so sandboxes have no way to the
# outside, and no daemon that was not started here is ever spoken to or stopped.

mkdir -p "$(target_dir)/opensandbox"
state=$(cd "$(target_dir)/opensandbox" && pwd -P)
mark=$(printf '%s' "$state" | sha256sum | cut -c1-8)
bridge="vt$mark"
# The path of a Unix socket has at most 107 bytes, and containerd adds to it.
sockets="$state/run"
[ "${#sockets}" -le 60 ] || sockets="/run/vitrine-$mark"

# Whether the process of a pid file runs and has our mark in its arguments; a pid may have come to be another's.
runs() {
    local pid
    pid=$(cat "$1" 2>/dev/null) && [ -n "$pid" ] || return 1
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "$state"
}

# stop_process PIDFILE SIGNAL: signals it and waits until it is gone, 30 s at most.
stop_process() {
    local pid end=$((SECONDS + 30))
    runs "$1" || return 0
    pid=$(cat "$1")
    kill "-$2" "$pid" 2>/dev/null || true
    while runs "$1"; do
        [ "$SECONDS" -lt "$end" ] || die "process $pid does not end"
        sleep 0.05
    done
    rm -f "$1"
}

need_docker() {
    [ "$(id -u)" -eq 0 ] || die 'this starts a Docker daemon, which only root can; or set DOCKER_HOST'
    need_packages dockerd=docker.io ip=iproute2 iptables=iptables
}

# Debian's program, since another one on the path may be of another version than the daemon.
docker() { command "$([ -x /usr/bin/docker ] && printf /usr/bin/docker || printf docker)" "$@"; }

docker_start() {
    if [ -n "${DOCKER_HOST:-}" ]; then
        docker version >/dev/null || die "no Docker daemon answers at DOCKER_HOST=$DOCKER_HOST"
        return 0
    fi
    need_docker
    mkdir -p "$sockets"
    export DOCKER_HOST="unix://$sockets/docker.sock"
    if ! runs "$state/dockerd.pid"; then
        say 'Starting a Docker daemon of our own'
        rm -f "$state/dockerd.pid"
        make_bridge
        setsid dockerd --data-root "$state/docker" --exec-root "$sockets/exec" --pidfile "$state/dockerd.pid" \
            --host "$DOCKER_HOST" --bridge "$bridge" --iptables=false --ip6tables=false --ip-masq=false --ip-forward=false \
            </dev/null >"$state/dockerd.log" 2>&1 &
    fi
    local end=$((SECONDS + 60))
    until docker version >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || { tail -n 20 "$state/dockerd.log" >&2 && die 'the Docker daemon did not start'; }
        sleep 0.1
    done
}

# A bridge with a network that no route of this machine has. Its hardware address is set: else it would be that of one of
# its ports, and when that sandbox ends, all others would for seconds send to an address that is gone.
make_bridge() {
    local number=$((16#${mark:0:2})) tries=0
    ip link show "$bridge" >/dev/null 2>&1 && return 0
    while ip route | grep -q "^10\.198\.$number\."; do
        number=$(((number + 1) % 256))
        tries=$((tries + 1))
        [ "$tries" -lt 256 ] || die 'there is no free network below 10.198'
    done
    ip link add "$bridge" address "$(printf '02:42:0a:c6:%02x:01' "$number")" type bridge
    ip address add "10.198.$number.1/24" dev "$bridge"
    ip link set "$bridge" up
}

# Ends our daemon with its containers; images stay. A daemon named by DOCKER_HOST is left alone.
docker_stop() {
    local containers
    runs "$state/dockerd.pid" || return 0
    export DOCKER_HOST="unix://$sockets/docker.sock"
    containers=$(docker ps --all --quiet)
    # shellcheck disable=SC2086
    [ -z "$containers" ] || docker rm --force --volumes $containers >/dev/null
    stop_process "$state/dockerd.pid" TERM
    # It leaves one mount, which would keep the directory from being removed.
    awk -v below="$sockets/" 'index($2, below) == 1 { print $2 }' /proc/self/mounts | xargs --no-run-if-empty umount
    ip link delete "$bridge" 2>/dev/null || true
}

# has_image NAME:TAG
has_image() { docker image inspect "$1" >/dev/null 2>&1; }

#!/usr/bin/env bash
# Builds the sandbox images of deploy/sandbox-images, those named or all, and prints their names with tags.
#
# A tag is a hash of what the image is made from; an image that is there with it is not built again. No registry is
# needed: the base is made from Debian's packages when it is not there. BASE names another one, for the image `code`.
# With DOCKER_HOST set the images end up there, otherwise in a daemon of our own (scripts/docker.sh).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=scripts/docker.sh
. "$(dirname -- "$0")/docker.sh"

# What the base brings, so that building `code` on it asks no server for anything.
suite=bookworm
packages=bash,ca-certificates,git,nodejs,procps,python3,tar

# Prints the base's name; makes it from packages when it is not there.
base() {
    local name rootfs="$state/base.tar"
    name="vitrine/base:$(printf '%s' "$suite $packages" | sha256sum | cut -c1-12)"
    if ! has_image "$name"; then
        need_packages mmdebstrap=mmdebstrap
        say "Making the base image $name from Debian's packages"
        mmdebstrap --quiet --variant=minbase --include="$packages" "$suite" "$rootfs" </dev/null
        docker import "$rootfs" "$name" >/dev/null
        rm -f "$rootfs"
    fi >&2
    printf '%s' "$name"
}

# build NAME BASE
build() {
    local image
    image="vitrine/$1:$(python3 -B scripts/spec/images.py "$1")"
    if ! has_image "$image"; then
        say "Building $image"
        # The network is the host's: a daemon of our own gives containers no other.
        DOCKER_BUILDKIT=0 docker build --network host --build-arg BASE="$2" --tag "$image" \
            --file "deploy/sandbox-images/$1.Dockerfile" deploy/sandbox-images
    fi >&2
    printf '%s' "$image"
}

need_packages python3=python3
started_here=''
runs "$state/dockerd.pid" || [ -n "${DOCKER_HOST:-}" ] || started_here=yes
trap '[ -z "$started_here" ] || docker_stop' EXIT
docker_start >&2

code=$(build code "${BASE:-$(base)}")
printf '%s\n' "$code"
for image in "${@:-browser}"; do
    [ "$image" = code ] || printf '%s\n' "$(build "$image" "$code")"
done

# Packages that a test or an example needs, where apt-get is there. Sourced, not run.

have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        echo "$0: installing packages needs root, and there is no sudo" >&2
        return 1
    fi
}

# Debian's packages start what they install, unless this program answers 101.
with_no_service_started() {
    local policy=/usr/sbin/policy-rc.d result=0
    if [ -e "$policy" ]; then
        "$@"
        return
    fi
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod +x "$policy"
    "$@" || result=$?
    as_root rm -f "$policy"
    return "$result"
}

install_with_apt() {
    as_root apt-get update
    with_no_service_started as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "$@"
}

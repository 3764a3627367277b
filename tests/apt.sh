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

# Debian's packages start what they install, unless this program answers 101. In a shell of its own, whose end takes
# the program away again, however it ends.
with_no_service_started() (
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'as_root rm -f "$policy"' EXIT
        trap 'exit 130' INT TERM HUP
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod +x "$policy"
    fi
    "$@"
)

install_with_apt() {
    as_root apt-get update
    with_no_service_started as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "$@"
}

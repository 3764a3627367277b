#!/usr/bin/env bash
# Installs what `stack` starts and this machine does not have: Redis, PostgreSQL, nginx, Prometheus.
# No service is left running.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/apt.sh

# Administrators' programs are not on everybody's PATH.
PATH=$PATH:/usr/sbin:/sbin

have_postgres() { have initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }

missing=()
have redis-server || have valkey-server || missing+=(redis-server)
have_postgres || missing+=(postgresql)
have nginx || missing+=(nginx-light)
have prometheus && have promtool || missing+=(prometheus)

if [ "${#missing[@]}" = 0 ]; then
    exit 0
fi
if ! have apt-get; then
    echo "$0: without apt-get nothing can be installed here. These programs have to be on the PATH:" >&2
    echo "redis-server (or valkey-server), initdb and postgres with pg_stat_statements, nginx, prometheus, promtool" >&2
    exit 1
fi
echo "$0: installing ${missing[*]}"
install_with_apt "${missing[@]}"

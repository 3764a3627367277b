#!/usr/bin/env bash
# Runs every test of the workspace and ends with a line `N passed, N failed`.
#
# Tests start servers of their own on free ports, so the server programs have to be there. Where one is
# missing it is installed with the system's package manager; no service is left running.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Tests say themselves where they coordinate; a stranger's Redis must not decide what they see.
unset COALESCE_REDIS_URL COALESCE_DISABLED

source tests/apt.sh

install_redis() {
    echo "tests/run.sh: neither redis-server nor valkey-server is on the PATH; installing one"
    if have apt-get; then
        install_with_apt redis-server
    elif have dnf; then
        as_root dnf install -y redis || as_root dnf install -y valkey
    elif have apk; then
        as_root apk add --no-cache redis || as_root apk add --no-cache valkey
    elif have brew; then
        brew install redis
    else
        return 1
    fi
}

have_redis() { have redis-server || have valkey-server; }

if ! have_redis; then
    install_redis || true
    if ! have_redis; then
        echo "tests/run.sh: no Redis server could be installed." >&2
        echo "Install Redis 7 or Valkey so that redis-server or valkey-server is on the PATH, and run this again." >&2
        exit 1
    fi
fi

result=0
# PostgreSQL, nginx and Prometheus, for the acceptance of the product service. All other tests need none of them.
bash examples/product-service/install.sh || {
    echo "tests/run.sh: the product service cannot be tested without what it needs; the rest can" >&2
    result=1
}

log=$(mktemp)
# Each test of the fault matrix adds lines. One has numbers only: faults, calls, wrong, lost, unexplained, leaked; a
# fault is one act of a test, however much it hurt. The others begin with a name: each time that a fleet shares its runs
# again, how long that took; how many runs there were; and how often calls and connections took how long.
RIG_TOTALS=$(mktemp)
export RIG_TOTALS
trap 'rm -f "$log" "$RIG_TOTALS"' EXIT

# Everything but the benchmarks, which measure and prove nothing; examples are built, for the tests
# that run them.
cargo test --workspace --all-features --no-fail-fast 2>&1 | tee "$log" || result=1

awk '$1 ~ /^[a-z]/ { next }
     { faults += $1; calls += $2; wrong += $3; lost += $4; unexplained += $5; leaked += $6 }
     END {
         printf "%d faults injected, %d calls: %d wrong values, %d lost, ", faults, calls, wrong, lost
         printf "%d runs without a reason, %d leaks\n", unexplained, leaked
         exit faults < 1000 || calls < 200000 || wrong + lost + unexplained + leaked > 0
     }' "$RIG_TOTALS" || {
    echo "tests/run.sh: at least 1,000 faults and 200,000 calls were expected, and zeros behind them" >&2
    result=1
}

sed -n 's/^recovered //p' "$RIG_TOTALS" | sort -n | awk '
    { took[NR] = $1 }
    END {
        median = took[int((NR + 1) / 2)]
        most = took[int((9 * NR + 9) / 10)]
        printf "%d recoveries, half of them within %d ms, nine in ten within %d ms, ", NR, median, most
        printf "the longest after %d ms\n", took[NR]
        exit NR < 50 || most > 1000
    }' || {
    echo "tests/run.sh: at least 50 recoveries were expected, and nine in ten within a second" >&2
    result=1
}

# All runs, those that nothing would have excused beside another run, and those beside one that were excused by a fault that
# was over, or by a machine that was too busy. Enough of the first are needed, and not too many of the last.
sed -n 's/^runs //p' "$RIG_TOTALS" | awk '
    { runs += $1; strict += $2; over += $3; busy += $4 }
    END {
        printf "%d runs, %d without an excuse; beside another, with one: ", runs, strict
        printf "%d behind a fault, %d by a busy machine\n", over, busy
        exit strict < 1500 || strict * 30 < runs || busy * 10 > runs
    }' || {
    echo "tests/run.sh: at least 1,500 runs without an excuse were expected, one of thirty, and at most one in ten excused by a busy machine" >&2
    result=1
}

# Prints how long half of something took, 99 in a hundred, and the longest, from lines of `took:count`.
spread() {
    sed -n "s/^$1 //p" "$RIG_TOTALS" | tr ' ' '\n' | sort -n | awk -F: -v what="$2" -v unit="$3" '
        { took[NR] = $1; count[NR] = $2; all += $2 }
        END {
            for (i = 1; i <= NR; i++) {
                seen += count[i]
                if (half == "" && seen * 2 >= all) half = took[i]
                if (most == "" && seen * 100 >= all * 99) most = took[i]
            }
            printf "%d %s: half within %d %s, 99 in a hundred within %d, all within %d\n", all, what, half, unit, most, took[NR]
        }'
}
spread added "calls while Redis was in trouble, beside bodies" ms
spread added_with_leases "calls where a last word that was lost is said again, beside bodies" ms
spread added_open "calls behind an open breaker, beside bodies" µs
spread reconnected "connections with a stray or shifted reply were replaced" ms

awk '/^test result:/ {
         for (i = 2; i <= NF; i++) {
             if ($i == "passed;") passed += $(i - 1)
             if ($i == "failed;") failed += $(i - 1)
         }
     }
     END { printf "%d passed, %d failed\n", passed, failed }' "$log"
exit "$result"

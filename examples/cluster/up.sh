#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Three nodes of Allotter on a PostgreSQL with a synchronous standby, all on this machine: to try out what happens when
# something breaks. Ctrl-C ends all of it, and leaves nothing behind.
#
#   examples/cluster/up.sh [path of `allot`; build/allot if it is not named]
#
# It needs Debian's `postgresql`. The nodes listen on 127.0.0.1:7431, 7432 and 7433.
set -euo pipefail

allot=$(readlink -f "${1:-$(dirname "$0")/../../build/allot}")
programs=${ALLOT_POSTGRES_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)}
[ -x "${programs:-none}/initdb" ] || { echo "PostgreSQL is not here: apt-get install postgresql" >&2; exit 1; }

base=$(mktemp -d "${TMPDIR:-/tmp}/allot-cluster-XXXXXX")
chmod 711 "$base"
as_user=()
# PostgreSQL refuses to run as root.
if [ "$(id -u)" = 0 ]; then
  as_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups env "HOME=$base/pg")
fi
mkdir -p "$base/pg"
[ "$(id -u)" = 0 ] && chown nobody:nogroup "$base/pg"
pids=()
end() {
  trap - EXIT
  kill -TERM "${pids[@]:2}" 2>/dev/null || true
  sleep 1
  kill -INT "${pids[@]:0:2}" 2>/dev/null || true
  kill -KILL "${pids[@]:2}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$base"
}
trap end EXIT
trap 'exit 0' INT TERM

echo "a database, and a standby that confirms each commit…"
"${as_user[@]}" "$programs/initdb" -D "$base/pg/primary" -U allot -A trust -E UTF8 --locale=C --no-sync >"$base/initdb.log"
"${as_user[@]}" "$programs/postgres" -D "$base/pg/primary" -k "$base/pg" -p 5441 -h '' \
  -c "synchronous_standby_names=standby" -c wal_level=replica >"$base/primary.log" 2>&1 &
pids+=($!)
until "$programs/pg_isready" -h "$base/pg" -p 5441 -q; do sleep 0.1; done
"${as_user[@]}" "$programs/pg_basebackup" -h "$base/pg" -p 5441 -U allot -D "$base/pg/standby" -R -X stream --no-sync
"${as_user[@]}" "$programs/postgres" -D "$base/pg/standby" -k "$base/pg" -p 5442 -h '' \
  -c "primary_conninfo=host=$base/pg port=5441 user=allot application_name=standby" >"$base/standby.log" 2>&1 &
pids+=($!)
until "$programs/pg_isready" -h "$base/pg" -p 5442 -q; do sleep 0.1; done

(umask 077 && head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$base/secret")
(umask 077 && echo "postgres://allot@/postgres?host=$base/pg,$base/pg&port=5441,5442" >"$base/database")
for n in 1 2 3; do
  "$allot" serve --data "$base/node$n" --listen "127.0.0.1:743$n" --node "node$n" \
    --advertise "http://127.0.0.1:743$n" --store-file "$base/database" --cluster-secret-file "$base/secret" \
    >"$base/node$n.log" 2>&1 &
  pids+=($!)
done
for n in 1 2 3; do
  until curl -sf -o /dev/null "http://127.0.0.1:743$n/readyz"; do
    kill -0 "${pids[$((n + 1))]}" 2>/dev/null || { cat "$base/node$n.log" >&2; exit 1; }
    sleep 0.1
  done
done
cat <<TEXT
Three nodes:  http://127.0.0.1:7431/  http://127.0.0.1:7432/  http://127.0.0.1:7433/
Their logs:   $base/node*.log
Try, in other terminals:
  export ALLOT_SERVER=http://127.0.0.1:7432
  $allot nodes
  $allot work --tag square -j 4 -- sh -c 'read n; echo \$((n*n))'
  seq 1000 | $allot submit --tag square --wait --results
  kill -9 ${pids[2]}   # node1: others take its queues within three seconds
TEXT
for n in 1 2 3; do echo "  node$n is process ${pids[$((n + 1))]}"; done
wait

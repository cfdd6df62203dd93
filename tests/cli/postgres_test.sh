# SPDX-License-Identifier: Apache-2.0
# Queues in a PostgreSQL database: nothing is lost by a kill, a second server is kept off, the password stays hidden, and
# backups move queues from files into the database and back.
. "$(dirname "$0")/lib.sh"
programs=${ALLOT_POSTGRES_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)}
[ -x "${programs:-none}/initdb" ] || skip "PostgreSQL is not here: apt-get install postgresql"

# A cluster of one's own, which does not run as root.
base=$work_dir/pg
mkdir "$base"
chmod 711 "$work_dir"
as_user=()
if [ "$(id -u)" = 0 ]; then
  as_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$base")
  chown nobody:nogroup "$base"
fi
"${as_user[@]}" "$programs/initdb" -D "$base/data" -U allot -A trust -E UTF8 --locale=C --no-sync >"$work_dir/initdb.log" 2>&1
start_database() {
  # Not by a function: in the background its process id would be that of a shell.
  "${as_user[@]}" "$programs/postgres" -D "$base/data" -k "$base" -h '' >>"$work_dir/postgres.log" 2>&1 &
  database_pid=$!
  pids+=("$database_pid")
  eventually "$programs/pg_isready" -h "$base" -q
}
start_database
sql() { "$programs/psql" -h "$base" -U allot -d postgres -Atqc "$1"; }
url="postgres://allot:tell-nobody@/postgres?host=$base"
printf '%s\n' "$url" >database

# It wants to be told that one copy is enough.
exits 7 allot serve --listen 127.0.0.1:0 --data data --store-file database
has "$err" "no synchronous standby"
hasnt "$err" "tell-nobody"
printf 'store_file = "%s/database"\nallow_no_standby = true\n' "$work_dir" >allot.toml
out=$(allot config show --config allot.toml)
has "$out" "postgres://allot:***@/postgres"
hasnt "$out" "tell-nobody"

# A queue of files moves in.
serve
worker square -- sh -c 'read n; echo $((n*n))'
seq 5 | allot submit --tag square --results --quiet >/dev/null
done_id=$(allot jobs -o id)
allot backup files.db >/dev/null
kill -TERM "$worker_pid" "$server_pid"
ends "$server_pid"
allot restore files.db --config allot.toml --data data >/dev/null
exits 6 allot restore files.db --config allot.toml --data data
has "$err" "--force"

serve --config allot.toml
same "1 4 9 16 25" "$(allot results "$done_id" --quiet | tr '\n' ' ' | sed 's/ $//')"
hasnt "$(cat serve.log)" "tell-nobody"
worker square -- sh -c 'read n; echo $((n*n))'
same "36 49" "$(printf '6\n7\n' | allot submit --tag square --results --quiet | tr '\n' ' ' | sed 's/ $//')"
open_id=$(seq 3 | allot submit --tag nobody --quiet)

# A second server is kept off: this one is alive.
exits 6 timeout 60 allot serve --listen 127.0.0.1:0 --data other --config allot.toml
has "$err" "in use"

# Nothing is lost by a kill, nor by a restart of the database.
kill -KILL "$server_pid"
wait "$server_pid" 2>/dev/null || true
serve --config allot.toml
same 3 "$(allot jobs -o id | wc -l)"
kill -INT "$database_pid"
ends "$database_pid"
# Whoever comes first waits, and what it wants is done in the end; who comes later hears of it.
allot submit --tag first --count 1 --quiet >first.id 2>first.log &
first_pid=$!
unready() { [ "$(curl -s -o /dev/null -w '%{http_code}' "$ALLOT_SERVER/readyz")" = 503 ]; }
eventually unready
has "$(curl -s "$ALLOT_SERVER/readyz")" "no database for the queue default"
exits 3 timeout 60 allot submit --tag later --count 1 --quiet
has "$err" "the database does not answer"
json "$(allot job "$open_id" -o json)" '.queued == 3'
start_database
ends "$first_pid"
same 0 "$code"
json "$(allot job "$(cat first.id)" -o json)" '.queued == 1'
eventually allot submit --tag later --count 1 --quiet
json "$(allot job "$open_id" -o json)" '.queued == 3'
allot queue create second >/dev/null
same "default second" "$(sql 'SELECT name FROM allotter.queues WHERE deleted IS NULL ORDER BY name' | tr '\n' ' ' | sed 's/ $//')"
allot queue delete second --yes >/dev/null 2>&1 || allot queue delete second >/dev/null
same default "$(sql 'SELECT name FROM allotter.queues WHERE deleted IS NULL')"

# And back into files.
allot backup database.db >/dev/null
kill -TERM "$server_pid"
ends "$server_pid"
same 0 "$code"
allot restore database.db --data data --force >/dev/null
serve
same "1 4 9 16 25" "$(allot results "$done_id" --quiet | tr '\n' ' ' | sed 's/ $//')"
json "$(allot job "$open_id" -o json)" '.queued == 3'

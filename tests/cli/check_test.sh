# SPDX-License-Identifier: Apache-2.0
# What is damaged in a data directory or a backup is found, and nothing is changed by looking.
. "$(dirname "$0")/lib.sh"
serve
for n in 1 2 3; do allot submit --tag t --payload "payload-number-$n" >/dev/null; done
allot backup copy.db >/dev/null
json "$(allot check copy.db -o json)" '.ok and (.files | length == 1) and .files[0].problems == [] and ([.files[0].tables[].rows] | add > 3)'
has "$(allot check copy.db)" "copy.db: whole"

# Not while a server has it.
exits 6 allot check data
has "$err" "stop it first"

# As a kill leaves it: its journal is needed, and whole.
kill -KILL "$server_pid"
ends "$server_pid"
# All that is kept; the index of the log (-shm) is SQLite's, and made anew by whoever reads.
kept() { find data/queues -type f ! -name '*-shm' | sort | xargs cat | cksum; }
before=$(kept)
exits 0 allot check data
has "$out" "default: whole"
has "$out" "not closed"
json "$(allot check --data data -o json)" '.ok and .files[0].name == "default" and (.files[0].closed | not) and .files[0].position > 0'
same "$before" "$(kept)"

# Without its log, which the journal makes up for; and without its journal.
mkdir broken && cp -r data/queues broken/
rm broken/queues/default.db-wal
exits 0 allot check broken
rm broken/queues/default.db.journal-1
exits 7 allot check broken
has "$out" "DAMAGED"
has "$out" "default.db.journal-1 is missing"

# A flipped byte of a payload.
flip() {
  local at
  at=$(grep -abo "$2" "$1" | head -n 1 | cut -d : -f 1)
  printf 'X' | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null
}
flip copy.db payload-number-2
exits 7 allot check copy.db -o json
json "$out" '(.ok | not) and (.files[0].problems | length == 1) and (.files[0].problems[0] | contains("payloads of set"))'
# It is not restored either.
exits 7 allot restore copy.db --data elsewhere
has "$err" "damaged"

exits 2 allot check nowhere/at/all
printf 'no backup' >text
exits 7 allot check text

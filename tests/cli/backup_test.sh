# SPDX-License-Identifier: Apache-2.0
# A backup taken while the server runs is a whole queue; it is restored offline, and never over something by accident.
. "$(dirname "$0")/lib.sh"
serve
worker square -- sh -c 'read n; echo $((n*n))'
seq 5 | allot submit --tag square --results --quiet >/dev/null
done_id=$(allot jobs -o id)
open_id=$(seq 3 | allot submit --tag nobody --quiet)
json "$(allot backup copy.db -o json)" '.queue == "default" and .bytes > 0'
exits 2 allot backup copy.db
has "$err" "--force"
allot backup copy.db --force >/dev/null
allot submit --count 1 --tag later >/dev/null

# Not while a server has the directory.
exits 6 allot restore copy.db --data data
has "$err" "server"
kill -TERM "$server_pid"
ends "$server_pid"
exits 6 allot restore copy.db --data data
has "$err" "--force"
# A file that is no backup changes nothing.
printf 'no backup' >bad.db
exits 7 allot restore bad.db --data data --force
head -c 5000 copy.db >cut.db
exits 7 allot restore cut.db --data data --force
serve
same 3 "$(allot jobs -o id | wc -l)"
kill -TERM "$server_pid"
ends "$server_pid"

json "$(allot restore copy.db --data data --force -o json)" '.queue == "default"'
allot restore copy.db --data data --queue second >/dev/null
serve
for queue in default second; do
  same "$open_id $done_id" "$(allot jobs --queue "$queue" -o id | tr '\n' ' ' | sed 's/ $//')"
  same "1 4 9 16 25" "$(allot results "$done_id" --queue "$queue" --quiet | tr '\n' ' ' | sed 's/ $//')"
  json "$(allot job "$open_id" --queue "$queue" -o json)" '.queued == 3'
done
# The restored queue goes on.
worker nobody -- cat
same "1 2 3" "$(allot results "$open_id" --quiet | tr '\n' ' ' | sed 's/ $//')"

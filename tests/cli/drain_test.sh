# SPDX-License-Identifier: Apache-2.0
# A worker that is told to stop finishes what it has, gives back what it has not begun, and goes with 0.
. "$(dirname "$0")/lib.sh"
serve
worker slow -j 2 -- sh -c 'echo x >>begun; while [ ! -e "$HOME/go" ]; do sleep 0.02; done; echo done'
id=$(allot submit --count 10 --tag slow)
eventually sh -c '[ "$(wc -l <begun)" = 2 ]'
kill -TERM "$worker_pid"
sleep 0.3
kill -0 "$worker_pid" || fail "it did not finish what it had"
json "$(allot job "$id" -o json)" '.done == 0 and .queued >= 8 - 2'
touch "$HOME/go"
ends "$worker_pid"
same 0 "$code"
json "$(allot job "$id" -o json)" '.done == 2 and .queued == 8 and .running == 0'
same 2 "$(wc -l <begun)"
same "" "$(allot workers -o id)"

# The server can ask for the same.
worker slow -j 1 -- true
eventually sh -c "[ -n \"\$('$ALLOT_BIN' workers -o id)\" ]"
allot drain "$(allot workers -o id)" >/dev/null
ends "$worker_pid"
same 0 "$code"

# A second signal does not wait. What is left of the first job is not for this worker, whoever is faster.
rm "$HOME/go"
allot cancel "$id" >/dev/null
worker slow -j 1 -- sh -c 'sleep 60'
id=$(allot submit --count 1 --tag slow --priority 5)
eventually sh -c "'$ALLOT_BIN' job $id -o json | jq -e '.running == 1'"
kill -TERM "$worker_pid"
sleep 0.3
kill -TERM "$worker_pid"
ends "$worker_pid"
json "$(allot job "$id" -o json)" '.running == 0 and .queued == 1'

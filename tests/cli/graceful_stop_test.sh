# SPDX-License-Identifier: Apache-2.0
# A server that is told to stop exits with 0 and keeps leases: the worker goes on with its task over the restart.
. "$(dirname "$0")/lib.sh"
serve
worker slow -- sh -c 'echo x >>begun; while [ ! -e "$HOME/go" ]; do sleep 0.02; done; echo "attempt $ALLOT_ATTEMPT"'
id=$(allot submit --count 1 --tag slow)
eventually test -s begun
before=$(allot workers -o id)
kill -TERM "$server_pid"
ends "$server_pid"
same 0 "$code"
exits 3 allot jobs

serve
eventually sh -c "[ \"\$('$ALLOT_BIN' workers -o id)\" = $before ]"
json "$(allot job "$id" -o json)" '.running == 1 and .state == "active"'
touch "$HOME/go"
same "attempt 1" "$(allot results "$id" --quiet)"
same 1 "$(wc -l <begun)"

# The same over a crash, with the report made while nobody is there.
rm "$HOME/go" begun
id=$(allot submit --count 1 --tag slow)
eventually test -s begun
kill -KILL "$server_pid"
ends "$server_pid"
touch "$HOME/go"
sleep 0.3
serve
same "attempt 1" "$(allot results "$id" --quiet)"
same 1 "$(wc -l <begun)"

# Who waits for a job when the server goes away goes on waiting.
rm "$HOME/go"
allot submit --count 1 --tag slow --results --quiet >late 2>late.log &
submit_pid=$!
pids+=("$submit_pid")
eventually sh -c "'$ALLOT_BIN' job last -o json | jq -e '.running == 1'"
kill -TERM "$server_pid"
ends "$server_pid"
same 0 "$code"
serve
touch "$HOME/go"
ends "$submit_pid"
same 0 "$code"
same "attempt 1" "$(cat late)"

# SPDX-License-Identifier: Apache-2.0
# allot work: what a command gets, and what becomes of it.
. "$(dirname "$0")/lib.sh"
serve

# Ids in the environment, the payload on standard input.
worker env -- sh -c 'read p; echo "$p $ALLOT_JOB $ALLOT_INDEX $ALLOT_COUNT $ALLOT_ATTEMPT $ALLOT_QUEUE ${TRACEPARENT:-none}"'
id=$(printf 'a\nb\n' | allot submit --tag env --trace 00-aa-bb-01 --quiet)
same "a $id 0 2 1 default 00-aa-bb-01
b $id 1 2 1 default 00-aa-bb-01" "$(allot results "$id" --quiet)"

# A failed attempt is tried again after its backoff; the exit status decides.
worker flaky -- sh -c '[ "$ALLOT_ATTEMPT" -ge 3 ] || exit 1; echo "at $ALLOT_ATTEMPT"'
same "at 3" "$(allot submit --count 1 --tag flaky --backoff-first 20ms --results --quiet)"
# Until they are used up.
worker never -- sh -c 'echo sorry >&2; exit 7'
exits 1 allot submit --count 1 --tag never --max-attempts 2 --backoff-first 20ms --wait
json "$(allot tasks last 0 -o json)" '.state == "failed" and (.error | contains("exit status 7") and contains("sorry"))'
# A command that is not there is the caller's mistake, before it takes a task; one that is killed has failed.
exits 2 allot work --tag missing -- /no/such/program
has "$err" "/no/such/program"
worker killed -- sh -c 'kill -9 $$'
exits 1 allot submit --count 1 --tag killed --max-attempts 1 --wait
json "$(allot tasks last 0 -o json)" '.error | contains("signal 9")'

# A task that takes too long is stopped: by the worker's own clock, or by the job's.
worker slow --timeout 300ms -- sleep 60
exits 1 allot submit --count 1 --tag slow --max-attempts 1 --wait
json "$(allot tasks last 0 -o json)" '.error | contains("timed out")'
worker late -- sleep 60
exits 1 allot submit --count 1 --tag late --timeout 1s --max-attempts 1 --wait

# A cancelled job's tasks are stopped.
worker long -- sh -c 'echo $$ >running; exec sleep 60'
id=$(allot submit --count 1 --tag long)
eventually test -s running
allot cancel "$id" >/dev/null
eventually sh -c "! kill -0 $(cat running)"

# As many at a time as -j says, and --once ends after one.
worker many -j 5 -- sh -c 'echo x >>at; while [ "$(wc -l <at)" -lt 5 ]; do sleep 0.02; done; echo ok'
same 5 "$(allot submit --count 5 --tag many --results --quiet | grep -c ok)"
exits 0 allot work --tag idle --idle-exit 200ms -- true
allot submit --count 2 --tag once >/dev/null
exits 0 allot work --tag once --once -- true
json "$(allot job last -o json)" '.done == 1 and .queued == 1'

# JSON in and out.
worker json --json-result --raw -- jq -c '{double: (.n * 2)}'
same '{"double":4}' "$(printf '{"n":2}\n' | allot submit --json --tag json --results --quiet)"

# A result that is too large fails the task, not the worker.
worker large -- sh -c 'head -c 100000 /dev/zero | tr "\0" x'
exits 1 allot submit --count 1 --tag large --max-attempts 1 --wait

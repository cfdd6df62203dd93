# SPDX-License-Identifier: Apache-2.0
# The first thing that a newcomer tries.
. "$(dirname "$0")/lib.sh"
serve

allot work --tag square -j 4 -- sh -c 'read n; echo $((n*n))' 2>>work.log &
pids+=($!)
seq 1000 | allot submit --tag square --wait --results >squares 2>submit.log
for ((n = 1; n <= 1000; n++)); do echo $((n * n)); done | cmp - squares || fail "the squares are wrong"
same "" "$(cat submit.log | grep -v 'no worker is there' || true)"

# The same once more, while the worker is already there, and in another order: the job first.
seq 50 | allot submit --tag cube --results >cubes 2>/dev/null &
submit_pid=$!
pids+=("$submit_pid")
sleep 0.2
worker cube -j 3 -- sh -c 'read n; echo $((n*n*n))'
ends "$submit_pid"
same 0 "$code"
for ((n = 1; n <= 50; n++)); do echo $((n * n * n)); done | cmp - cubes || fail "the cubes are wrong"

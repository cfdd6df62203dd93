# SPDX-License-Identifier: Apache-2.0
# The loop that scales local workers by demand: they come with the work, go down to the minimum without it, and all of
# them end with the loop. What a limit blocks calls nobody.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"
serve

# sh as Debian has it. In a session of its own, so that nothing of it can stay behind.
SLOTS=2 STEP=1 PERIOD=0.2 PATIENCE=2 setsid sh "$root/examples/scale-workers.sh" render 1 3 \
  sh -c 'read -r n; while [ ! -e go ]; do sleep 0.02; done; echo $((n*n))' 2>scale.log &
loop_pid=$!
pids+=("$loop_pid")
# Its workers have sessions of their own, and go by their names if it fails to end them.
own_workers() { pgrep -f "allot work --tag render --name scaled-.*-$loop_pid-" || true; }
end_all() {
  local status=$? pid
  for pid in $(own_workers); do kill -KILL "$pid" 2>/dev/null || true; done
  (exit "$status") || finish
  finish
}
trap end_all EXIT
workers() { allot workers -o json | jq "[.workers[] | select(.name | startswith(\"scaled-\")) | select($1)] | length"; }
counts() { [ "$(workers "$1")" = "$2" ]; }

eventually counts true 1
same 2 "$(allot workers -o json | jq '.workers[0].slots')"

# What limits block is no reason to start anybody, however much it is.
allot limit set --tag test --uuid hold --expr 'MY.User == "ann"' --rate 0/1s --expires 2m >/dev/null
held=$(seq 100 | allot submit --tag render --user ann)
sleep 1.2
same 1 "$(workers true)"

# Nor is what other workers are wanted for.
allot submit --tag render --tag gpu --count 50 >/dev/null

# 12 tasks could use 6 workers of 2 slots, and get the 3 that there may be; each runs what it has slots for.
job=$(seq 12 | allot submit --tag render)
eventually counts true 3
eventually sh -c 'allot queue show -o json | jq -e ".tasks.running >= 6"'
sleep 0.6
same 3 "$(workers true)"
touch go
allot wait "$job" >wait.log
eventually counts true 1

# While it runs, it is not taken away, though nothing waits any more.
rm go
job=$(seq 5 | allot submit --tag render)
eventually sh -c "allot job $job -o json | jq -e '.running == 5'"
eventually counts true 3
sleep 1.2
same 3 "$(workers '.draining | not')"

# Told to go, it waits until they have finished what they run, and leaves none.
kill -TERM "$loop_pid"
sleep 0.3
kill -0 "$loop_pid" || fail "it did not wait for its workers: $(cat scale.log)"
touch go
ends "$loop_pid"
same 143 "$code"
same "done" "$(allot job "$job" -o json | jq -r .state)"
same 0 "$(workers true)"
same '' "$(own_workers)"
same 100 "$(allot job "$held" -o json | jq .queued)"
same '' "$(cat scale.log)"

exits 2 sh "$root/examples/scale-workers.sh" render 1 3
has "$err" usage

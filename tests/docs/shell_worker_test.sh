# SPDX-License-Identifier: Apache-2.0
# The worker in shell that a page shows does what a worker does.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"
mkdir -p blocks/files
awk -v out=blocks -f "$root/tests/docs/extract.awk" "$root/docs/how-to/write-a-worker.md" >/dev/null
cp blocks/files/worker.sh .
[ "$(wc -l <worker.sh)" -le 32 ] || fail "it has grown to $(wc -l <worker.sh) lines"
serve --restart-grace 10s

# sh as Debian has it.
start() { sh worker.sh "$@" 2>>shell.log & worker_pid=$!; pids+=("$worker_pid"); }
start square sh -c 'read n; echo $((n*n))'
same "1 4 9 16 25" "$(seq 5 | allot submit --tag square --results --quiet | tr '\n' ' ' | sed 's/ $//')"

# A failing command is a failed attempt, and is tried again.
start flaky sh -c 'echo x >>tries; [ "$(wc -l <tries)" -ge 3 ] && echo third'
same third "$(allot submit --count 1 --tag flaky --backoff-first 20ms --results --quiet)"
same 3 "$(wc -l <tries)"
# Text that JSON and shells could stumble over.
start echo cat
printf '%s\n' 'a "b" \c $d `e` <f>' "g'h" '{"i": [1]}' 'ü€😀' >lines
allot submit lines --tag echo --results --quiet >got
cmp lines got || fail "text was changed: $(cat got)"

# A server that goes away, gracefully or not, is waited for; what was run meanwhile is reported, once.
start slow sh -c 'echo x >>begun; while [ ! -e go ]; do sleep 0.05; done; echo over'
for signal in TERM KILL; do
  rm -f go begun
  id=$(allot submit --count 1 --tag slow)
  eventually test -s begun
  kill "-$signal" "$server_pid"
  ends "$server_pid"
  touch go
  sleep 0.3
  serve --restart-grace 10s
  same over "$(allot results "$id" --quiet)"
  same 1 "$(wc -l <begun)"
done

# Told to drain, it goes.
id=$(allot workers -o json | jq -r '.workers[] | select(.tags == ["echo"]) | .id')
[ -n "$id" ] || fail "the worker is not registered"
echo_pid=$(pgrep -f 'worker.sh echo cat' -P $$ | head -n 1)
allot drain "$id" >/dev/null
for ((i = 0; i < 1000; i++)); do kill -0 "$echo_pid" 2>/dev/null || break; sleep 0.025; done
kill -0 "$echo_pid" 2>/dev/null && fail "it does not go"
true

# SPDX-License-Identifier: Apache-2.0
# Submits that are not as expected say what they did.
. "$(dirname "$0")/lib.sh"
serve

# No lines, or a count of none: a job without tasks, done at once.
for given in '' '--count 0'; do
  exits 0 allot submit --tag odd $given
  has "$err" "job $out has no tasks, so it is done at once"
  json "$(allot job "$out" -o json)" '.state == "done" and .count == 0'
  exits 0 allot submit --tag odd --quiet $given
  same "" "$err"
  exits 0 allot submit --tag odd --wait $given
  has "$out" " done"
  exits 0 allot submit --tag odd --results $given
  same "" "$out"
done

# A job that is cancelled while somebody waits for it, and one that was.
allot submit --tag odd --count 2 --wait --idempotency-key once >waited.out 2>waited.err &
waiting=$!
pids+=("$waiting")
eventually sh -c "'$ALLOT_BIN' jobs --state active -o id | grep -q ."
id=$(allot jobs --state active -o id)
allot cancel "$id" >/dev/null
ends "$waiting"
same 1 "$code"
has "$(cat waited.err)" "job $id cancelled"
exits 0 allot submit --tag odd --count 2 --idempotency-key once
same "$id" "$out"
has "$err" "job $id was there already, by its idempotency key; it is cancelled"
exits 1 allot submit --tag odd --count 2 --idempotency-key once --wait
has "$err" "was there already"
has "$err" "error: job $id cancelled"
exits 1 allot wait "$id"

# What cannot be sent submits nothing.
count() { allot jobs -o id | wc -l; }
before=$(count)
code=0
printf '{"n":1}\n{"n":\n' | allot submit --tag odd --json >/dev/null 2>bad.err || code=$?
same 2 "$code"
has "$(cat bad.err)" "line 2 is not JSON"
has "$(cat bad.err)" "nothing was submitted"
same "$before" "$(count)"

# Ctrl-C before the last line.
mkfifo lines
(exec 3<>lines; printf 'a\nb\n' >&3; exec sleep 60) &
pids+=($!)
"$ALLOT_BIN" submit --tag odd <lines >cut.out 2>cut.err &
cut=$!
pids+=("$cut")
# It listens to SIGINT (bit 1 of those that it catches) from the first line on.
eventually grep -q '^SigCgt:.*[2367abef]$' "/proc/$cut/status"
kill -INT "$cut"
ends "$cut"
same 130 "$code"
has "$(cat cut.err)" "interrupted: nothing was submitted"
same "" "$(cat cut.out)"
same "$before" "$(count)"

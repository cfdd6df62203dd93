# SPDX-License-Identifier: Apache-2.0
# `allot demo` needs nothing, shows users, jobs and workers at once, ends with Ctrl-C and leaves nothing behind.
. "$(dirname "$0")/lib.sh"
export TMPDIR=$work_dir/temporary
mkdir "$TMPDIR"

allot demo --listen 127.0.0.1:0 >hints 2>demo.log &
demo_pid=$!
pids+=("$demo_pid")
eventually grep -q Ctrl-C hints
has "$(cat hints)" " top --server http://127.0.0.1:"
ALLOT_SERVER=$(sed -n 's/.* top --server \([^ ]*\) .*/\1/p' hints)
export ALLOT_SERVER

# Tasks are done; a limit is there; fair sharing is on; what nobody can do says so.
eventually sh -c "'$ALLOT_BIN' job last --user ann -o json || '$ALLOT_BIN' jobs --user ann -o id | grep -q ."
eventually sh -c "[ \"\$('$ALLOT_BIN' workers -o id | wc -l)\" = 5 ]"
eventually sh -c "'$ALLOT_BIN' jobs --user eli -o json | jq -e '.jobs[0].counts.done // .jobs[0].done > 0'"
has "$(allot limit list)" "mail provider"
json "$(allot queue show -o json)" '.settings.policy == "fair(user, worker)"'
has "$(allot explain "$(allot jobs --user gus -o id)")" "gpus"

# A second one beside it: the usual port may be taken, so it takes another.
allot demo --for 2s >second 2>second.log
has "$(cat second)" "Ctrl-C"

kill -INT "$demo_pid"
ends "$demo_pid"
same 0 "$code"
same "" "$(ls "$TMPDIR")"

exits 2 allot demo --for soon
has "$err" "duration"

# SPDX-License-Identifier: Apache-2.0
# Exit codes: scripts depend on them.
. "$(dirname "$0")/lib.sh"

# 2: the command line is wrong.
exits 2 allot
exits 2 allot sumbit
has "$err" "submit"
exits 2 allot jobs --no-such-flag
exits 2 allot jobs -o xml
exits 2 allot submit --count many
exits 2 allot submit --count 1 --lease soon
has "$err" "90s"
exits 2 allot work --tag t
exits 2 allot completion tcsh
exits 0 allot --help
exits 0 allot --version
has "$out" "0.1.0"

# 3: no server there.
export ALLOT_SERVER=http://127.0.0.1:1
exits 3 allot jobs
has "$err" "127.0.0.1:1"
exits 3 allot submit --count 1
exits 2 allot jobs --server "not a url"
unset ALLOT_SERVER
serve

# 4: not there.
exits 4 allot job 123
exits 4 allot job last
exits 4 allot cancel 123
exits 4 allot worker 123
exits 4 allot queue show nowhere
exits 4 allot jobs --queue nowhere
id=$(allot submit --count 2 --tag t)
exits 4 allot tasks "$id" 2
exits 4 allot wait 123
# What the server refuses as a value is the caller's mistake.
exits 2 allot submit --count 1 --tag 'a b'
exits 2 allot submit --count 4294967296
exits 2 allot job set "$id"
exits 2 allot submit /nonexistent
printf 'not json\n' >bad
exits 2 allot submit bad --json
has "$err" "line 1"
same 1 "$(allot jobs --all -o id | wc -l)"

# 6: not in this state.
exits 6 allot retry "$id"
exits 6 allot queue create default
allot cancel "$id" >/dev/null
exits 6 allot pause "$id"
exits 6 allot job set "$id" --priority 1

# 1: the job did not end well.
exits 1 allot wait "$id"
worker bad -- sh -c 'echo why >&2; exit 100'
exits 1 allot submit --count 1 --tag bad --wait
has "$err" "failed"
json "$(allot tasks last 0 -o json)" '.state == "failed" and (.error | contains("exit status 100") and contains("why"))'
worker good -- cat
exits 0 allot submit --count 1 --payload x --tag good --wait
# Failures within the allowance are no failure of the job.
printf '1\n2\n3\n4\n' >four
worker odd -- sh -c 'read n; [ "$n" != 2 ] || exit 100; echo "$n"'
exits 0 allot submit four --tag odd --max-failed 50% --results
same $'1\n\n3\n4' "$out"
has "$err" "task 1 failed"

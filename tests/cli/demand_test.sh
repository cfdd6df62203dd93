# SPDX-License-Identifier: Apache-2.0
# What could start if workers were there, what a limit would apply to, and which limits hold a job back.
. "$(dirname "$0")/lib.sh"
serve --max-limit-expiration 1h

json "$(allot queue show -o json)" '.settings.max_limit_expiration_ms == 3600000'
same 'nothing waits' "$(allot demand)"
json "$(allot demand -o json)" '.totals.startable == 0 and .totals.queued == 0 and .totals.wanted == 0 and .rows == [] and .complete'
exits 2 allot demand -o id

ann=$(allot submit --tag render --count 20 --user ann --requirements 'TARGET.memory >= 4096')
bob=$(allot submit --tag mail --count 3 --user bob)
json "$(allot demand -o json)" '.totals.startable == 23 and .totals.queued == 23 and .totals.wanted == 23 and .totals.rows == 2
  and .rows[0].user == "ann" and .rows[0].tags == ["render"] and .rows[0].requirements == "TARGET.memory >= 4096" and .rows[1].user == "bob"'
shown=$(allot demand)
has "$shown" 'USER'
has "$shown" '23 queued, 23 of them startable within 1m 00s, 0 running'
json "$(allot demand --user bob -o json)" '.totals.startable == 3 and (.rows | length) == 1'
json "$(allot demand --tag render -o json)" '.totals.startable == 20'
same 2 "$(allot demand -o ndjson | wc -l)"
json "$(allot demand -n 1 -o json)" '(.rows | length) == 1 and .totals.rows == 2 and .totals.startable == 23'

# What limits can pay within a minute bounds it, and 0 is 0.
allot limit set --tag agent --uuid slow --name slowly --expr 'MY.User == "ann"' --rate 4/60s --burst 1 --expires 2m >/dev/null
json "$(allot demand --user ann -o json)" '.rows[0].startable == 9 and .rows[0].queued == 20'
allot limit set --tag agent --uuid slow --name slowly --expr 'MY.User == "ann"' --rate 0/60s --expires 2m >/dev/null
json "$(allot demand -o json)" '.rows[0].startable == 0 and .totals.startable == 3'

# A try tells whom it would be for.
try=$(allot limit try --expr 'MY.User == "ann"' --cost 'MY.Tasks / 4.0')
has "$try" 'applies to 1 of 2 jobs'
has "$try" '20 tasks'
has "$try" 'a start costs 5'
has "$try" 'it reads nothing of the worker'
json "$(allot limit try --expr 'TARGET.site == "b"' -o json)" '.jobs == 0 and (.job_only | not) and .worker_count == 0'
exits 2 allot limit try --expr 'MY.User =='
has "$err" '^ expected an expression here'

# Explain says which limit holds it back, and when it can pay, or that it never can.
worker render --attribute memory=8192 -j 20 -- cat
eventually sh -c "allot workers -o json | jq -e '.workers | length == 1'"
explained=$(allot explain "$ann")
has "$explained" 'slowly'
has "$explained" 'never: its count is 0'
has "$explained" 'ask the operator: the limit `slowly` (agent) stops it: its count is 0'
json "$(allot explain "$ann" -o json)" '.verdict.code == "limit_never" and .verdict.kind == "operator" and .limits[0].uuid == "slow" and .limits[0].blocks and .limits[0].never'
allot limit set --tag agent --uuid slow --name slowly --expr 'MY.User == "ann"' --rate 1/1h --expires 2m >/dev/null
eventually sh -c "allot explain $ann -o json | jq -e '.verdict.code == \"limit\" and .limits[0].payable_in_ms > 60000'"
explained=$(allot explain "$ann")
has "$explained" 'wait: the limit `slowly` (agent) holds it back'
has "$explained" 'CAN PAY'
# Monitors hold nothing back.
allot limit set --tag agent --uuid slow --expr 'MY.User == "ann"' --rate 0/1h --monitor --expires 2m >/dev/null
allot wait "$ann" >wait.log
json "$(allot limit show slow -o json)" '.monitor and .skipped > 0'

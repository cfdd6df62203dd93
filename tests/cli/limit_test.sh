# SPDX-License-Identifier: Apache-2.0
# Limits from the command line: set, looked at, renewed, changed, ended; and what holds jobs back.
. "$(dirname "$0")/lib.sh"
serve

same 'no limits' "$(allot limit list)"
uuid=$(allot limit set --tag agent --expr 'MY.User == "ann"' --rate 10/60s --expires 2m -o id)
same 36 "${#uuid}"
json "$(allot limit show "$uuid" -o json)" \
  '.tag == "agent" and .name == "" and .count == 10 and .window_ms == 60000 and .burst == 0 and .cost == null and .job_only and .tokens == 10 and (.monitor | not)'
same "$uuid deleted" "$(allot limit delete "$uuid")"
exits 4 allot limit show "$uuid"
exits 4 allot limit renew "$uuid"
exits 4 allot limit delete "$uuid"

# With an id of one's own it is set once, then changed.
own=(--tag agent --uuid own-1 --expr 'MY.User == "ann"' --expires 2m)
same 'own-1 set, expires in 2m 00s' "$(allot limit set "${own[@]}" --rate 2/m --burst 3 --max-burst-cost 4 --cost 'MY.Tasks' --name 'ann, slowly' --monitor)"
json "$(allot limit show own-1 -o json)" '.count == 2 and .burst == 3 and .max_burst_cost == 4 and .cost == "MY.Tasks" and .monitor and .name == "ann, slowly"'
same 'own-1 changed, expires in 2m 00s' "$(allot limit set "${own[@]}" --rate 2.5/1m)"
json "$(allot limit set "${own[@]}" --rate 2/60s -o json)" '.uuid == "own-1" and .created == false and .expires_in_ms == 120000 and .capped == false'
same 'own-1 renewed, expires in 30s' "$(allot limit renew own-1 --expires 30s)"

# A lease that is too long is cut, and said to be; the queue says what is.
exits 0 allot limit renew own-1 --expires 1h
same 'own-1 renewed, expires in 5m 00s' "$out"
has "$err" 'note: it lives for 5m 00s, not 1h 00m: that is the most that the queue allows'
allot queue set --max-limit-expiration 2h >queue.log
json "$(allot queue show -o json)" '.settings.max_limit_expiration_ms == 7200000'
exits 0 allot limit renew own-1 --expires 1h
same '' "$err"
exits 2 allot queue set --max-limit-expiration 25h
allot queue set --limit-ban-window 2m --demand-lookahead 10m >queue.log
json "$(allot queue show -o json)" '.settings.limit_ban_window_ms == 120000 and .settings.demand_lookahead_ms == 600000'
json "$(allot demand -o json)" '.lookahead_ms == 600000'
allot queue set --limit-ban-window 1m --demand-lookahead 1m >queue.log
exits 2 allot queue set --demand-lookahead 25h
exits 2 allot queue set --max-limit-expiration 0

# Lists.
allot limit set --tag other --uuid b --expr true --rate 0/1s --monitor --expires 1m -o id >/dev/null
list=$(allot limit list)
has "$list" 'UUID'
has "$list" '2/1m'
has "$list" '(monitor)'
same 'own-1' "$(allot limit list --tag agent -o id)"
same 'b' "$(allot limit list --uuid b -o id)"
same 2 "$(allot limit list -o ndjson | wc -l)"
json "$(allot limit list -o json)" '[.limits[].uuid] == ["own-1", "b"]'
same 'b deleted' "$(allot limit delete b)"

# Mistakes change nothing, and are told with their place.
exits 2 allot limit set "${own[@]:0:4}" --expr 'MY.User ==' --rate 1/1s --expires 1m
has "$err" 'error: expr: MY.User =='
has "$err" '^ expected an expression here'
exits 2 allot limit set "${own[@]}" --rate 1/1s --cost '1 +'
has "$err" 'error: cost: 1 +'
for rate in 10 10/ /60s x/60s 10/x 10/60s/2 '' 1e999/1s; do
  exits 2 allot limit set "${own[@]}" --rate "$rate"
done
exits 2 allot limit set "${own[@]}" --rate 10/0s
has "$err" 'window_ms'
exits 2 allot limit set "${own[@]}" --rate=-1/60s
has "$err" 'count'
exits 2 allot limit set "${own[@]}" --rate 1/1s --burst=-1
exits 2 allot limit set "${own[@]:0:6}" --rate 1/1s --expires 0
exits 2 allot limit set "${own[@]:0:6}" --rate 1/1s
exits 2 allot limit set --tag agent --uuid 'a b' --expr true --rate 1/1s --expires 1m
exits 2 allot limit set --tag agent --expr 'time() > 3' --rate 1/1s --expires 1m
has "$err" 'must not read time()'
exits 2 allot limit renew own-1 --expires 0
json "$(allot limit show own-1 -o json)" '.expr == "MY.User == \"ann\"" and .count == 2'
same 1 "$(allot limit list -o id | wc -l)"

# What is expired is gone.
allot limit set --tag agent --uuid brief --expr true --rate 1/1s --monitor --expires 100ms >/dev/null
eventually sh -c '! allot limit show brief'
eventually grep -q '"limit expired"' serve.log

# A start costs a token; when they are used up the rest waits, and others' jobs do not.
allot limit delete own-1 >/dev/null
allot limit set --tag agent --uuid slow --name $'ann, sl\u202eowly' --expr 'MY.User == "ann"' --rate 2/1h --expires 2m >/dev/null
ann=$(seq 5 | allot submit --tag t --user ann)
bob=$(seq 5 | allot submit --tag t --user bob)
worker t -- cat
allot wait "$bob" >wait.log
eventually sh -c "allot job $ann -o json | jq -e '.done == 2'"
shown=$(allot limit show slow)
has "$shown" 'allowed          2 starts, at a cost of 2'
has "$shown" 'blocked users    ann'
has "$shown" 'next start       in '
has "$shown" '│'
hasnt "$shown" $'\u202e'
json "$(allot limit show slow -o json)" '.allowed == 2 and .waiting == 1 and .cheapest == 1 and .payable_in_ms > 1000000 and .ignored_users == ["ann"] and .ignored[0].user == "ann" and .ignored[0].at_ms > 0'

# A cost that cannot be evaluated counts as 1, and is warned of once.
allot limit set --tag agent --uuid odd --name odd --expr 'MY.User == "cy"' --cost 'MY.nothing + 1' --rate 5/1h --expires 2m >/dev/null
seq 2 | allot submit --tag t --user cy --wait >/dev/null 2>&1
json "$(allot limit show odd -o json)" '.cost_failed and .allowed == 2 and .cost_allowed == 2'
has "$(allot limit show odd)" 'the cost of some start cannot be evaluated, and counts as 1'
warned='"the cost of a start cannot be evaluated, and counts as 1".*"limit":"odd"'
eventually grep -q "$warned" serve.log
same 1 "$(grep -c "$warned" serve.log)"

# A limit that is ended, or has no reason any more, lets them go.
allot limit delete slow >/dev/null
allot wait "$ann" >wait.log

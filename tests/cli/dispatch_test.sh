# SPDX-License-Identifier: Apache-2.0
# Who holds a queued task: set by flags, shown for workers and jobs, and changed while the queue runs.
. "$(dirname "$0")/lib.sh"

# Settings of the server are for new queues.
json "$(allot config show --dispatch balanced --balance random -o json)" \
  '[.settings[] | select(.name == "dispatch" or .name == "balance") | .value] == ["balanced", "random"]'
printf 'dispatch = "balance"\n' >bad.toml
exits 2 allot config check --config bad.toml
has "$err" 'bad.toml:1'
has "$err" 'must be one of fanout, balanced'
exits 2 allot config check --balance fair
has "$err" 'must be one of least_queue, round_robin, random'
has "$(allot completion bash)" '--dispatch --balance'

serve --dispatch balanced
json "$(allot queue show -o json)" '.settings.dispatch == "balanced" and .settings.balance == "least_queue"'
has "$(allot queue show)" 'balanced, least_queue'
has "$(allot queue list)" 'DISPATCH'
has "$(allot queue list)" 'balanced'
json "$(allot queue create other --dispatch fanout --balance round_robin -o json)" '.settings.dispatch == "fanout" and .settings.balance == "round_robin"'
json "$(allot queue set other --balance random -o json)" '.settings.dispatch == "fanout" and .settings.balance == "random"'
hasnt "$(allot queue show other)" 'random'
has "$(allot queue set other --dispatch balanced)" 'balanced, random'
exits 2 allot queue set --dispatch balnaced
has "$err" 'must be one of fanout, balanced'
has "$err" 'did you mean `balanced`?'
exits 2 allot queue set --balance least
has "$err" 'must be one of least_queue, round_robin, random'
exits 2 allot queue set --dispatch ''
has "$err" '--dispatch must not be empty'
hasnt "$err" '--balance'
json "$(allot queue show -o json)" '.settings.dispatch == "balanced" and .settings.balance == "least_queue"'
eventually grep -q '"queue.set".*dispatch' serve.log
eventually grep -q '"queue.create".*other.*round_robin' serve.log

# Two workers that hold, but ask for nothing.
idle() {
  curl -sSf "$ALLOT_SERVER/v1/queues/default/workers" -H 'Content-Type: application/json' \
    -d "{\"name\": \"$1\", \"tags\": [\"t\"], \"slots\": 4}" | jq -r .worker
}
a=$(idle a)
b=$(idle b)
same 'queue empty' "$(allot worker "$a" | grep '^queue' | xargs)"
id=$(seq 10 | allot submit --tag t --user $'an\u202en' --priority 3 --quiet)

# Each has half of them.
shown=$(allot workers)
same "ID NAME STATE TAGS SLOTS RUNNING QUEUE SINCE" "$(head -n 1 <<<"$shown" | xargs)"
same "a 0 5 b 0 5" "$(tail -n +2 <<<"$shown" | awk '{ print $2, $6, $7 }' | sort | xargs)"
same 0 "$(awk 'length > 80' <<<"$shown" | wc -l)"
json "$(allot workers -o json)" '[.workers[] | [.promised, .promised_jobs, .running]] == [[5, 1, 0], [5, 1, 0]] and all(.workers[]; has("queue") | not)'
json "$(allot worker "$a" -o json)" --arg job "$id" '.queue == [{"job": $job, "tasks": 5, "priority": 3, "user": "an\u202en", "tags": ["t"]}]'
shown=$(allot worker "$a")
has "$shown" '5 tasks of 1 job'
same "JOB TASKS PRIO USER TAGS $id 5 3 ann t" "$(tail -n 2 <<<"$shown" | xargs)"
hasnt "$shown" $'\u202e'
same 'promised 10' "$(allot job "$id" | grep ' promised' | xargs)"
json "$(allot job "$id" -o json)" '.promised == 10 and .queued == 10'
# Of more than a hundred jobs the first are shown; the highest priority comes first. Of two alike each gets one.
for n in $(seq 202); do printf '{"tag": "t", "priority": %s}\n' "$(((n + 1) / 2 % 2 * 5))"; done | jq -s '{jobs: .}' |
  curl -sSf "$ALLOT_SERVER/v1/queues/default/jobs/batch" -H 'Content-Type: application/json' -d @- >batch
json "$(allot worker "$a" -o json)" '.promised == 106 and .promised_jobs == 102 and (.queue | length) == 100 and .queue[0].priority == 5 and .queue[99].priority == 0'
same 'and 2 more' "$(allot worker "$a" | tail -n 1)"
jq -r '.jobs[].id' batch | xargs allot cancel >/dev/null
json "$(allot workers -o json)" '[.workers[].promised] == [5, 5]'

metric() { curl -sSf "$ALLOT_SERVER/metrics" | sed -n "s/^$1{queue=\"default\"} //p"; }
same 10 "$(metric allotter_tasks_promised)"
same 5 "$(metric allotter_longest_worker_queue)"
same 1 "$(curl -sSf "$ALLOT_SERVER/metrics" | sed -n 's/^allotter_dispatch{mode="balanced",queue="default"} //p')"

# To fanout: the queues are empty, and all are done once, by whoever asks.
has "$(allot queue set --dispatch fanout)" 'fanout'
json "$(allot workers -o json)" 'all(.workers[]; has("promised") | not)'
has "$(allot workers)" 'WANTS'
hasnt "$(allot workers)" 'QUEUE'
hasnt "$(allot worker "$a")" 'queue '
opened() { [ "$(metric allotter_tasks_promised)" = 0 ] && [ "$(metric allotter_longest_worker_queue)" = 0 ]; }
eventually opened
json "$(allot job "$id" -o json)" '.queued == 10 and (has("promised") | not)'
worker t -j 2 -- sh -c 'read n; echo "$n" >>ran; echo "$n"'
allot wait "$id" >wait.log
same "$(seq 10 | xargs)" "$(sort -n ran | xargs)"

# And back: what the two that do not ask were promised is taken by the one that does, each once.
allot queue set --dispatch balanced >/dev/null
rm ran
allot wait "$(seq 30 | allot submit --tag t --quiet)" >wait.log
same "$(seq 30 | xargs)" "$(sort -n ran | xargs)"
[ "$(metric allotter_dispatch_steals_total)" -gt 0 ] || fail "nothing was stolen"
same 0 "$(metric allotter_dispatch_wasted_pops_total)"

# It is kept, whatever the next start says.
kill -TERM "$worker_pid" "$server_pid"
ends "$worker_pid"
ends "$server_pid"
serve --dispatch fanout --balance random
json "$(allot queue show -o json)" '.settings.dispatch == "balanced" and .settings.balance == "least_queue"'
json "$(allot queue create new -o json)" '.settings.dispatch == "fanout" and .settings.balance == "random"'

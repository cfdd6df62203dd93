# SPDX-License-Identifier: Apache-2.0
# What a strategy would give, from the command line.
. "$(dirname "$0")/lib.sh"
serve

has "$(allot strategy try oldest)" '0 of 0 jobs have a queued task for this worker, 0 tasks in all'
a=$(allot submit --tag render --count 3 --user ann)
b=$(allot submit --tag render --count 2 --user bob --meta mode=preview)
c=$(allot submit --tag other --count 1 --user cy)

# What is shown is what is then given; showing takes nothing.
shown=$(allot strategy try 'fair(user, oldest)' --tag render)
has "$shown" 'strategy  fair(user, oldest)'
has "$shown" 'policy    worker'
has "$shown" '2 of 3 jobs have a queued task for this worker, 5 tasks in all'
has "$shown" 'PICK  JOB'
has "$shown" 'shares between users: "ann" has 0 running tasks, never served'
has "$shown" 'shares between users: "bob" has 1 running task, served by pick 2'
hasnt "$shown" $'\e'
same "$a $b $a $b $a" "$(allot strategy try 'fair(user, oldest)' --tag render -o id | tr '\n' ' ' | sed 's/ $//')"
same 5 "$(allot strategy try random --tag render -o ndjson | wc -l)"
json "$(allot strategy try 'or_else(select_only(mode = preview, oldest), newest)' -n 3 -o json)" --arg b "$b" --arg c "$c" \
  '[.picks[].job] == [$b, $b, $c] and [.picks[].index] == [0, 1, 0] and .picks[0].why[0].branch == 1 and .picks[2].why[0].branch == 2 and .may_run == 3 and .complete'

# Policies: the queue's own, or another.
allot queue set --policy 'max_simultaneous(user, 1, worker)' --weight user.ann=2 >queue.log
json "$(allot strategy try oldest -o json)" '.policy == "max_simultaneous(user, 1, worker)" and (.picks | length == 3)'
json "$(allot strategy try oldest --policy worker -o json)" '.policy == "worker" and (.picks | length == 6)'
has "$(allot strategy try oldest)" 'nothing of a user that has 1 running task already: "ann" has 0'

# Workers: one that is there, or one like it.
worker other --attribute memory=5 -- sleep 100
eventually sh -c "allot workers -o json | jq -e '.workers[0].running == 1'"
id=$(allot workers -o id)
has "$(allot strategy try oldest --worker "$id")" '0 of 3 jobs have a queued task'
has "$(allot strategy try oldest --tag render --requirements 'TARGET.User == "bob"')" '1 of 3 jobs has a queued task for this worker, 2 tasks in all'
exits 4 allot strategy try oldest --worker 17
exits 2 allot strategy try oldest --worker "$id" --tag render

# What is no strategy is told before anything is asked; bounds; paused.
exits 2 allot strategy try 'fair(user, olest)'
has "$err" 'did you mean `oldest`?'
exits 2 allot strategy try oldest --policy oldest
exits 2 allot strategy try oldest -n 0
exits 2 allot strategy try oldest -n 101
allot queue pause >pause.log
has "$(allot strategy try oldest)" 'the queue is paused'

# Names from strangers show no control characters.
allot submit --count 1 --user $'x\u202e86' --meta $'customer="\u009b31m"' --priority 9 >/dev/null
shown=$(allot strategy try 'prefer_distinct(customer, priority)' --policy worker)
hasnt "$shown" $'\u009b'
hasnt "$shown" $'\u202e'

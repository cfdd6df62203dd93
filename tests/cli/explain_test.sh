# SPDX-License-Identifier: Apache-2.0
# Why a job does not run, as people ask for it.
. "$(dirname "$0")/lib.sh"
serve
allot queue set --property-keys gpu,mem >queue.log

# Nobody there: a dry run says so, and stores nothing.
json "$(allot submit --dry-run --tag render --count 3 -o json)" '.job == null and .verdict.code == "no_workers" and .verdict.kind == "operator" and .tasks.queued == 3'
has "$(allot submit --dry-run --tag render --count 3)" 'ask the operator: no worker is there'
json "$(printf 'a\nb\n' | allot submit --dry-run -o json)" '.tasks.queued == 2'
printf '1\n2\n3\n' >lines
json "$(allot submit lines --dry-run -o json)" '.tasks.queued == 3'
exits 2 allot submit --dry-run --count 1 -o id
exits 2 allot submit --dry-run --count 1 --requirements '1 +'
has "$err" '^ expected'
exits 2 allot submit --dry-run --count 1 --constraint gup=a100
has "$err" 'did you mean `gpu`?'
same '' "$(allot jobs -o id)"
exits 4 allot explain
exits 4 allot explain 123

# A worker that could, but for a typo here and a number there.
worker render --property gpu=a100 --attribute memory=2048 --rank TARGET.size -- cat
eventually sh -c "allot workers -o json | jq -e '.workers | length == 1'"
id=$(allot workers -o id)
has "$(allot submit --dry-run --tag redner --count 1)" 'change the request: no worker has been seen with the tag `redner`; did you mean `render`?'
has "$(allot submit --dry-run --tag render --count 1 --constraint gpu=A100)" 'did you mean `a100`?'
has "$(allot submit --dry-run --tag render --count 1)" 'wait: 1 worker could start it now'

job=$(allot submit --tag render --count 1 --requirements 'TARGET.memory >= 4096 && TARGET.Slots > 0' --meta size=7 --rank TARGET.memory)
text=$(allot explain)
has "$text" "job $job is active: 1 queued, 0 running"
has "$text" '1  ████████████████████████  with its properties'
has "$text" '0  ░░░░░░░░░░░░░░░░░░░░░░░░  that meet its requirements'
has "$text" 'TARGET.memory >= 4096: has 2048'
hasnt "$text" 'TARGET.Slots > 0'
has "$text" 'change the request: `TARGET.memory >= 4096` does not hold for the only worker with its tags: it has 2048'
hasnt "$text" $'\e'
json "$(allot explain "$job" -o json)" --arg id "$id" '.nearest.worker == $id and .funnel[3] == {"stage": "constraint", "workers": 1}'
same "$job" "$(allot explain last -o id)"

# One pair.
text=$(allot explain last "$id")
has "$text" '  yes  tag `render`: there'
has "$text" '  no   TARGET.memory >= 4096: has 2048'
has "$text" 'seen from the job: 2048 (TARGET.memory)'
has "$text" 'seen from the worker: 7 (TARGET.size)'
has "$text" 'this worker cannot run it'
json "$(allot explain last "$id" -o json)" '.matches == false and .verdict.code == "mismatch" and .worker_rank.value == 7'
exits 4 allot explain last 17
has "$err" '`allot workers` lists them'

# Changed as the verdict says, it runs; and then there is nothing to explain.
allot job set "$job" --requirements 'TARGET.memory >= 1024' >set.log
allot wait "$job" >wait.log
has "$(allot explain "$job")" 'wait: the job is done'

# Paused, and what strangers named shows no control characters.
allot queue pause >pause.log
paused=$(allot submit --tag render --count 1)
has "$(allot explain "$paused")" 'ask the operator: the queue is paused'
has "$(allot explain "$paused")" 'hint: allot queue resume'
allot worker set "$id" --attribute $'arch="x\u202e86\u009b31m"' >set.log
text=$(allot explain "$(allot submit --tag render --count 1 --requirements 'TARGET.arch == "arm"')")
has "$text" 'TARGET.arch == "arm": has "x86\u009b31m"'

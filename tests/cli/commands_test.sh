# SPDX-License-Identifier: Apache-2.0
# Every command at least once, its JSON read by jq.
. "$(dirname "$0")/lib.sh"
serve
json "$(allot version -o json)" '.version and .server.protocol == 1'

# submit, in its forms.
json "$(printf 'a\nb\n' | allot submit --tag t -o json)" '.job.count == 2 and .job.tags == ["t"] and .existing == false and .matching_workers == 0'
printf '1\n2\n3\n' >lines
json "$(allot submit lines --tag t -o json)" '.job.count == 3'
json "$(allot submit --count 5 --payload 7 --tag t -o json)" '.job.count == 5'
json "$(allot submit --payload hello --tag t --priority 3 --user ann --meta customer=acme --meta size=12 --meta big=true --meta share=0.5 \
  --max-attempts 2 --lease 90s --timeout 10m --max-failed 5% --retention 2d --backoff-first 2s --backoff-factor 3 --delay 1h --sync -o json)" \
  '.job | .count == 1 and .priority == 3 and .user == "ann" and .meta == {"customer": "acme", "size": 12, "big": true, "share": 0.5}
    and .max_attempts == 2 and .lease_ms == 90000 and .timeout_ms == 600000 and .retention_ms == 172800000 and .async == false
    and .backoff.first_ms == 2000 and .backoff.factor == 3 and .state == "scheduled"'
key1=$(allot submit --count 1 --tag t --idempotency-key k -o id)
key2=$(allot submit --count 1 --tag t --idempotency-key k -o id)
same "$key1" "$key2"
exits 6 allot submit --count 2 --tag t --idempotency-key k
printf '{"n":1}\n[2]\n' >values
job=$(allot submit values --json --tag t -o id)
json "$(allot tasks "$job" 0 -o json)" '.payload == {"n": 1}'

# jobs, job.
json "$(allot jobs -o json)" '.jobs | length == 6'
json "$(allot jobs --state scheduled -o json)" '.jobs | length == 1'
json "$(allot jobs --user ann -o json)" '.jobs | length == 1'
json "$(allot jobs --limit 2 -o json)" '.jobs | length == 2'
same 6 "$(allot jobs --all -o id | wc -l)"
same 6 "$(allot jobs --all -o ndjson | jq -c .id | wc -l)"
json "$(allot job last -o json)" --arg id "$job" '.id == $id and .state == "active"'
json "$(allot job last:2 -o json)" --arg id "$key1" '.id == $id'

# job set, pause, resume, cancel.
json "$(allot job set "$job" --priority 9 --tag u --meta a=b -o json)" '.priority == 9 and .tags == ["u"] and .meta == {"a": "b"}'
json "$(allot job set "$job" --priority none --no-meta -o json)" '.priority == null and .meta == {}'
json "$(allot pause "$job" -o json)" '.paused and .state == "paused"'
json "$(allot resume "$job" -o json)" '(.paused | not) and .state == "active"'
json "$(allot cancel "$job" -o json)" '.state == "cancelled" and .skipped == 2'
json "$(allot tasks "$job" -o json)" '[.tasks[].state] == ["skipped", "skipped"]'
json "$(allot retry "$job" -o json)" '.retried == 2 and .job.state == "active"'

# work, wait, results, tasks.
worker u -- sh -c 'cat; echo " for $ALLOT_JOB/$ALLOT_INDEX, attempt $ALLOT_ATTEMPT"'
json "$(allot wait "$job" -o json)" '.state == "done" and .done == 2'
json "$(allot results "$job" -o json)" --arg id "$job" '.results | length == 2 and (.[0].result | endswith("\n for \($id)/0, attempt 1"))'
same 2 "$(allot results "$job" -o ndjson | wc -l)"
json "$(allot tasks "$job" --state done -o json)" '.tasks | length == 2'
json "$(allot tasks "$job" 1 -o json)" '.index == 1 and .state == "done" and .payload == [2]'

# workers, worker, drain.
json "$(allot workers -o json)" '.workers | length == 1 and .[0].connected and .[0].slots == 1 and .[0].tags == ["u"]'
id=$(allot workers -o id)
json "$(allot worker "$id" -o json)" --arg id "$id" '.id == $id and .tasks == []'
json "$(allot drain "$id" -o json)" '.draining'
ends "$worker_pid"
same 0 "$code"
eventually sh -c "[ -z \"\$('$ALLOT_BIN' workers -o id)\" ]"

# queue.
json "$(allot queue create video --worker-grace 2m --max-finished-jobs 100 --max-result-bytes 128KiB -o json)" \
  '.name == "video" and .settings.worker_grace_ms == 120000 and .settings.max_finished_jobs == 100 and .settings.max_result_bytes == 131072'
json "$(allot queue list -o json)" '[.queues[].name] | sort == ["default", "video"]'
json "$(allot queue set video --worker-grace 5s -o json)" '.settings.worker_grace_ms == 5000 and .settings.max_finished_jobs == 100'
json "$(allot queue pause video -o json)" '.paused'
json "$(allot queue show video -o json)" '.paused'
json "$(allot queue resume video -o json)" '.paused | not'
json "$(allot submit --queue video --count 3 -o json)" '.job.queue == "video"'
same 1 "$(ALLOT_QUEUE=video allot jobs -o id | wc -l)"
exits 6 allot queue delete video
json "$(allot queue delete video --force -o json)" '.deleted == "video"'
json "$(allot queue show -o json)" '.name == "default"'

# backup, token, config, completion: see the tests of their own. bench: against this server, as short as it gets.
json "$(allot bench submit drain latency --quick --clients 1 --workers 2 --batch 8 --seconds 0.2 --samples 100 -o json 2>bench.log)" 'type == "object"'
has "$(allot --help)" submit
for command in serve submit work jobs job explain tasks results wait cancel pause resume retry workers worker drain queue backup restore token config bench completion version; do
  has "$(allot "$command" --help)" "--help"
done

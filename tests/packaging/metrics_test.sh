# SPDX-License-Identifier: Apache-2.0
# What watches a server names only what a server has: alerts, dashboard and the page's table, against a real exposition.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"
rules=$root/packaging/prometheus/allotter.rules.yml
dashboard=$root/packaging/grafana/allotter.json
page=$root/docs/reference/metrics.md

# A server that has something to tell of everything: tasks done, failed, blocked, in two queues.
serve
allot queue create other >/dev/null
worker square --prefetch 0 -- sh -c 'read n; [ "$n" != 7 ] && echo $((n*n))'
seq 20 | allot submit --tag square --max-attempts 1 --max-failed 5 --wait --quiet >/dev/null || true
allot submit --tag nobody --count 5 >/dev/null
allot submit -q other --tag nobody --count 3 >/dev/null
held() { curl -sSf "$ALLOT_SERVER/metrics" >exposed && [ "$(awk '/^allotter_tasks_by_wait_reason{/ { n += $2 } END { print n + 0 }' exposed)" = 8 ]; }
eventually held

# value NAME LABELS
value() { sed -n "s/^$1{$2} //p" exposed; }
same 19 "$(value allotter_tasks_done_total 'queue="default"')"
same 1 "$(value allotter_attempts_failed_total 'queue="default"')"
same 20 "$(value allotter_run_seconds_count 'queue="default"')"
same 20 "$(value allotter_wait_seconds_count 'queue="default"')"
same 20 "$(value allotter_pick_seconds_count 'queue="default"')"
same 0 "$(value allotter_run_seconds_count 'queue="other"')"
same 1 "$(value allotter_slots 'queue="default"')"
same 5 "$(awk '/^allotter_tasks_by_wait_reason{queue="default",/ { n += $2 } END { print n }' exposed)"
same 3 "$(awk '/^allotter_tasks_by_wait_reason{queue="other",/ { n += $2 } END { print n }' exposed)"

# A queue that is deleted goes from the metrics, also while they are read.
for ((i = 0; i < 20; i++)); do curl -sSf "$ALLOT_SERVER/metrics" >/dev/null || echo broken >>reads.broken; done &
reader=$!
pids+=("$reader")
allot queue delete other --force >/dev/null
wait "$reader"
[ ! -e reads.broken ] || fail "a reading failed while a queue was deleted"
curl -sSf "$ALLOT_SERVER/metrics" >after
hasnt "$(cat after)" 'queue="other"'

# Each family, its type and its labels: the page has them all, and no others.
awk '/^# TYPE / { type[$3] = $4; next }
  /^#/ || !NF { next }
  {
    name = $1; sub(/\{.*/, "", name)
    base = name; sub(/_(bucket|sum|count)$/, "", base)
    if (!(name in type) && type[base] == "histogram") name = base
    labels = ""
    text = $0
    if (match(text, /\{[^}]*\}/)) {
      text = substr(text, RSTART + 1, RLENGTH - 2)
      while (match(text, /[a-z_]+="[^"]*"/)) {
        key = substr(text, RSTART, RLENGTH); sub(/=.*/, "", key)
        if (key != "le") labels = labels (labels == "" ? "" : ", ") key
        text = substr(text, RSTART + RLENGTH)
      }
    }
    seen[name] = labels
  }
  END { for (name in type) printf "%s | %s | %s\n", name, type[name], seen[name] }' exposed | sort >families
sed -n '/^## All metrics/,/^## /s/^| `\([a-z_]*\)` | \([a-z]*\) | \([a-z, ]*\) *|.*/\1 | \2 | \3/p' "$page" |
  sed 's/ *$//' | sort >told
sed -i 's/ *$//' families
# Only nodes of a cluster have these: they are held against the source.
grep '^allotter_cluster_' told >of_nodes
same "$(grep -oE '"allotter_cluster_[a-z_]+"' "$(dirname "$page")/../../src/server/ops/metrics.cc" | tr -d '"' | sort)" \
  "$(cut -d ' ' -f 1 of_nodes)"
grep -v '^allotter_cluster_' told >told_of_all
diff told_of_all families >differences || fail "docs/reference/metrics.md (<) and the server (>) differ: $(cat differences)"
[ "$(wc -l <families)" -gt 50 ] || fail "only $(wc -l <families) metrics were seen"

# names FILE: metrics in it, as families.
cut -d ' ' -f 1 families of_nodes >known
sed -n 's/^ *- record: //p' "$rules" >recorded
names() {
  grep -oE '(instance_queue:)?(allotter|process)_[a-z_]+(:[a-z0-9_]+)?' "$1" | sort -u | while read -r name; do
    if grep -qx "$name" known recorded; then continue; fi
    base=${name%_bucket} base=${base%_sum} base=${base%_count}
    [ "$base" != "$name" ] && grep -q "^$base | histogram" families && continue
    echo "$name"
  done
}
grep -vE '^ *(#|summary:|description:)' "$rules" >expressions
same "" "$(names expressions)"
jq -r '[.. | objects | .expr?, .definition? | strings] | .[]' "$dashboard" >expressions
same "" "$(names expressions)"
[ "$(wc -l <expressions)" -gt 40 ] || fail "the dashboard has only $(wc -l <expressions) expressions"

# Reasons in them are codes that there are.
grep -ohE 'reason=~?\\*"[a-z_|]+' "$rules" "$dashboard" | sed 's/.*"//' | tr '|' '\n' | sort -u >reasons
[ "$(wc -l <reasons)" -ge 3 ] || fail "no reasons were found"
while read -r reason; do
  grep -q "\"$reason\"" "$root/src/match/explain.cc" || fail "there is no reason $reason"
done <reasons

# Every alert says for how long, how bad, what and what to do, with commands that there are.
awk '/^ *- alert: / { name = $3; next }
  name && /^ *(expr|for|severity|summary|description):/ { key = $1; sub(/:.*/, "", key); print name, key }
  /^ *- record: / { name = "" }' "$rules" | sort -u >parts
alerts=$(grep -c '^ *- alert: ' "$rules")
same "$((alerts * 5))" "$(wc -l <parts)"
same "$alerts" "$(grep -c '^ *description: ".*Look: .*"$' "$rules")"
grep -oE 'Look: .*"$' "$rules" | grep -oE 'allot [a-z]+( (list|show|resume))?' | sort -u >commands
[ "$(wc -l <commands)" -gt 5 ] || fail "no commands were found"
while read -r command; do
  has "$($command --help)" "Usage: $command "  # a wrong one gets the help of what is before it
done <commands

# The dashboard: every panel has an id of its own, a place on the page, and the data source that is chosen.
json "$(cat "$dashboard")" '
  ([.panels[].id] | length == (unique | length))
  and all(.panels[]; .gridPos.x + .gridPos.w <= 24 and .gridPos.h > 0)
  and all(.panels[] | select(.type != "row"); .datasource.uid == "${datasource}" and (.targets | length > 0))
  and ([.templating.list[].name] == ["datasource", "instance", "queue"])
  and .schemaVersion >= 36'

# The scrape: with the token that its remark makes, what it is for can be read.
scrape=$root/packaging/prometheus/scrape.yml
create=$(sed -n 's/^# \(allot token create .*\)/\1/p' "$scrape")
bash -c "$create --data '$work_dir/data'" >prometheus.token
path=$(sed -n 's/^ *metrics_path: //p' "$scrape")
refused() { [ "$(curl -sS -o /dev/null -w '%{http_code}' "$ALLOT_SERVER$path")" = 401 ]; }
eventually refused
curl -sSf -H "Authorization: Bearer $(cat prometheus.token)" "$ALLOT_SERVER$path" >scraped
has "$(cat scraped)" "allotter_build_info{"

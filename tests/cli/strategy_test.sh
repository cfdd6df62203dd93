# SPDX-License-Identifier: Apache-2.0
# Strategies, policies, weights and names, from the command line.
. "$(dirname "$0")/lib.sh"

# check: without a server.
same "fair(user, or_else(select_only(async = false, least_recent), least_recent))" "$(allot strategy check fair -o id)"
shown=$(allot strategy check 'max_simultaneous( customer ,5, oldest)')
has "$shown" 'max_simultaneous(customer, 5, oldest)'
has "$shown" '1. nothing of a value of `customer` that has 5 running tasks already'
json "$(allot strategy check 'prefer_distinct(customer, random)' -o json)" \
  '.strategy == "prefer_distinct(customer, 1, random)" and .json == {"prefer_distinct": {"key": "customer", "max": 1, "inner": "random"}} and (.words | length > 10)'
json "$(allot strategy check --policy 'fair(user, worker)' -o json)" '.json == {"fair": {"key": "user", "inner": "worker"}}'
exits 2 allot strategy check 'fair(user, olest)'
has "$err" 'error: strategy: fair(user, olest)
                            ^ there is no strategy `olest`: did you mean `oldest`?'
has "$err" 'it cannot be asked'
exits 2 allot strategy check 'max_simultaneous(customer, oldest)'
has "$err" '^ expected a whole number'
hasnt "$err" 'hint'
exits 2 allot strategy check worker
exits 2 allot strategy check --policy oldest
exits 2 allot strategy check $'oldest\nerror: all is lost'
hasnt "$err" $'\nerror: all is lost'

# Names are in the configuration's file, and each may use those above it.
cat >server.toml <<'END'
weights = ["user.cy=4"]
policy = "or_else(urgent, worker)"
[strategies]
urgent = "select_only(urgent = true, oldest)"
helpers = "or_else(urgent, priority)"
END
json "$(allot config show --config server.toml -o json)" '[.settings[] | select(.name == "policy" or (.name | startswith("strategies.")))] | map(.value) ==
  ["or_else(select_only(urgent = true, oldest), worker)", "select_only(urgent = true, oldest)", "or_else(select_only(urgent = true, oldest), priority)"]'
for line in 'fair = "oldest"' 'a-b = "oldest"' 'x = 1' 'x = "y"' 'x = "worker"'; do
  printf '[strategies]\n%s\n' "$line" >bad.toml
  exits 2 allot config check --config bad.toml
  has "$err" 'bad.toml:2'
done
printf 'policy = "oldest"\n' >bad.toml
exits 2 allot config check --config bad.toml
exits 2 allot config check --weights user=3
has "$err" 'user.acme'

serve --config server.toml
same "urgent
helpers" "$(allot strategy list -o id | tail -n 2)"
has "$(allot strategy list)" 'select_only(urgent = true, oldest)'
same "or_else(select_only(urgent = true, oldest), priority)" "$(allot strategy check helpers -o id)"
exits 2 allot strategy check helper
has "$err" 'did you mean `helpers`?'

# queue: policy and weights.
json "$(allot queue show -o json)" '.settings.policy == "or_else(select_only(urgent = true, oldest), worker)" and .settings.weights == {"user.cy": 4}'
json "$(allot queue set --policy 'fair(user, worker)' --weight user.acme=3 --weight USER.bob=2 -o json)" \
  '.settings.policy == "fair(user, worker)" and .settings.weights == {"user.acme": 3, "user.bob": 2, "user.cy": 4}'
shown=$(allot queue show)
has "$shown" 'fair(user, worker)'
has "$shown" 'user.acme=3, user.bob=2, user.cy=4'
json "$(allot queue set --no-weight user.cy -o json)" '.settings.weights == {"user.acme": 3, "user.bob": 2}'
exits 2 allot queue set --weight user=3
has "$err" 'user.acme'
exits 2 allot queue set --weight user.acme=0
exits 2 allot queue set --no-weights --weight user.acme=2
exits 2 allot queue set --policy 'fair(user, worke)'
has "$err" '^ there is no strategy `worke`: did you mean `worker`?'
# The name `fair` in a policy is Harmony's rule, with room for the workers' own; by text, and as JSON inside a block.
rule='fair(user, or_else(select_only(async = false, least_recent), worker))'
json "$(allot queue set --policy fair -o json)" ".settings.policy == \"$rule\""
json "$(allot queue set --policy 'max_simultaneous(customer, 9, fair)' -o json)" ".settings.policy == \"max_simultaneous(customer, 9, $rule)\""
json "$(curl -sSf -X PATCH "$ALLOT_SERVER/v1/queues/default" -H 'content-type: application/json' \
  -d '{"settings": {"policy": {"max_simultaneous": {"key": "customer", "max": 9, "inner": "fair"}}}}')" \
  ".settings.policy == \"max_simultaneous(customer, 9, $rule)\""
exits 2 allot queue set --policy 'or_else(fair, fair)'
has "$err" 'worker'
exits 2 allot queue set --policy oldest
has "$err" 'worker'
allot queue set --policy 'fair(user, worker)' >/dev/null
exits 2 allot queue set --policy oldest
json "$(allot queue set --no-weights -o json)" '.settings.weights == {}'
json "$(allot queue create other --policy 'max_simultaneous(customer, 20%, worker)' --weight user.acme=3 -o json)" \
  '.settings.policy == "max_simultaneous(customer, 20%, worker)" and .settings.weights == {"user.acme": 3, "user.cy": 4}'
json "$(allot queue set --policy worker -o json)" '.settings.policy == "worker"'

# work: each worker has its own.
for n in 1 2 3; do allot submit --tag t --payload "\"bulk$n\"" >/dev/null; done
allot submit --tag t --payload '"urgent"' --meta urgent=true >/dev/null
exits 2 allot work --tag t --strategy 'newest oldest' --once -- cat
has "$err" '^'
exits 2 allot work --tag t --strategy '' --once -- cat
taken() { allot work --tag t --once "$@" -- tee -a taken >/dev/null; }
taken --strategy urgent
taken --strategy newest
taken --strategy helpers
same 'urgent bulk3 bulk1' "$(tr -d '"' <taken | xargs)"

# worker set.
worker t --strategy 'select_only(mode = other, oldest)' -- cat
until id=$(allot workers -o id) && [ -n "$id" ]; do sleep 0.05; done
json "$(allot worker "$id" -o json)" '.strategy == "select_only(mode = \"other\", oldest)"'
same 1 "$(allot jobs --state active -o id | wc -l)"
exits 2 allot worker set "$id" --strategy 'newset'
has "$err" 'did you mean `newest`?'
exits 2 allot worker set "$id" --no-strategy --strategy newest
has "$(allot worker set "$id" --strategy helpers)" 'or_else(select_only(urgent = true, oldest), priority)'
until [ "$(allot jobs --state active -o id | wc -l)" = 0 ]; do sleep 0.05; done
json "$(allot worker set "$id" --no-strategy -o json)" '.strategy == "priority"'

# SPDX-License-Identifier: Apache-2.0
# The pages of limits and demand: what is refused is refused in the words shown, and what KEDA is told to read is there.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"
serve

# blocks LANGUAGE FILE: each block of that language into blocks/NNN.
blocks() {
  rm -rf blocks && mkdir blocks
  awk -v fence="\`\`\`$1" '$0 == fence { out = sprintf("blocks/%05d", NR); printf "" >out; next }
    out && /^```/ { close(out); out = ""; next }
    out { print >out }' "$2"
}

# `$ COMMAND`, and then all that it says on stderr.
blocks refused "$root/docs/reference/limits.md"
count=0
for block in blocks/*; do
  command=$(head -n 1 "$block")
  has "$command" '$ allot limit '
  code=0
  bash -c "${command#??}" >out 2>err </dev/null || code=$?
  same "$(tail -n +2 "$block")" "$(cat err)"
  case $(cat err) in
    note:*) same 0 "$code" ;;
    *) [ "$code" != 0 ] || fail "it was not refused: $command" ;;
  esac
  count=$((count + 1))
done
[ "$count" -ge 5 ] || fail "the page has only $count of them"
same long "$(allot limit list -o id)"

# The ScaledObject is shown as it is in the examples.
blocks yaml "$root/docs/how-to/autoscaling.md"
cmp blocks/* "$root/examples/keda/scaled-object.yaml"

# With the token that the TriggerAuthentication's remarks make, every URL has a number where it is looked for.
allot queue create render >/dev/null
allot submit -q render --tag render --count 7 >/dev/null
remarks=$(sed -n 's/^# \(allot token create .*\)/\1/p' "$root/examples/keda/trigger-authentication.yaml")
same 2 "$(wc -l <<<"$remarks")"
while read -r create; do
  name=$(awk '{ print $4 }' <<<"$create")
  bash -c "$create --data '$work_dir/data'" >"$name.token"
done <<<"$remarks"
answered() { [ "$(curl -sS -o /dev/null -w '%{http_code}' "$ALLOT_SERVER/v1/queues/render")" = 401 ]; }
eventually answered
value() { curl -sSf -H "Authorization: Bearer $(cat keda.token)" "$ALLOT_SERVER$1" | jq ".$2"; }
urls=$(sed -n 's|^ *url: "http://[^/]*\(/.*\)"$|\1|p' "$root/examples/keda/scaled-object.yaml")
places=$(sed -n 's|^ *valueLocation: "\([^"]*\)".*|\1|p' "$root/examples/keda/scaled-object.yaml")
paste -d ' ' <(echo "$urls") <(echo "$places") >read
same 1 "$(wc -l <read)"
same 7 "$(value $(cat read))"

# As the Deployment says, a worker takes them, with the other token; slots and target agree. What runs counts, as
# what waits does, until it is done.
slots=$(sed -n 's|.*"-j", "\([0-9]*\)".*|\1|p' "$root/examples/keda/deployment.yaml")
same "$slots" "$(sed -n 's|^ *targetValue: "\([0-9]*\)".*|\1|p' "$root/examples/keda/scaled-object.yaml")"
ALLOT_TOKEN=$(cat render-workers.token) worker render -q render -j "$slots" -- sh -c "until [ -e '$work_dir/go' ]; do sleep 0.02; done"
running() { [ "$(value "/v1/queues/render" tasks.running)" = "$1" ]; }
eventually running "$slots"
same 7 "$(value $(cat read))"
allot token create ops --scope operate --queue render --data "$work_dir/data" >ops.token
stopped() { ALLOT_TOKEN=$(cat ops.token) allot limit set -q render --tag stop --uuid stop --expr true --rate 0/1s --expires 1m >/dev/null 2>&1; }
eventually stopped
same "$slots" "$(value $(cat read))"
touch go
none() { [ "$(value $(cat read))" = 0 ]; }
eventually none

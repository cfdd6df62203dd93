# SPDX-License-Identifier: Apache-2.0
# Output: tables for people, without colours where nobody sees them, and harmless whatever strangers call their jobs.
. "$(dirname "$0")/lib.sh"
serve
same "no jobs" "$(allot jobs)"
json "$(allot jobs -o json)" '.jobs == []'
same "" "$(allot jobs -o ndjson)"
id=$(allot submit --count 2 --tag t)
same "$id" "$(allot jobs -o id)"
table=$(allot jobs)
has "$table" "STATE"
has "$table" "$id"
hasnt "$table" $'\033'
has "$(allot job last)" "active"
has "$(allot tasks last)" "queued"
has "$(allot queue list)" "default"
same "no workers" "$(allot workers)"

# On a terminal there are colours, unless somebody does not want them.
if command -v script >/dev/null; then
  has "$(script -qec "'$ALLOT_BIN' jobs" /dev/null)" $'\033['
  hasnt "$(NO_COLOR=1 script -qec "'$ALLOT_BIN' jobs" /dev/null)" $'\033['
fi

# Escape sequences in a name do not reach the terminal.
curl -sf "$ALLOT_SERVER/v1/queues/default/jobs" -H 'Content-Type: application/json' \
  -d '{"count":1,"user":"red","meta":{"note":"\u001b[31mred\u0007"},"payload":"\u001b]0;title\u0007\u202etxt"}' >/dev/null
for command in jobs "job last" "tasks last" "tasks last 0"; do
  # shellcheck disable=SC2086
  hasnt "$(allot $command)" $'\033'
done

# Results are printed as they are: bytes that are not text, and lines within a result.
printf '\001\377\n' >bytes
worker bytes -- cat
allot submit bytes --tag bytes --results --quiet >got
cmp bytes got || fail "bytes were changed"
worker lines -- printf 'one\ntwo\n'
same $'one\ntwo' "$(allot submit --count 1 --tag lines --results --quiet)"
# A result may be empty.
worker empty -- true
same "" "$(allot submit --count 1 --tag empty --results --quiet)"
json "$(allot tasks last 0 -o json)" '.state == "done"'

# A reader that goes away ends the writer.
allot submit --count 20000 --tag nobody >/dev/null
allot tasks last --all | head -n 1 >/dev/null

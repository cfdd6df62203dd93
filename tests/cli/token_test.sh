# SPDX-License-Identifier: Apache-2.0
# Tokens: shown once, stored hashed, taken from the environment or a file, and followed by a running server.
. "$(dirname "$0")/lib.sh"
serve
allot jobs >/dev/null
admin=$(allot token create root --scope admin --data data)
case $admin in allot_*) ;; *) fail "a token looks otherwise: $admin" ;; esac
hasnt "$(cat data/tokens.json)" "${admin##*_}"
same 600 "$(stat -c %a data/tokens.json)"
refused() { "$ALLOT_BIN" jobs 2>/dev/null; [ $? = 5 ]; }
eventually refused
exits 5 allot jobs
has "$err" "token"
exits 5 allot jobs --token allot_0_0
exits 0 allot jobs --token "$admin"
ALLOT_TOKEN=$admin exits 0 allot jobs
printf '%s\n' "$admin" >token
exits 0 allot jobs --token-file token
ALLOT_TOKEN_FILE=token exits 0 allot jobs
exits 2 allot jobs --token-file nowhere

reader=$(allot token create reader -s read --data data -o json)
json "$reader" '.name == "reader" and .scopes == "read" and (.token | startswith("allot_"))'
export ALLOT_TOKEN
ALLOT_TOKEN=$(printf '%s' "$reader" | jq -r .token)
eventually "$ALLOT_BIN" jobs
exits 5 allot submit --count 1
has "$err" "submit"
exits 5 allot queue pause
ALLOT_TOKEN=$(allot token create ann --scope submit,read,work --user ann --data data)
eventually "$ALLOT_BIN" jobs
json "$(allot submit --count 1 --tag t -o json)" '.job.user == "ann"'
exits 5 allot submit --count 1 --user ben
worker t -- echo hi
same hi "$(allot results last --quiet)"

json "$(allot token list --data data -o json)" '[.tokens[].name] == ["root", "reader", "ann"] and all(.tokens[]; has("token") | not)'
exits 0 allot token revoke ann --data data
eventually refused
exits 4 allot token revoke ann --data data
exits 2 allot token create x --scope everything --data data
exits 2 allot token create x --data data
# What an operator does is logged with who did it.
ALLOT_TOKEN=$admin allot queue pause >/dev/null
eventually grep -q '"queue.pause"' serve.log
has "$(grep '"queue.pause"' serve.log)" root
hasnt "$(cat serve.log)" "${admin##*_}"

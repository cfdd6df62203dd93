# SPDX-License-Identifier: Apache-2.0
# Expressions without a server: values, residuals, references, one at a time and in batches.
. "$(dirname "$0")/lib.sh"
same true "$(allot expr eval 'TARGET.Memory >= 4096 && TARGET.Arch == "X86_64"' --target '{"memory": 8192, "Arch": "x86_64"}')"
same undefined "$(allot expr eval 'TARGET.Memory >= 4096')"
same '"job"' "$(allot expr eval 'JOB.a' --my '{"a": "job"}')"
same '"worker"' "$(allot expr eval 'MACHINE.a' --my '{"a": "worker"}' --owner worker)"
same '{1, undefined, [x = 1.0]}' "$(allot expr eval 'l' --my '{"l": [1, null, {"x": 1.0, "y": null}]}')"
same 99 "$(allot expr eval 'time()' --time 99)"
same -4 "$(allot expr eval -- '-5 + 1')"
same -1 "$(allot expr eval '-1')"
same -5.5 "$(allot expr eval '-5.5')"
same 3 "$(allot expr eval --my '{"a": -3}' -- '-MY.a')"
json "$(allot expr eval '1 / 0' -o json)" '. == {"value": "error", "type": "error"}'
[ "$(allot expr eval 'time()')" -ge 1700000000 ] || fail "time() is not the present"

same 'TARGET.Memory >= 4096' "$(allot expr flatten 'TARGET.Memory >= MY.Need && MY.Need > 0' --my '{"Need": 4096}')"
same 'MY.Need > 0' "$(allot expr flatten 'TARGET.Memory >= 4096 && MY.Need > 0' --target '{"Memory": 4096}')"
json "$(allot expr flatten 'TARGET.a && true' -o json)" '. == {"value": "true && TARGET.a", "type": "expression"}'
json "$(allot expr flatten 'MY.a + 1' --my '{"a": 1}' -o json)" '. == {"value": "2", "type": "integer"}'

same $'MY.b\nc\nTARGET.a' "$(allot expr refs 'my.b + c * TARGET.a + MY.B')"
same '' "$(allot expr refs '1 + 1')"
json "$(allot expr refs 'MY.b + c + JOB.d' -o json)" '. == {"my": ["b"], "target": [], "job": ["d"], "machine": [], "unscoped": ["c"]}'

# What is wrong, and where.
exits 2 allot expr eval 'MACHINE.Memory >= 4096 && ('
has "$err" 'expression: MACHINE.Memory >= 4096 && ('
has "$err" '^ expected an expression here'
place=$(printf '%s\n' "$err" | head -1 | sed 's/($//')
caret=$(printf '%s\n' "$err" | sed -n 2p | sed 's/\^.*//')
same "$((${#place} + 1))" "${#caret}"
exits 2 allot expr flatten 'regex("a", b)'
has "$err" 'did you mean `regexp`?'
exits 2 allot expr eval 'a' --my '[1]'
has "$err" '--my: not a JSON object'
exits 2 allot expr eval 'a' --target '{"a": 9223372036854775808}'
has "$err" '--target: `a`: the number'
exits 2 allot expr eval
exits 2 allot expr eval 1 --batch
exits 2 allot expr eval 1 --owner nobody
has "$err" 'allot expr eval --help'
exits 2 allot expr

# A line in, a line out, whatever is in it.
cat >lines <<'LINES'
{"expr": "MY.a + TARGET.b", "my": {"a": 1}, "target": {"b": 2}}
{"expr": "MY.a", "my": null}
{"expr": "a b"}

[1]
{"expr": 5}
{"my": {}}
{"expr": "1", "mine": {}}
{"expr": "1", "my": {"a": {"no name": 1}}}
{"expr": "\"é\\n\"", "target": {}}
LINES
got=$(allot expr eval --batch <lines)
same 10 "$(printf '%s\n' "$got" | wc -l)"
line() { printf '%s\n' "$got" | sed -n "$1p"; }
json "$(line 1)" '. == {"value": "3", "type": "integer"}'
json "$(line 2)" '. == {"value": "undefined", "type": "undefined"}'
json "$(line 3)" '.error | .code == "bad_value" and .offset == 2 and .message == "expected an operator or the end here"'
for i in 4 5 6 7 8; do json "$(line $i)" '.error | .code == "bad_value" and has("hint") and (has("offset") | not)'; done
json "$(line 9)" '.error.message | startswith("my: `a`:")'
json "$(line 10)" '. == {"value": "\"é\\n\"", "type": "string"}'
got=$(allot expr flatten --batch --owner worker <lines)
json "$(line 1)" '. == {"value": "3", "type": "integer"}'
got=$(printf '{"expr": "a == 1", "target": {"a": 1}}\n' | allot expr flatten --batch)
json "$got" '. == {"value": "MY.a ?: 1 == 1", "type": "expression"}'
got=$(allot expr refs --batch <lines)
json "$(line 1)" '. == {"my": ["a"], "target": ["b"], "job": [], "machine": [], "unscoped": []}'
json "$(line 3)" '.error.offset == 2'
same '' "$(allot expr eval --batch </dev/null)"

# What a line does not say of a side, the command line does; null says that it is not known.
cat >lines <<'LINES'
{"expr": "MY.a + TARGET.b"}
{"expr": "MY.a + TARGET.b", "my": {"a": 10}}
{"expr": "MY.a + TARGET.b", "target": null}
{"expr": "MY.a + TARGET.b", "my": {}}
{"expr": "1", "expr": "2"}
{"expr": "1", "my": {}, "my": {"a": 1}}
LINES
got=$(allot expr eval --batch --my '{"a": 1}' --target '{"b": 2}' <lines)
json "$(line 1)" '.value == "3"'
json "$(line 2)" '.value == "12"'
json "$(line 3)" '.value == "undefined"'
json "$(line 4)" '.value == "undefined"'
json "$(line 5)" '.error | .code == "bad_value" and .message == "`expr` stands there twice"'
json "$(line 6)" '.error | .code == "bad_value" and .message == "`my` stands there twice"'
got=$(allot expr flatten --batch --my '{"a": 1}' <lines)
json "$(line 1)" '.value == "1 + TARGET.b"'
exits 2 allot expr eval --batch --my '[1]' </dev/null
has "$err" '--my: not a JSON object'

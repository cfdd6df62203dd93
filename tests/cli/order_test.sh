# SPDX-License-Identifier: Apache-2.0
# Priority decides which job comes first, and `job set` changes it while the job waits.
. "$(dirname "$0")/lib.sh"
serve
submit() { allot submit --payload "$1" --count 1 --tag order --quiet "${@:2}"; }
none=$(submit none)
low=$(submit low --priority 1)
high=$(submit high --priority 5)
moved=$(submit moved)
later=$(submit later --priority 9 --delay 1h)
other=$(submit other --priority 3)
allot job set "$moved" --priority 7 >/dev/null
allot job set "$low" --priority none >/dev/null
allot job set "$other" --tag elsewhere >/dev/null
allot pause "$none" >/dev/null
worker order --prefetch 0 -- sh -c 'cat >>done; echo ok'
allot wait "$moved" "$high" "$low" >/dev/null
# `none` is older than `low` but paused.
same "moved high low" "$(tr '\n' ' ' <done | sed 's/ $//')"
allot resume "$none" >/dev/null
allot job set "$later" --delay 0s >/dev/null
allot job set "$other" --tag order >/dev/null
allot wait "$none" "$later" "$other" >/dev/null
same 6 "$(wc -l <done)"

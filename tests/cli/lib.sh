# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of the command line: a server of one's own, workers in the background, and checks that say what
# they wanted. Everything ends, and every file goes, with the script.
set -euo pipefail

: "${ALLOT_BIN:?names the program under test}"
work_dir=$(mktemp -d)
pids=()

# Nothing of the caller's own settings.
for variable in $(compgen -e | grep '^ALLOT_' | grep -v '^ALLOT_BIN$' || true); do unset "$variable"; done
export HOME=$work_dir XDG_DATA_HOME=$work_dir/share TMPDIR=$work_dir
unset NO_COLOR TRACEPARENT || true
cd "$work_dir"

# Not a function: in the background its process id would be that of a shell.
mkdir bin && ln -s "$ALLOT_BIN" bin/allot
PATH=$work_dir/bin:$PATH

finish() {
  local status=$?
  trap - EXIT
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
    for log in "$work_dir"/*.log; do
      [ -s "$log" ] && printf -- '--- %s\n' "$(basename "$log")" && tail -n 40 "$log"
    done
  fi
  # Whoever is on its way out (a terminal's server) may still take its own files away.
  cd / && for _ in 1 2 3 4 5; do rm -rf "$work_dir" 2>/dev/null && break || sleep 0.2; done
  exit "$status"
}
trap finish EXIT
trap 'exit 143' INT TERM

fail() {
  printf 'FAILED at line %s: %s\n' "${BASH_LINENO[${2:-0}]}" "$1" >&2
  exit 1
}

# skip WHY: ctest reports the test as skipped.
skip() {
  printf 'skipped: %s\n' "$1"
  exit 77
}

# same WANT GOT
same() { [ "$1" = "$2" ] || fail "wanted '$1', got '$2'" 1; }

# has TEXT PART
has() { case $1 in *"$2"*) ;; *) fail "wanted '$2' in '$1'" 1 ;; esac; }
hasnt() { case $1 in *"$2"*) fail "did not want '$2' in '$1'" 1 ;; *) ;; esac; }

# json TEXT FILTER...: jq's answer to the filter must be true (or anything but false and null).
json() {
  local text=$1
  shift
  printf '%s' "$text" | jq -e "$@" >/dev/null || fail "jq $* does not hold for: $text" 1
}

# exits CODE COMMAND...: the exit code; what it printed is in $out and $err.
exits() {
  local want=$1 got=0
  shift
  "$@" >"$work_dir/.out" 2>"$work_dir/.err" </dev/null || got=$?
  out=$(cat "$work_dir/.out") err=$(cat "$work_dir/.err")
  [ "$want" = "$got" ] || fail "$*: wanted exit code $want, got $got: $out $err" 1
}

# eventually COMMAND...: until it succeeds, for ten seconds.
eventually() {
  local i
  for ((i = 0; i < 200; i++)); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.05
  done
  fail "never came true: $*" 1
}

# serve [FLAG...]: a server on a free port, with its data in ./data. Sets $ALLOT_SERVER and $server_pid.
serve() {
  local from
  from=$( (cat "$work_dir/serve.log" 2>/dev/null || true) | wc -l)
  "$ALLOT_BIN" serve --listen "127.0.0.1:${port:-0}" --data "$work_dir/data" --log-format json "$@" 2>>"$work_dir/serve.log" &
  server_pid=$!
  pids+=("$server_pid")
  local i
  for ((i = 0; i < 400; i++)); do
    kill -0 "$server_pid" 2>/dev/null || fail "the server ended: $(tail -n 5 "$work_dir/serve.log")" 1
    address=$(tail -n "+$((from + 1))" "$work_dir/serve.log" | grep -o '"address":"[^"]*"' | head -n 1 | cut -d '"' -f 4 || true)
    if [ -n "$address" ]; then
      export ALLOT_SERVER=http://$address
      port=${address##*:}
      return
    fi
    sleep 0.025
  done
  fail "the server does not listen" 1
}

# ends PID: waits for it; its exit code is in $code.
ends() {
  code=0
  local i
  for ((i = 0; i < 400; i++)); do
    if ! kill -0 "$1" 2>/dev/null; then
      wait "$1" || code=$?
      return
    fi
    sleep 0.025
  done
  fail "process $1 does not end" 1
}

# worker TAG COMMAND...: in the background, one task at a time. Sets $worker_pid.
worker() {
  local tag=$1
  shift
  "$ALLOT_BIN" work --tag "$tag" --quiet "$@" 2>>"$work_dir/work.log" &
  worker_pid=$!
  pids+=("$worker_pid")
}

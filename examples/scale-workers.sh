#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts and drains workers on this machine, as many as the queue has work for.
#
#   scale-workers.sh TAG MIN MAX COMMAND...
#
# There are always MIN to MAX workers with the tag, each of which runs COMMAND for every task. Which server and queue
# they work for is said as to `allot` itself: ALLOT_SERVER, ALLOT_QUEUE, ALLOT_TOKEN. The token needs the scopes work,
# read and operate (to drain). On SIGTERM, SIGINT or SIGHUP what was started finishes what it runs, and goes; a second one does
# not wait for that. Needs `allot`, jq, and setsid of util-linux.
#
#   SLOTS     how many tasks a worker runs at a time (1)
#   STEP      how many workers are started, or drained, in one round at most (2)
#   PERIOD    seconds from one round to the next (5)
#   PATIENCE  how many rounds in a row there must be too many workers before any is drained (3)
set -u
if [ $# -lt 4 ]; then
  echo "usage: scale-workers.sh TAG MIN MAX COMMAND..." >&2
  exit 2
fi
for number in "$2" "$3"; do
  case $number in
    '' | *[!0-9]*) echo "scale-workers.sh: MIN and MAX are whole numbers, not '$number'" >&2 && exit 2 ;;
  esac
done
tag=$1 min=$2 max=$3
shift 3
slots=${SLOTS:-1} step=${STEP:-2} period=${PERIOD:-5} patience=${PATIENCE:-3}

# A file for each worker, named as it is, with its process id. In `draining`: those that were told to go.
state=$(mktemp -d) || exit 1
mkdir "$state/active" "$state/draining"
prefix=scaled-$(uname -n)-$$-
started=0 too_many=0 nap=

count() { find "$state/$1" -type f | wc -l; }
signal_all() {
  for file in "$state"/active/* "$state"/draining/*; do
    [ -e "$file" ] && kill -TERM "$(cat "$file")" 2>/dev/null
  done
}
forget_the_gone() {
  for file in "$state"/active/* "$state"/draining/*; do
    [ -e "$file" ] || continue
    kill -0 "$(cat "$file")" 2>/dev/null || rm -f "$file"
  done
}
stop() {
  trap - EXIT
  trap signal_all INT TERM HUP
  [ -n "$nap" ] && kill "$nap" 2>/dev/null
  signal_all
  while [ "$(count active)" -gt 0 ] || [ "$(count draining)" -gt 0 ]; do
    wait
    forget_the_gone
  done
  rm -rf "$state"
}
trap stop EXIT
trap 'exit 143' INT TERM HUP

start() {
  started=$((started + 1))
  # In a session of its own: a Ctrl-C is for this script, which passes it on, once.
  setsid allot work --tag "$tag" --name "$prefix$started" -j "$slots" --quiet -- "$@" &
  echo $! >"$state/active/$prefix$started"
}
drain() { # ID NAME
  allot drain "$1" >/dev/null && mv "$state/active/$2" "$state/draining/$2"
}

while :; do
  forget_the_gone
  # Of jobs that want this tag and no other. One that wants more would wait for other workers than these. What is only a
  # part of it says nothing.
  startable=$(allot demand --tag "$tag" -n 10000 -o json |
    jq --arg tag "$tag" 'select(.complete) | [.rows[] | select(.tags == [$tag]) | .startable] | add // 0')
  # Those of ours that are not draining; the idle ones first.
  ours=$(allot workers -o json |
    jq -c --arg prefix "$prefix" '[.workers[] | select((.name | startswith($prefix)) and (.draining | not))] | sort_by(.running)')
  if [ -n "$startable" ] && [ -n "$ours" ]; then
    # What runs needs its slots, too: demand is of what waits.
    busy=$(printf '%s' "$ours" | jq '[.[].running] | add // 0')
    wanted=$(((startable + busy + slots - 1) / slots))
    [ "$wanted" -gt "$max" ] && wanted=$max
    [ "$wanted" -lt "$min" ] && wanted=$min
    have=$(count active)
    if [ "$wanted" -ge "$have" ]; then
      too_many=0
      n=$((wanted - have))
      [ "$n" -gt "$step" ] && n=$step
      while [ "$n" -gt 0 ]; do
        start "$@"
        n=$((n - 1))
      done
    elif too_many=$((too_many + 1)) && [ "$too_many" -ge "$patience" ]; then
      n=$((have - wanted))
      [ "$n" -gt "$step" ] && n=$step
      printf '%s' "$ours" | jq -r --argjson n "$n" '.[:$n][] | "\(.id) \(.name)"' >"$state/leave"
      while read -r id name; do drain "$id" "$name"; done <"$state/leave"
    fi
  fi # else the server cannot be reached: what is there stays
  sleep "$period" &
  nap=$!
  wait "$nap"
done

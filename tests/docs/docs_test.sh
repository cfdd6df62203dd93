# SPDX-License-Identifier: Apache-2.0
# Every command that a document shows is run: docs_test.sh DOCUMENT
#
# The blocks run in the document's order, in a new directory, with a live server behind ALLOT_SERVER, and a worker with
# the tag `square`, as the first page tells the reader to start one. The program is `allot` on the PATH, but on the
# first page, whose reader has nothing yet but build/allot. Standard input is a terminal's: it does not end, so a command
# that waits for lines is found out. A block that brings a server of its own gets a port of its own. What a block leaves
# running ends with it.
document=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"

mkdir -p blocks/files place/build
awk -v out=blocks -f "$root/tests/docs/extract.awk" "$document" >counts
cat counts

# The program, wherever a document says that it is.
ln -s "$ALLOT_BIN" place/build/allot
# `./dev build` has run, or there would be no program to test.
printf '#!/bin/sh\n[ "$1" = build ] || exec "%s/dev" "$@"\n' "$root" >place/dev
chmod +x place/dev
cp blocks/files/* place/ 2>/dev/null || true
for file in blocks/files/*; do
  [ -e "$file" ] || continue
  sh -n "$file" || fail "$file is not a valid script"
done

mkfifo silence
exec {silence}<>silence
serve
if [ "$document" = "$root/README.md" ]; then rm bin/allot; fi
worker square -j 4 -- sh -c 'read n; echo $((n*n))'
for block in blocks/*.sh; do
  [ -e "$block" ] || continue
  line=$((10#$(basename "$block" .sh)))
  own_port=$port
  if grep -Eq 'allot serve|dev run' "$block"; then own_port=$((20000 + RANDOM % 10000)); fi
  sed "s/127\.0\.0\.1:7420/127.0.0.1:$own_port/g" "$block" >"block-$line"
  printf '%s:%s\n' "${document#"$root/"}" "$line"
  # A session of its own, so that all that it started can be ended together.
  (cd place && exec env ALLOT_SERVER="http://127.0.0.1:$own_port" setsid bash -e -o pipefail "../block-$line") \
    >"block-$line.log" 2>&1 <silence &
  block_pid=$!
  # What ends below is the block's whole group, not only its shell.
  pids+=("-$block_pid")
  for ((i = 0; i < 2400; i++)); do
    kill -0 "$block_pid" 2>/dev/null || break
    sleep 0.025
  done
  kill -0 "$block_pid" 2>/dev/null && fail "the block at line $line does not end: $(cat "block-$line.log")"
  code=0
  wait "$block_pid" || code=$?
  kill -KILL -- "-$block_pid" 2>/dev/null || true
  [ "$code" = 0 ] || fail "the block at line $line ended with $code: $(cat "block-$line.log")"
done

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Dependencies between the rooms of src/ point one way, every room says what it is for, and none grows too large: fails
# on an include that points the wrong way, on a room that is not listed here, on one without its README.md, and on a
# folder with too many sources.
#
#   includes_test.sh SOURCE_DIR
set -euo pipefail

# What a room may include, itself apart. The folders of src/server and src/strategy are rooms of their own; `server` is
# what stands in src/server itself. A single header may be named instead of a room.
below="base wire expr backlog match strategy limits dispatch engine store cluster"
declare -A may=(
  [base]="allotter/result.h"
  [wire]="base"
  [expr]="base"
  [backlog]="base expr"
  [match]="base expr backlog"
  [strategy/trees]="base"
  [strategy/index]="base match strategy/trees strategy/strategy.h strategy/pick_job.h strategy/weights.h \
    strategy/blocks/block.h"
  [strategy/text]="base expr match strategy/strategy.h strategy/strategy_rules.h strategy/preview.h strategy/blocks/block.h"
  [strategy/blocks]="base match strategy/trees strategy/index strategy/text strategy/strategy.h strategy/pick_job.h \
    strategy/preview.h strategy/trace.h"
  [strategy]="base expr backlog match strategy/trees strategy/index strategy/text strategy/blocks"
  [limits]="base expr backlog match strategy"
  [dispatch]="base expr backlog match strategy limits"
  [engine]="base expr backlog match strategy strategy/blocks/block.h limits dispatch"
  [store]="base"
  [cluster]="base store"
  [server/wire]="$below strategy/blocks/block.h"
  [server/ops]="$below server/wire"
  [server/queue]="$below server/wire server/ops"
  [server/net]="$below server/wire server/ops server/queue server/web_assets.h"
  [server/peers]="$below server/wire server/ops server/queue server/net"
  [server/flow]="$below server/wire server/ops server/queue server/net"
  [server/live]="$below server/wire server/ops server/queue server/net server/flow"
  [server/api]="$below server/wire server/ops server/queue server/net server/peers server/flow server/live server/web_assets.h"
  [server]="$below server/wire server/ops server/queue server/net server/peers server/flow server/live server/api"
  [client]="base wire allotter"
  [cli]="base expr strategy client allotter server server/ops server/wire"
)
# Single files that may know more, and why.
declare -A besides=(
  [src/cli/commands/backup.cc]="store server/queue"   # `restore` puts a queue's file in its place, without a server
  [src/cli/commands/check.cc]="store"                 # reads a queue's files, without a server
  [src/engine/engine_steps_test.cc]="strategy/index"  # its bounds, which the test lowers
)
# What tests of the server's rooms may include on top: a whole server to talk to.
helpers="server/testing.h server/testing_queue.h server/testing_tokens.h"

# How many sources a folder may have; tests, benchmarks and fuzzers do not count.
most=40
# Folders that have more: they may not grow. Lower the number when one has become smaller.
declare -A large=(
)

# The room of a path below src/.
room_of() {
  local first=${1%%/*} rest=${1#*/}
  [[ $first =~ ^(server|strategy)$ && $rest == */* ]] && first=$first/${rest%%/*}
  room=$first
}

# Complains about each fault of the tree in folder $1; prints nothing if there is none.
check() (
  cd "$1"
  local folder room count
  for folder in src/*/ src/{server,strategy}/*/; do
    [[ -d $folder ]] || continue
    room_of "${folder#src/}"
    [[ -v may[$room] ]] || echo "src/$room: a room that is not listed: what may it include?"
    [[ -f $folder/README.md ]] || echo "src/$room: has no README.md"
  done
  while read -r folder; do
    count=$(find "$folder" -maxdepth 1 -type f \( -name '*.h' -o -name '*.cc' \) ! -name '*_test.cc' ! -name '*_bench.cc' \
      ! -name '*_fuzz.cc' | wc -l)
    ((count <= ${large[$folder]-$most})) ||
      echo "$folder: $count sources, and at most ${large[$folder]-$most} are allowed: split it"
  done < <(find src -type d)
  local pattern='^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]([a-z_]+/[^">]*)[">]'
  local file line text path other allowed
  while IFS=: read -r file line text; do
    [[ $text =~ $pattern ]] || continue
    path=${BASH_REMATCH[1]}
    room_of "$path"
    other=$room
    [[ -v may[$other] || $other == allotter || $other =~ ^(server|strategy)/ ]] || continue
    case $file in
      src/main.cc) room=main ;;
      include/*) room=client ;; # the client's public headers
      *) room_of "${file#src/}" ;;
    esac
    [[ $room == "$other" || $room == main ]] && continue
    allowed=" ${may[$room]-} ${besides[$file]-} "
    [[ $file == src/server/*_test.cc ]] && allowed+="$helpers "
    [[ $allowed == *" $other "* || $allowed == *" $path "* ]] || echo "$file:$line: $room must not know $path"
  done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include' src include --include='*.h' --include='*.cc')
)

faults=$(check "$1")
if [[ -n $faults ]]; then
  echo "$faults" >&2
  exit 1
fi

# And it would notice.
broken=$(mktemp -d)
trap 'rm -rf "$broken"' EXIT
mkdir -p "$broken"/{src/{base,store,attic,server/{wire,net,cellar}},include/allotter}
touch "$broken"/src/{base,attic,server,server/{wire,net,cellar}}/README.md
echo '#include "engine/engine.h"' >"$broken/src/store/store.cc"
echo '# include <server/server.h>' >"$broken/include/allotter/client.h"
echo '#include "base/ids.h"' >"$broken/src/store/fine.h"
echo '#include "server/net/call.h"' >"$broken/src/server/wire/upwards.cc"
echo '#include "server/testing.h"' >"$broken/src/server/wire/upwards.h"
echo '#include "server/testing.h"' >"$broken/src/server/wire/fine_test.cc"
echo '#include "server/server.h"' >"$broken/src/server/net/upwards.h"
echo '#include "server/web_assets.h"' >"$broken/src/server/net/fine.h"
echo '#include "server/wire/reply_json.h"' >"$broken/src/server/net/fine.cc"
for ((i = 0; i <= most; ++i)); do touch "$broken/src/base/many$i.h" "$broken/src/store/fine${i}_test.cc"; done
# A room that is not listed, twice; no README.md; five includes; a folder that is too large.
if [[ $(check "$broken" | wc -l) != 9 ]]; then
  echo "the test itself is broken: of nine faults it found these:" >&2
  check "$broken" >&2
  exit 1
fi

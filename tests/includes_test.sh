#!/usr/bin/env bash
# Dependencies between the rooms of src/ point one way, and every room says what it is for: fails on an include that
# points the wrong way, on a room that is not listed here, and on one without its README.md.
#
#   includes_test.sh SOURCE_DIR
set -euo pipefail

# What a room may include, itself apart.
declare -A may=(
  [base]=""
  [expr]="base"
  [backlog]="base expr"
  [match]="base expr backlog"
  [strategy]="base expr backlog match"
  [limits]="base expr backlog match strategy"
  [dispatch]="base expr backlog match strategy limits"
  [engine]="base expr backlog match strategy limits dispatch"
  [store]="base"
  [server]="base expr backlog match strategy limits dispatch engine store"
  [client]="base allotter"
  [cli]="base expr strategy client allotter server"
)
# Single files that may know more, and why.
declare -A besides=(
  [src/cli/backup.cc]="store" # `restore` puts a queue's file in its place, without a server
  [src/cli/check.cc]="store"  # reads a queue's files, without a server
)

# Complains about each fault of the tree in folder $1; prints nothing if there is none.
check() (
  cd "$1"
  for folder in src/*/; do
    room=$(basename "$folder")
    [[ -v may[$room] ]] || echo "src/$room: a room that is not listed: what may it include?"
    [[ -f $folder/README.md ]] || echo "src/$room: has no README.md"
  done
  local pattern='^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]([a-z_]+)/([^">]*)[">]'
  while IFS=: read -r file line text; do
    [[ $text =~ $pattern ]] || continue
    local other=${BASH_REMATCH[1]} path=${BASH_REMATCH[2]}
    [[ -v may[$other] || $other == allotter ]] || continue
    case $file in
      src/main.cc) room=main ;;
      include/*) room=client ;; # the client's public headers
      *) room=${file#src/} room=${room%%/*} ;;
    esac
    [[ $room == "$other" || $room == main ]] && continue
    [[ " ${may[$room]-} ${besides[$file]-} " == *" $other "* ]] || echo "$file:$line: $room must not know $other/$path"
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
mkdir -p "$broken"/{src/{base,store,attic},include/allotter}
touch "$broken"/src/{base,attic}/README.md
echo '#include "engine/engine.h"' >"$broken/src/store/store.cc"
echo '# include <server/server.h>' >"$broken/include/allotter/client.h"
echo '#include "base/ids.h"' >"$broken/src/store/fine.h"
if [[ $(check "$broken" | wc -l) != 4 ]]; then
  echo "the test itself is broken: of four faults it found these:" >&2
  check "$broken" >&2
  exit 1
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One meaning a word, inside the code: fails on an identifier that is made with a word that was given up, and says which
# words there are instead (docs/architecture.md, "Words in the code"). Strings, comments and the names of tests are
# sentences: they may have it.
#
#   words_test.sh SOURCE_DIR
set -euo pipefail

# Where. The rooms that speak the protocol follow the words of the wire, which has some of them with another meaning.
rooms=(src/{base,expr,backlog,match,strategy,limits,dispatch,engine,store} src/server/queue tests/simulation)
speaking=(include src/{wire,client,cli} src/server/{wire,net,live,ops} tests/{crash,faults,hostile,stall,support} bench)

# Given up, and what there is instead: here, and in the rooms that speak the protocol too.
everywhere='
leased: running (a task), held by a lease
tell: post (to a thread), send (after the commit), deliver (here), notify, apply, print
tells: posts, sends, delivers, notifies, applies
told: posted, sent, delivered, notified, applied, reported
telling: posting, sending, order updates
hungry: asking
fed: newly promised
recolour: refresh
enrol: register
parcel: message
held: blocked (by a limit or ceiling), running, allocated, deferred, buffered; why something waits is a wait reason
cancel order: stop request
'
words=$everywhere'
hold: block (a limit or ceiling does), lease, keep
holding: a promise (dispatch), a block state (limits)
share: promise (dispatch), fair group (strategies), interned (one object for all), quota (of a bound)
shares: promises, fair groups, quotas
turn: command, round (of the engine thread), candidate, sequence
turns: commands, rounds, candidates, moments
standing: snapshot (for explanations), offer (of a strategy), status (of a limit), availability (of a worker)
standings: snapshots, offers, statuses
assignment: grant (one start), grant batch (several)
assignments: grant batches
suspect: to be matched anew: rematch
suspects: rematches
home: executor
queue order: worker order
'
# Files that may have a word, and why.
besides='
src/base/sharded_set.h home       # where a hash says that an entry belongs: the usual term of such tables
'

# Complains about each fault of the tree in folder $1; prints nothing if there is none.
check() {
  in_rooms "$1" "$words" "${rooms[@]}"
  in_rooms "$1" "$everywhere" "${speaking[@]}"
  in_texts "$1"
}

# The same of identifiers in some rooms, with the words that are given up there.
in_rooms() (
  cd "$1"
  local words=$2 files=()
  shift 2
  mapfile -t files < <(find "$@" -type f \( -name '*.h' -o -name '*.cc' \) 2>/dev/null | sort)
  ((${#files[@]} > 0)) || return 0
  WORDS=$words BESIDES=$besides perl -0777 -ne '
    BEGIN {
      for (split /\n/, $ENV{WORDS}) { $instead{$1} = $2 if /^([a-z ]+): (.*)$/ }
      for (split /\n/, $ENV{BESIDES}) { $may{"$1 $2"} = 1 if /^(\S+) (\w+)/ }
    }
    s{R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|\b(?:TEST|TEST_F|TEST_P|TYPED_TEST)\s*\([^)]*\)}{ my $m = $&; $m =~ tr/\n//cd; $m }gse;
    my $line = 1;
    while (/\n|\b([A-Za-z]\w*)/g) {
      if (!defined $1) { ++$line; next }
      my $identifier = $1;
      my @parts = map { lc } $identifier =~ /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g;
      for my $i (0 .. $#parts) {
        for my $word ($parts[$i], $i < $#parts ? "$parts[$i] $parts[$i + 1]" : ()) {
          next unless exists $instead{$word} && !$may{"$ARGV $word"};
          print "$ARGV:$line: `$identifier`: `$word` is given up; instead: $instead{$word}\n";
        }
      }
    }' "${files[@]}"
)

# States of tasks by their former words, wherever people and programs read them.
texts=(README.md docs examples packaging clients web/src include src tests)
former_in='
docs/reference/protocol/tasks.md docs/reference/metrics.md                                           # say what was renamed
src/server/wire/request_query.cc src/server/wire/request_query_test.cc       # name the new word to who says the former
tests/words_test.sh
'
in_texts() (
  cd "$1"
  local skip
  skip=$(sed 's/#.*//' <<<"$former_in" | xargs | tr ' ' '|')
  { grep -rnIwE --exclude-dir={node_modules,build,dist} 'leased|leased_at_ms|ready_tasks|(allotter_)?tasks_(ready|leased|waiting)' "${texts[@]}" 2>/dev/null || true
    grep -nE '"(ready|leased)"' src/wire/*.h src/base/state_words.h 2>/dev/null || true; } |
    { grep -vE "^($skip):" || true; } | sed 's/$/: a former word for states of tasks; instead: queued, running, retrying/'
)

faults=$(check "$1")
if [[ -n $faults ]]; then
  echo "$faults" >&2
  exit 1
fi

# And it would notice.
broken=$(mktemp -d)
trap 'rm -rf "$broken"' EXIT
mkdir -p "$broken"/src/{base,engine,server/{queue,wire}}
cat >"$broken/src/engine/faults.h" <<'EOF'
struct Standing {};    // standing: once in the code
int held_back = 0;     // twice below
const char* const kHeld = "held";
TEST(Turns, ATurnIsTold) {}
using Queue = QueueOrder;
EOF
echo 'int home = 0, fed_ = 0;' >"$broken/src/base/sharded_set.h"
echo 'int told = 0, held = 0;' >"$broken/src/server/wire/faults.h"
echo 'Tasks are leased, or released.' >"$broken/README.md"
if [[ $(check "$broken" | wc -l) != 8 ]]; then
  echo "the test itself is broken: of eight faults it found these:" >&2
  check "$broken" >&2
  exit 1
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No header and no class grows too large: fails on a header of more than 300 lines, and on a class with more than 30
# public methods. Those of a base class do not count, nor do constructors, destructors and what is deleted; each
# overload does. What folders may have is in includes_test.sh.
#
#   sizes_test.sh SOURCE_DIR
set -euo pipefail

most_lines=300 most_methods=30

# Headers that may be longer, and why.
headers='
src/strategy/trees/mask_tree.h   # a template
src/expr/naive/bridge.h          # the naive evaluator, which only tests have
src/expr/naive/evaluator.h       #
src/expr/naive/functions.h       #
'
# Classes that may have more, and why. Take a line away when it is not needed any more: the test says which.
classes='
src/dispatch/testing_world.h DispatchWorld  # a test helper: commands on all of a world
'

# Complains about each fault of the tree in folder $1; prints nothing if there is none.
check() (
  cd "$1"
  local files=()
  mapfile -t files < <(find src include -type f -name '*.h' 2>/dev/null | sort)
  ((${#files[@]} > 0)) || return 0
  HEADERS=$headers CLASSES=$classes LINES_=$most_lines METHODS=$most_methods perl -0777 -ne '
    BEGIN {
      for (split /\n/, $ENV{HEADERS}) { $long{$1} = 1 if /^(\S+)/ }
      for (split /\n/, $ENV{CLASSES}) { $large{"$1 $2"} = 1 if /^(\S+) (\w+)/ }
      $body = qr/\{(?<body>(?:[^{}]++|\{(?&body)\})*+)\}/;

      # The name of the method that a member declares; nothing if it is something else.
      sub method {
        my ($text, $class) = @_;
        return if $text =~ /^\s*(?:using|friend|typedef|static_assert|enum|class|struct|union)\b|=\s*delete\s*$/;
        $text =~ s/^\s*template\s*<(?:[^<>]|<[^<>]*>)*>//;
        1 while $text =~ s/\boperator\s*(?:\(\)|\[\]|[^\s\w(]+)\s*\(/operator_(/ || $text =~ s/<[^<>()]*(?:\([^()<>]*\))?[^<>()]*>//;
        return unless $text =~ /^([^(]*?)(~?\w+)\s*\(/ && $1 !~ /=/;
        return $2 if $2 ne $class && $2 ne "~$class" && $2 ne "decltype" && $2 ne "alignas";
        return;
      }

      # Public methods of a class, by what is between its braces.
      sub methods {
        my ($text, $class, $public) = @_;
        my ($count, $member) = (0, "");
        while ($text =~ /\G(?:(public|private|protected)\s*:(?!:)|($body)|(;)|([^{};]))/gc) {
          if (defined $1) { $public = $1 eq "public"; $member = ""; next }
          if (defined $2) {
            # The body of a method ends it; a type, an initializer or a default does not.
            if ($member =~ /\(/ && $member !~ /=\s*$/ && $member !~ /\b(?:class|struct|union|enum)\b[^()]*$/ &&
                $member !~ /[,:]\s*\w+_?\s*$/ && $member !~ /\([^()]*$/) {
              ++$count if $public && method($member, $class);
              $member = "";
            } else {
              $member .= " ";
            }
            next;
          }
          if (defined $4) { ++$count if $public && method($member, $class); $member = ""; next }
          $member .= $5;
        }
        return $count;
      }
    }
    my $lines = tr/\n//;
    print "$ARGV: $lines lines, and at most $ENV{LINES_} are allowed: split it\n" if $lines > $ENV{LINES_} && !$long{$ARGV};
    print "$ARGV: may be long, and is not: take it off the list\n" if $lines <= $ENV{LINES_} && $long{$ARGV};
    s{//[^\n]*|/\*.*?\*/|^[ \t]*\#[^\n]*|"(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])\x27}{}gsm;
    while (/(?<!enum )\b(class|struct)\s+(\w+)(?:\s+final)?\s*(?::[^{;()]*)?(?=\{)/g) {
      my ($kind, $class, $at) = ($1, $2, pos);
      substr($_, $at) =~ /^$body/ or next;
      my $count = methods($1, $class, $kind eq "struct");
      my $may = delete $large{"$ARGV $class"};
      print "$ARGV: $class has $count public methods, and at most $ENV{METHODS} are allowed: give its parts their own data\n"
        if $count > $ENV{METHODS} && !$may;
      print "$ARGV: $class may be large, and is not: take it off the list\n" if $count <= $ENV{METHODS} && $may;
      print STDERR "$count $class $ARGV\n" if $ENV{ALLOT_SIZES};
      pos = $at;
    }' "${files[@]}"
)

faults=$(check "$1")
if [[ -n $faults ]]; then
  echo "$faults" >&2
  exit 1
fi

# And it would notice.
broken=$(mktemp -d)
trap 'rm -rf "$broken"' EXIT
mkdir -p "$broken/src/dispatch"
for ((i = 0; i <= most_lines; ++i)); do echo '// long' >>"$broken/src/long.h"; done
{
  echo 'class Large : public Base { public: Large(); ~Large(); Large(const Large&) = delete; enum class Way { kOne };'
  echo '  struct Inner { void One(); int two() const { return 2; } }; std::function<int(int)> call = [](int) { return 1; };'
  for ((i = 0; i < most_methods; ++i)); do
    echo "  std::map<int, std::string> Method$i(int a = 3, const F& f = {}) const { if (a) { return {}; } return {}; }"
  done
  echo '  bool operator==(const Large&) const = default; private: void Hidden(); int data_ = 0; };'
} >"$broken/src/large.h"
{
  echo 'struct Fine { Fine() : a(1), b{2} {} int a, b; int c = One(); std::vector<int> d{1};'
  for ((i = 0; i < most_methods; ++i)); do echo "  template <typename T> T Method$i(T t);"; done
  echo '};'
} >"$broken/src/fine.h"
echo 'class DispatchWorld { void One(); };' >"$broken/src/dispatch/testing_world.h"
# A long header, a large class, and one that is on the list and not large.
if [[ $(check "$broken" | wc -l) != 3 ]]; then
  echo "the test itself is broken: of three faults it found these:" >&2
  check "$broken" >&2
  exit 1
fi

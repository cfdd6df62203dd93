# SPDX-License-Identifier: Apache-2.0
# The C++ library as others have it: installed, found by CMake and by pkg-config, and a program outside the tree that is
# built with it works against a real server. library_test.sh BUILD_DIR
build=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"

cmake --install "$build" --component library --prefix "$PWD/there" >install.log || fail "$(cat install.log)"
for file in include/allotter/client.h lib/liballotter.a lib/cmake/allotter/allotterConfig.cmake lib/pkgconfig/allotter.pc; do
  test -s "there/$file" || fail "there is no $file"
done

# Headers include the library's own, the standard's, and Boost's; each compiles by itself.
same "" "$(grep -rhE '^#include "' there/include | grep -v '"allotter/' || true)"
same "" "$(grep -rhE '^#include <[a-z_]+/' there/include | grep -vE '<(allotter|boost)/' || true)"
for header in there/include/allotter/*.h; do echo "#include \"allotter/$(basename "$header")\"" >"$(basename "$header" .h).cc"; done
for source in *.cc; do
  "${CXX:-c++}" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Ithere/include "$source" || fail "$source does not compile"
done

cp -r "$root/examples/cpp" example
cmake -S example -B made -DCMAKE_PREFIX_PATH="$PWD/there" -DCMAKE_BUILD_TYPE=Release >configure.log 2>&1 ||
  fail "$(cat configure.log)"
cmake --build made >make.log 2>&1 || fail "$(cat make.log)"

serve
made/squares work &
worker=$!
pids+=("$worker")
made/squares submit 3 4 2.5 >results
same "2.5: 6.25 3: 9 4: 16" "$(sort -V results | xargs)"
fails_with=0
made/squares submit 3 '"x"' >results || fails_with=$?
same 1 "$fails_with"
has "$(cat results)" '"x": "x" is no number'
kill -TERM "$worker"
wait "$worker" || fail "the worker did not end well"

# The same by pkg-config, where that is there.
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$PWD/there/lib/pkgconfig
  # shellcheck disable=SC2046
  "${CXX:-c++}" example/squares.cc -o by_pkg_config $(pkg-config --cflags --libs allotter) || fail "pkg-config"
  same 2 "$(./by_pkg_config 2>usage; echo $?)"
  has "$(cat usage)" "squares submit"
fi

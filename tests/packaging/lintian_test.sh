# SPDX-License-Identifier: Apache-2.0
# The Debian package by Debian's own rules. lintian_test.sh BUILD_DIR
build=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"

for tool in lintian cpack dpkg-shlibdeps dpkg-deb; do
  command -v "$tool" >/dev/null || skip "no $tool"
done
cpack --config "$build/CPackConfig.cmake" -B "$PWD/made" >cpack.log 2>&1 || fail "cpack: $(cat cpack.log)"
lintian --fail-on error made/*.deb

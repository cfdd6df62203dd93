# SPDX-License-Identifier: Apache-2.0
# The Debian package: made, looked into, unpacked elsewhere, and run from there. deb_test.sh BUILD_DIR
build=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"

for tool in cpack dpkg-shlibdeps dpkg-deb file; do
  command -v "$tool" >/dev/null || skip "no $tool"
done
cpack --config "$build/CPackConfig.cmake" -B "$PWD/made" >cpack.log 2>&1 || fail "cpack: $(cat cpack.log)"
package=$(echo made/allotter_*.deb)
version=$(allot --version | awk '{ print $2 }')
same "made/allotter_${version}_$(dpkg --print-architecture).deb" "$package"

dev=$(echo made/liballotter-dev_*.deb)
same "made/liballotter-dev_${version}_$(dpkg --print-architecture).deb" "$dev"
dpkg-deb --contents "$dev" >contents
for file in usr/include/allotter/client.h usr/lib/liballotter.a usr/lib/cmake/allotter/allotterConfig.cmake \
  usr/lib/pkgconfig/allotter.pc usr/share/doc/liballotter-dev/copyright; do
  has "$(cat contents)" "./$file"
done
hasnt "$(cat contents)" usr/bin
has "$(dpkg-deb --field "$dev" Depends)" libssl-dev
has "$(dpkg-deb --field "$dev" Section)" libdevel
same "" "$(awk '$2 != "root/root" || substr($1, 9, 1) == "w"' contents)"

dpkg-deb --info "$package" >info
dpkg-deb --field "$package" >fields
for library in libc6 libsqlite3-0 libssl3 libsystemd0 init-system-helpers; do has "$(grep ^Depends fields)" "$library"; done
has "$(cat fields)" "Package: allotter"
has "$(cat fields)" "Version: $version"
dpkg-deb --contents "$package" >contents
# Nothing is anyone's but root's, or can be written by others.
same "" "$(awk '$2 != "root/root" || substr($1, 9, 1) == "w"' contents)"
dpkg-deb --control "$package" control
same "/etc/allotter/allotter.toml" "$(cat control/conffiles)"
for script in postinst prerm postrm; do
  test -x "control/$script"
  sh -n "control/$script"
done
dpkg-deb --extract "$package" there
(cd there && md5sum --quiet --check ../control/md5sums)

for file in etc/allotter/allotter.toml usr/bin/allot usr/lib/systemd/system/allotter.service \
  usr/lib/sysusers.d/allotter.conf usr/share/bash-completion/completions/allot usr/share/zsh/vendor-completions/_allot \
  usr/share/fish/vendor_completions.d/allot.fish usr/share/man/man1/allot.1.gz usr/share/doc/allotter/copyright \
  usr/share/doc/allotter/changelog.gz usr/share/doc/allotter/README.md usr/share/doc/allotter/docs/reference/operations.md \
  usr/share/allotter/prometheus/allotter.rules.yml usr/share/allotter/grafana/allotter.json; do
  test -s "there/$file" || fail "the package has no $file"
done
bash -n there/usr/share/bash-completion/completions/allot
has "$(gzip -dc there/usr/share/man/man1/allot.1.gz)" 'allot \- which worker'
has "$(gzip -dc there/usr/share/man/man1/allot.1.gz)" 'submit'
same "" "$(file there/usr/bin/allot | grep 'not stripped' || true)"

# The program that is in it, with the file of settings that is in it.
same 'data = "/var/lib/allotter"' "$(grep -v '^#' there/etc/allotter/allotter.toml | sed '/^$/d')"
ALLOT_BIN=$PWD/there/usr/bin/allot
serve --config "$PWD/there/etc/allotter/allotter.toml"
worker square -- sh -c 'read n; echo $((n*n))'
same 49 "$(echo 7 | "$ALLOT_BIN" submit --tag square --results --quiet)"

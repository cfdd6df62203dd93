# SPDX-License-Identifier: Apache-2.0
# The release archive: it needs nothing of the machine, so it runs where there is nothing. archive_test.sh BUILD_DIR
build=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"

for tool in python3 dpkg-query strip curl; do command -v "$tool" >/dev/null || skip "no $tool"; done
python3 "$root/packaging/release/make.py" "$build" made archive 2>made.log || fail "$(cat made.log)"
version=$(allot --version | awk '{ print $2 }')
name=allotter-$version-linux-$(uname -m)
same "made/$name.tar.gz" "$(echo made/*)"

# Made again it is the same.
python3 "$root/packaging/release/make.py" "$build" again archive 2>made.log
cmp "made/$name.tar.gz" "again/$name.tar.gz"
rm -r again

# Nothing is anyone's but root's, or can be written by others.
tar -tvzf "made/$name.tar.gz" >contents
same "" "$(awk '$2 != "root/root" || substr($1, 9, 1) == "w"' contents)"
mkdir -p bare/tmp bare/etc
tar -xzf "made/$name.tar.gz" -C bare
there=bare/$name
for file in LICENSE README.md CHANGELOG.md Containerfile compose.yaml compose/prometheus.yml licences/libc6 lib/loader \
  share/allotter.toml share/man/man1/allot.1.gz share/prometheus/allotter.rules.yml share/grafana/allotter.json \
  share/systemd/allotter.service; do
  test -s "$there/$file" || fail "the archive has no $file"
done

# All that it loads is in it, and each of these has its licence.
"$there/lib/loader" --library-path "$there/lib" --list "$there/lib/program" >loaded
same "" "$(grep -vE "linux-vdso|=> $there/lib/|$there/lib/loader|^[[:space:]]*/.*ld-linux" loaded || true)"
[ "$(find "$there/licences" -type f | wc -l)" -gt 20 ] || fail "licences are missing"

# From its folder, through a link, and as its own README says it.
same "allot $version" "$(cd "$there" && env -i ./allot --version)"
ln -s "$PWD/$there/allot" linked
same "allot $version" "$(env -i ./linked --version)"
# What a worker runs has the environment that it was started with, and no library of ours.
hasnt "$(env -i "$there/allot" expr eval 1; env -i sh -c "env; '$there/allot' --version")" LD_
mv "$there/lib" away
exits 127 "$there/allot" --version
has "$err" "keep lib/ beside allot"
mv away "$there/lib"

# Where there is nothing else: no shell, no library, no /proc. Without the right to that, with no environment at least.
if unshare -r true 2>/dev/null; then
  bare=(env -i "$(command -v unshare)" -r "$(PATH=$PATH:/usr/sbin:/sbin command -v chroot)" "$PWD/bare" "/$name/allot")
else
  bare=(env -i "TMPDIR=$PWD/bare/tmp" "$PWD/$there/allot")
fi
same "allot $version" "$("${bare[@]}" --version)"
began=$(date +%s%N)
"${bare[@]}" demo --listen 127.0.0.1:0 >hints 2>demo.log &
demo_pid=$!
pids+=("$demo_pid")
eventually grep -q 'The dashboard: ' hints
ALLOT_SERVER=$(sed -n 's|^The dashboard: \(.*\)/$|\1|p' hints)
curl -sSf "$ALLOT_SERVER/" >dashboard.html
printf 'the dashboard answers after %s ms\n' $((($(date +%s%N) - began) / 1000000))
script=$(sed -n 's/.* src="\([^"]*\)".*/\1/p' dashboard.html)
curl -sSf "$ALLOT_SERVER$script" >/dev/null
has "$(curl -sSf "$ALLOT_SERVER/docs/start/submit")" "I submit work"
# Live: tasks are done while one looks.
done_tasks() { curl -sSf "$ALLOT_SERVER/metrics" | awk '/^allotter_tasks_done_total/ { n += $2 } END { print n + 0 }'; }
more_done() { [ "$(done_tasks)" -gt "$before" ]; }
before=0
eventually more_done
before=$(done_tasks)
eventually more_done
# The archive's own command line reaches it.
same ready "$("${bare[@]}" ready --server "$ALLOT_SERVER")"
kill -INT "$demo_pid"
ends "$demo_pid"
same 0 "$code"
same "" "$(ls bare/tmp)"

exits 3 "${bare[@]}" ready --server "$ALLOT_SERVER"

# Names are looked up by the C library that came along, in the hosts file that is there.
if unshare -r true 2>/dev/null; then
  echo "127.0.0.1 queue.example" >bare/etc/hosts
  serve --allowed-hosts queue.example
  same ready "$("${bare[@]}" ready --server "http://queue.example:${ALLOT_SERVER##*:}")"
fi

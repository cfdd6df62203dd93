# SPDX-License-Identifier: Apache-2.0
# The image: built from the release archive without privileges of a daemon, and run as its own settings say, as a user
# of its own, on a root that cannot be written to. image_test.sh BUILD_DIR
build=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"

for tool in buildah unshare setpriv jq curl python3 dpkg-query strip; do command -v "$tool" >/dev/null || skip "no $tool"; done
python3 "$root/packaging/release/make.py" "$build" made archive 2>made.log || fail "$(cat made.log)"
mkdir unpacked
tar -xzf made/*.tar.gz -C unpacked --strip-components 1

tool=(buildah --storage-driver vfs --root "$work_dir/storage" --runroot "$work_dir/running")
"${tool[@]}" build --quiet --isolation chroot --format docker --tag allotter unpacked >built.log 2>&1 ||
  skip "buildah cannot build here: $(tail -n 1 built.log)"
"${tool[@]}" inspect --type image allotter | jq .Docker.config >config.json
json "$(cat config.json)" '.User == "10001:10001" and .Volumes == {"/data": {}} and .ExposedPorts == {"7420/tcp": {}}'
json "$(cat config.json)" '.Healthcheck.Test == ["CMD", "/opt/allotter/allot", "ready"]'
container=$("${tool[@]}" from allotter)
place=$("${tool[@]}" mount "$container")
same "10001:10001" "$(stat -c %u:%g "$place/data")"
same "" "$(find "$place" -xdev -perm /6000)"

# What runs it: the image's settings, its root read-only, a volume, this machine's network. No daemon, no runtime.
mkdir volume
chmod 711 "$work_dir"
chown 10001:10001 volume 2>/dev/null || skip "a volume for another user cannot be made here"
port=$((20000 + RANDOM % 10000))
mapfile -t settings < <(jq -r '.Env[]' config.json)
settings+=("ALLOT_LISTEN=0.0.0.0:$port" "ALLOT_SERVER=http://127.0.0.1:$port")
mapfile -t entry < <(jq -r '.Entrypoint[]' config.json)
mapfile -t command < <(jq -r '.Cmd[]' config.json)
PATH=$PATH:/usr/sbin:/sbin
image() {
  exec env -i "${settings[@]}" "$(command -v unshare)" --mount --propagation private "$(command -v sh)" -c '
    PATH=/usr/sbin:/usr/bin:/sbin:/bin
    mount --bind "$0" "$0" && mount --bind "$1" "$0/data" && mount -o remount,bind,ro "$0" && cd "$0" || exit 125
    user=$2 && shift 2
    exec setpriv --no-new-privs chroot --userspec="$user" "$0" "$@"' "$place" "$work_dir/volume" \
    "$(jq -r .User config.json)" "${entry[@]}" "$@"
}
(image --version) >probe.log 2>&1 || skip "no root of its own can be made here: $(tail -n 1 probe.log)"
has "$(cat probe.log)" "allot "

# Beyond loopback it asks for tokens first.
start() {
  (image "${command[@]}") 2>>server.log &
  server_pid=$!
  pids+=("$server_pid")
}
start
ends "$server_pid"
[ "$code" != 0 ] || fail "it listens for everybody without tokens"
has "$(cat server.log)" "token"
ALLOT_TOKEN=$(image token create admin --scope admin)
export ALLOT_TOKEN ALLOT_SERVER=http://127.0.0.1:$port

start
eventually curl -sSf "$ALLOT_SERVER/readyz"
mapfile -t check < <(jq -r '.Healthcheck.Test[2:][]' config.json)
same ready "$(image "${check[@]}")"
# Who it is, by the kernel: no root, no capability, nothing that can be written but the volume.
same "10001 10001 10001 10001" "$(awk '/^Uid:/ { print $2, $3, $4, $5 }' "/proc/$server_pid/status")"
same 0000000000000000 "$(awk '/^CapEff:/ { print $2 }' "/proc/$server_pid/status")"
same ro "$(awk '$5 == "/" { sub(/,.*/, "", $6); print $6 }' "/proc/$server_pid/mountinfo")"
same rw "$(awk '$5 == "/data" { sub(/,.*/, "", $6); print $6 }' "/proc/$server_pid/mountinfo")"
job=$(allot submit --tag square --count 3 --payload 7)
worker square -- sh -c 'read n; echo $((n*n))'
allot wait "$job"

# Stopped and started again, it has everything.
kill -TERM "$server_pid"
ends "$server_pid"
same 0 "$code"
start
eventually curl -sSf "$ALLOT_SERVER/readyz"
same "49 49 49" "$(allot results "$job" | xargs)"
kill -TERM "$server_pid"
ends "$server_pid"
same 0 "$code"
"${tool[@]}" umount "$container" >/dev/null
"${tool[@]}" rm --all >/dev/null

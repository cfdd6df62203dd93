# SPDX-License-Identifier: Apache-2.0
# Tables of pages against the program: the settings that it has with their defaults, and the commands. And the server for
# Kubernetes: the page shows the file, and the server takes what it says.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"

# Every setting of the server is a row of the page of configuration, and every row a setting.
allot config template | sed '/^#\[strategies\]/,$d' | sed -n 's/^#\([a-z_]*\) = .*/\1/p' | sort >settings
[ "$(wc -l <settings)" -gt 25 ] || fail "only $(wc -l <settings) settings were found"
awk '/^\| setting \| default \|/ { inside = 1; next } !/^\|/ { inside = 0 } inside && /^\| `/ { print $2 }' \
  "$root/docs/reference/configuration.md" | tr -d '`' | sort >told
diff told settings >differences || fail "docs/reference/configuration.md (<) and the program (>) differ: $(cat differences)"

# With its default, as the template has it. Where it depends on who asks, or is nothing, the page says so in words.
while IFS='|' read -r _ name default _; do
  name=${name//[\` ]/}
  default=${default//\`/}
  default=${default# } default=${default% }
  [ "$name" != data ] && [ -n "$default" ] || continue
  want=$(allot config template | sed -n "s/^#$name = \"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p")
  same "$name $want" "$name $default"
done < <(awk '/^\| setting \| default \|/ { inside = 1; next } !/^\|/ { inside = 0 } inside && /^\| `/' \
  "$root/docs/reference/configuration.md")

# Every command has a place on the page of the command line.
allot --help | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p' >commands
[ "$(wc -l <commands)" -gt 25 ] || fail "only $(wc -l <commands) commands were found"
while read -r command; do
  grep -q "\ballot $command\b" "$root/docs/reference/cli.md" || fail "docs/reference/cli.md has no \`allot $command\`"
done <commands

# The server for Kubernetes: the page has the file, whose flags, variables and probes are those of a server.
page=$root/docs/how-to/kubernetes.md
awk '/^```yaml$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" >shown.yaml
cmp shown.yaml "$root/examples/kubernetes/server.yaml"
same '["serve"]' "$(sed -n 's/^ *args: //p' shown.yaml)"
image=$(cat "$root/packaging/container/Containerfile")
has "$image" 'ENTRYPOINT ["/opt/allotter/allot"]'
has "$image" "ALLOT_DATA=/data ALLOT_LISTEN=0.0.0.0:7420"
mkdir data
allot token create ops --scope admin --data "$PWD/data" >ops.token
allot config check --data "$PWD/data" --listen 0.0.0.0:7420 >/dev/null
hosts=$(sed -n 's/.*ALLOT_ALLOWED_HOSTS, value: "\([^"]*\)".*/\1/p' shown.yaml)
serve --allowed-hosts "$hosts"
grep -oE 'path: /[a-z]+' shown.yaml | sed 's/path: //' >paths
same 2 "$(wc -l <paths)"
while read -r path; do
  same 200 "$(curl -sS -o probe -w '%{http_code}' -H 'Host: localhost' "http://127.0.0.1:$port$path")"
done <paths
for host in ${hosts//,/ }; do
  same 401 "$(curl -sS -o probe -w '%{http_code}' -H "Host: $host:7420" "http://127.0.0.1:$port/v1/queues")"
done

# Each format of the data has its note: what to do before an upgrade to it.
formats() { sed -n "/^| $1 | what is new/,/^\$/s/^| \([0-9]*\) |.*/\1/p" "$root/docs/how-to/upgrade.md" | grep .; }
numbers() { ls "$root/src/store/$1/migrations" | sed 's/^0*\([0-9]*\)_.*/\1/'; }
same "$(numbers sqlite)" "$(formats files)"
same "$(numbers postgres)" "$(formats database)"

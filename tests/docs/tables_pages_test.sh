# Tables of pages against the program: the settings that it has with their defaults, and the commands.
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

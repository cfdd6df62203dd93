# SPDX-License-Identifier: Apache-2.0
# Settings: flags over variables over the file over defaults, and where each comes from.
. "$(dirname "$0")/lib.sh"
value() { allot config show "${@:2}" -o json | jq -r --arg name "$1" '.settings[] | select(.name == $name) | "\(.value) \(.from)"'; }
same "127.0.0.1:7420 default" "$(value listen)"
cat >allotter.toml <<'TOML'
# A comment.
listen = "127.0.0.1:7001"
worker_grace = "2m"
max_body_bytes = "1MiB"
TOML
export ALLOT_CONFIG=$PWD/allotter.toml
same "127.0.0.1:7001 $PWD/allotter.toml:2" "$(value listen)"
same "2m $PWD/allotter.toml:3" "$(value worker_grace)"
export ALLOT_LISTEN=127.0.0.1:7002
same "127.0.0.1:7002 environment ALLOT_LISTEN" "$(value listen)"
same "127.0.0.1:7003 flag --listen" "$(value listen --listen 127.0.0.1:7003)"
has "$(allot config show)" "worker_grace"
exits 0 allot config check
exits 0 allot config show -o ndjson

exits 2 allot config check --worker-grace soon
exits 5 allot config check --listen 0.0.0.0:7420 --data "$PWD/none"
has "$err" "token"
printf 'worker_grcae = "1s"\n' >>allotter.toml
exits 2 allot config check
has "$err" "allotter.toml:5"
has "$err" "worker_grace"
exits 2 allot serve
ALLOT_CONFIG=$PWD/missing.toml exits 2 allot config show
unset ALLOT_CONFIG ALLOT_LISTEN
ALLOT_WORKER_GRACE=later exits 2 allot config show
has "$err" "ALLOT_WORKER_GRACE"

# The running server has what was asked for.
export ALLOT_WORKER_GRACE=45s
serve --retention 3d
json "$(allot queue show -o json)" '.settings.worker_grace_ms == 45000'
json "$(allot submit --count 1 -o json)" '.job.retention_ms == 259200000'

# A template has every setting, in words that are read again as they were; what is given holds.
unset ALLOT_WORKER_GRACE
ALLOT_LISTEN=127.0.0.1:9 allot config template --data /srv/allotter >template.toml
same 'data = "/srv/allotter"' "$(grep -v '^#' template.toml | sed '/^$/d')"
same "/srv/allotter $PWD/template.toml:$(grep -n '^data' template.toml | cut -d : -f 1)" "$(value data --config "$PWD/template.toml")"
sed 's/^#\([a-z_]* = \)/\1/; s/^#\[/[/' template.toml >full.toml
same "$(allot config show -o json | jq '.settings | length')" "$(sed '/^\[/,$d' full.toml | grep -c '^[a-z_]* = ')"
ALLOT_CONFIG='' allot config show --data /srv/allotter -o json | jq -r '.settings[] | "\(.name) \(.value)"' >plain
allot config show --config full.toml -o json | jq -r '.settings[] | "\(.name) \(.value)"' >read
has "$(cat read)" "batch fair(user, oldest)"
sed -i '/batch fair/d' read
cmp plain read

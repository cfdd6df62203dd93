# SPDX-License-Identifier: Apache-2.0
# `allot ready` is for health checks: it needs no token, and says by its exit code whether work is taken.
. "$(dirname "$0")/lib.sh"

exits 3 allot ready --server http://127.0.0.1:1
has "$err" "127.0.0.1:1"
allot token create ops --scope admin --data "$work_dir/data" >token
serve
exits 0 allot ready
same ready "$out"
exits 0 allot ready -o json
json "$out" '.status == "ok"'
exits 5 allot queue list  # which needs one

# A server that goes says so, or is gone.
kill -TERM "$server_pid"
ends "$server_pid"
exits 3 allot ready

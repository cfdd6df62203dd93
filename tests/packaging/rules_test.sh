# SPDX-License-Identifier: Apache-2.0
# The alerts are rules that Prometheus takes, and fire when they should.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"

command -v promtool >/dev/null || skip "no promtool"
cd "$root/packaging/prometheus"
promtool check rules allotter.rules.yml
promtool test rules allotter.rules.test.yml

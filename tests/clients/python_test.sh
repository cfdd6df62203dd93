# SPDX-License-Identifier: Apache-2.0
# The Python client's own tests, with a real server: python_test.sh. Skipped where pytest is missing.
set -euo pipefail

: "${ALLOT_BIN:?names the program under test}"
root=$(cd "$(dirname "$0")/../.." && pwd)

# The system's Python has the system's packages.
for python in /usr/bin/python3 python3; do
  if "$python" -c 'import sys, pytest; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    work_dir=$(mktemp -d)
    trap 'rm -rf "$work_dir"' EXIT
    # Children import the package time and again: compiled once, and not into the sources.
    unset PYTHONDONTWRITEBYTECODE
    export PYTHONPYCACHEPREFIX=$work_dir/compiled TMPDIR=$work_dir
    cd "$root/clients/python"
    "$python" -m pytest --basetemp="$work_dir/tests" "$@"
    exit
  fi
done
echo "skipped: pytest for Python 3.9 or newer is missing: apt-get install python3-pytest" >&2
exit 77

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source says its licence, and so do LICENSE and whatever describes a package: licence_test.sh SOURCE_DIR
set -euo pipefail
cd "$1"
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "skipped: not a clone" && exit 77; }
tools/spdx --check
says() {
  grep -q 'Apache-2\.0' "$1" || { echo "$1 does not name Apache-2.0" && exit 1; }
}
for file in LICENSE README.md packaging/debian/copyright clients/*/package.json clients/*/pyproject.toml; do says "$file"; done

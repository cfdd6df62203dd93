#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The TypeScript client: format, types, and its tests against the real server. typescript_test.sh [FILE...] runs those
# test files alone. Skipped (77) where there is no Node, or its packages cannot be had.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root/clients/typescript"

skip() {
  echo "skipped: $1"
  exit 77
}
command -v node >/dev/null && command -v npm >/dev/null || skip "the TypeScript client needs node and npm"
node -e 'const [a, b] = process.versions.node.split("."); process.exit(+a > 18 || (+a === 18 && +b >= 17) ? 0 : 1)' ||
  skip "the TypeScript client needs Node 18.17 or newer; this is $(node --version)"
cmake -DWEB_DIR="$PWD" -DNPM="$(command -v npm)" -P "$root/cmake/web_packages.cmake" >packages.log 2>&1 || {
  cat packages.log
  rm packages.log
  skip "the packages of the TypeScript client could not be installed"
}
rm packages.log

export npm_config_update_notifier=false npm_config_loglevel=error
npm run --silent check-format
npm run --silent build
if [ $# -gt 0 ]; then files=("$@"); else files=(build/test/*.test.js); fi
exec node --test "${files[@]}"

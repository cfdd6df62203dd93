#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the stall tests, and the cases that failed again, each time with new servers, until none fails or five runs were
# not enough. Of each step the least of all runs counts (large_backlog.h): what the engine does comes again, what the
# machine does to it does not.
#
#   run.sh STALL_TESTS
set -uo pipefail
export ALLOT_STALL_LEAST
ALLOT_STALL_LEAST=$(mktemp)
output=$(mktemp)
trap 'rm -f "$ALLOT_STALL_LEAST" "$output"' EXIT
filter='*'
for run in 1 2 3 4 5; do
  "$1" --gtest_filter="$filter" 2>&1 | tee "$output"
  [ "${PIPESTATUS[0]}" -ne 0 ] || exit 0
  filter=$(sed -n 's/^\[  FAILED  \] \([A-Za-z]*\.[A-Za-z]*\)$/\1/p' "$output" | sort -u | paste -sd:)
  [ -n "$filter" ] || exit 1  # it ended by itself
  printf '\nrun %d failed: %s\n\n' "$run" "$filter"
done
exit 1

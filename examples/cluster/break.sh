#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Breaks a cluster under load, and says whether it kept its promises: three nodes on a PostgreSQL of its own, clients that
# submit, work and cancel through any of them, and faults (kill -9, SIGSTOP, restarts of the database, drained nodes).
# Clients note all that they were told; in the end it is held against what the nodes say.
#
#   examples/cluster/break.sh [number of faults, 12 if it is not named]
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -x build/nodes_tests ] || { echo "build it first: ninja -C build allot nodes_tests" >&2; exit 1; }
ALLOT_BIN=${ALLOT_BIN:-$PWD/build/allot} ALLOT_CLUSTER_FAULTS=${1:-12} \
  exec build/nodes_tests --gtest_brief=1 --gtest_filter='ClusterFaults.*'

// SPDX-License-Identifier: Apache-2.0
// All blocks of the strategy language, a line each: its name in the code, its word, and its shape. All else that there
// is to say about a block stands in its own file, which has its word for a name.
//
//   kOrder   stands at the innermost place, without brackets
//   kKeyed   has a key, and one strategy inside
//   kChoice  has two strategies inside, or more
//   kWorker  stands for the asking worker's own strategy
#pragma once

#define ALLOT_STRATEGY_BLOCKS(BLOCK)                 \
  BLOCK(Random, "random", kOrder)                    \
  BLOCK(Oldest, "oldest", kOrder)                    \
  BLOCK(Newest, "newest", kOrder)                    \
  BLOCK(Priority, "priority", kOrder)                \
  BLOCK(LeastRecent, "least_recent", kOrder)         \
  BLOCK(SelectOnly, "select_only", kKeyed)           \
  BLOCK(PreferDistinct, "prefer_distinct", kKeyed)   \
  BLOCK(MaxSimultaneous, "max_simultaneous", kKeyed) \
  BLOCK(Fair, "fair", kKeyed)                        \
  BLOCK(OrElse, "or_else", kChoice)                  \
  BLOCK(Worker, "worker", kWorker)

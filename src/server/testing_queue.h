// SPDX-License-Identifier: Apache-2.0
// For tests: a queue at work, in memory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "base/ids.h"
#include "server/queue/queue_runtime.h"
#include "store/memory/memory_store.h"

namespace allot::testing {

// Named q. `ids` outlives it. Null, and the test fails, where it does not open.
inline std::shared_ptr<QueueRuntime> OpenMemoryQueue(IdAllocator& ids) {
  QueueRuntime::Options options;
  options.name = "q";
  options.ids = &ids;
  options.on_fatal = [](const Error& error) { FAIL() << error.message; };
  auto store = MemoryStore::Open(std::make_shared<MemoryDisk>());
  EXPECT_TRUE(store.ok());
  auto opened = QueueRuntime::Open(std::move(*store), std::move(options));
  EXPECT_TRUE(opened.ok());
  return opened.ok() ? *opened : nullptr;
}

}  // namespace allot::testing

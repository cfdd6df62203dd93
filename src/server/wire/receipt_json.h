// SPDX-License-Identifier: Apache-2.0
// How starts were decided, as the protocol's JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/receipts.h"

namespace allot {

struct ReceiptsQuery {
  std::optional<std::uint64_t> before;
  std::size_t limit = 100;
};
Result<ReceiptsQuery> ParseReceiptsQuery(std::string_view query);
// Without `all`, neither stages nor blocks: these tell of everyone's jobs.
void AppendReceipt(const Receipt& receipt, bool all, std::string& out);

}  // namespace allot

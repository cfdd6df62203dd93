// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

namespace allot {

std::vector<Result<std::optional<std::string>>> Store::ReadPayloads(std::span<const PayloadKey> keys,
                                                                    std::size_t max_bytes) {
  std::vector<Result<std::optional<std::string>>> out;
  out.reserve(keys.size());
  std::size_t bytes = 0;
  for (const PayloadKey& key : keys) {
    const Result<std::optional<std::string>>& payload = out.emplace_back(ReadPayload(key.set, key.index));
    if (payload && payload->has_value()) bytes += (*payload)->size();
    if (bytes <= max_bytes) continue;
    if (out.size() > 1) out.pop_back();
    break;
  }
  return out;
}

}  // namespace allot

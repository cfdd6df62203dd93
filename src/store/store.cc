#include "store/store.h"

namespace allot {

std::vector<Result<std::optional<std::string>>> Store::ReadPayloads(std::span<const PayloadKey> keys,
                                                                    std::size_t max_bytes) {
  std::vector<Result<std::optional<std::string>>> out;
  out.reserve(keys.size());
  std::size_t bytes = 0;
  for (const PayloadKey& key : keys) {
    Result<std::optional<std::string>> payload = ReadPayload(key.set, key.index);
    if (payload && payload->has_value()) bytes += (*payload)->size();
    if (!out.empty() && bytes > max_bytes) break;
    out.push_back(std::move(payload));
  }
  return out;
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

namespace allot {

std::vector<Store::PayloadRead> Store::ReadPayloads(std::span<const PayloadKey> keys, std::size_t max_bytes) {
  return ReadOneByOne(keys, max_bytes, [this](const PayloadKey& key) -> PayloadRead {
    Result<std::optional<std::string>> payload = ReadPayload(key.set, key.index);
    if (!payload) return payload.error();
    if (!payload->has_value()) return std::optional<PinnedText>();
    return std::optional<PinnedText>(PinnedText(std::move(**payload)));
  });
}

std::vector<Store::PayloadRead> Store::ReadOneByOne(std::span<const PayloadKey> keys, std::size_t max_bytes,
                                                    const std::function<PayloadRead(const PayloadKey&)>& read) {
  std::vector<PayloadRead> out;
  out.reserve(keys.size());
  std::size_t bytes = 0;
  for (const PayloadKey& key : keys) {
    const PayloadRead& payload = out.emplace_back(read(key));
    if (payload && payload->has_value()) bytes += (*payload)->text().size();
    if (bytes <= max_bytes) continue;
    if (out.size() > 1) out.pop_back();
    break;
  }
  return out;
}

}  // namespace allot

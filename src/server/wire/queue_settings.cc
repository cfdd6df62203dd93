// SPDX-License-Identifier: Apache-2.0
#include "server/wire/queue_settings.h"

#include <cstddef>

#include "base/result.h"
#include "base/text.h"
#include "match/constraints.h"

namespace allot {
namespace {

constexpr std::size_t kMaxWeightBytes = 1024 * 1024;  // they are told with every look at the queue

}  // namespace

Result<void> CheckSettings(const QueueSettings& settings) {
  if (settings.weights.size() > bounds::kMaxWeights) {
    return Error{Code::kBadValue,
                 "a queue has at most " + FormatCount(bounds::kMaxWeights) + " weights, these would be " +
                     FormatCount(settings.weights.size()),
                 "values without a weight have one of 1"};
  }
  std::size_t bytes = 0;
  for (const auto& [name, weight] : settings.weights) bytes += name.size();
  if (bytes > kMaxWeightBytes) {
    return Error{Code::kBadValue,
                 "the names of a queue's weights have at most " + FormatSize(kMaxWeightBytes) + " in all",
                 "values without a weight have one of 1"};
  }
  return CheckPropertyKeys(settings.property_keys, static_cast<std::size_t>(settings.max_property_keys));
}

}  // namespace allot

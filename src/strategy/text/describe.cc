// SPDX-License-Identifier: Apache-2.0
// What a strategy will do, for whoever is about to use it.
#include <fmt/format.h>

#include "strategy/blocks/block.h"
#include "strategy/strategy.h"

namespace allot {
namespace {

void Describe(const Strategy& first, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  const Strategy* node = &first;
  std::string_view remaining;
  for (int number = 1;; ++number) {
    out += fmt::format("{}{}. {}{}\n", margin, number, remaining, BlockOf(*node).Describe(*node));
    if (!node->keyed()) break;
    remaining = BlockOf(*node).traits().remaining;
    node = node->inner[0].get();
  }
  for (std::size_t i = 0; i < node->inner.size(); ++i) {
    out += fmt::format("{}   {}\n", margin,
                       i == 0   ? "first choice"
                       : i == 1 ? "if there is none"
                                : "if there is still none");
    Describe(*node->inner[i], indent + 5, out);
  }
}

}  // namespace

std::string DescribeStrategy(const Strategy& strategy) {
  std::string out;
  Describe(strategy, 0, out);
  return out;
}

}  // namespace allot

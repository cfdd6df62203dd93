// SPDX-License-Identifier: Apache-2.0
#include "strategy/blocks/block.h"

#include "base/check.h"

namespace allot {

bool Block::PassesValue(const order::Plan&, const order::ViewContext&, std::uint32_t) const {
  CHECK(false);
  return false;
}

int Block::CompareValues(const order::Plan&, const order::ViewContext&, std::uint32_t, std::uint32_t) const {
  CHECK(false);
  return 0;
}

const Block& BlockOf(Strategy::Kind kind) {
  static const Block* const kAll[] = {
#define ALLOT_BLOCK(name, word, shape) &blocks::name(),
      ALLOT_STRATEGY_BLOCKS(ALLOT_BLOCK)
#undef ALLOT_BLOCK
  };
  return *kAll[static_cast<std::size_t>(kind)];
}

}  // namespace allot

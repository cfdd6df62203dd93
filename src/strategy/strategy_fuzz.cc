// SPDX-License-Identifier: Apache-2.0
// Any bytes as a strategy and as a policy: it parses or says where it does not, stays inside its bounds, and prints so
// that it parses back to itself.
#include <cstdint>
#include <string>

#include <simdjson.h>

#include "base/bounds.h"
#include "base/check.h"
#include "base/json.h"
#include "strategy/strategy.h"

using namespace allot;

namespace {

void Try(const std::string& text, bool policy, const NamedStrategies& named) {
  const ParsedStrategy parsed = ParseStrategy(text, policy, named);
  if (parsed.strategy == nullptr) {
    CHECK(!parsed.error.message.empty() && parsed.error.message.size() < 1'000);
    CHECK(parsed.error.offset <= text.size());
    CHECK(IsUtf8(parsed.error.message) && expr::PointAt("strategy", text, parsed.error).size() < 2'000);
    return;
  }
  CHECK(text.size() <= bounds::kMaxStrategyBytes && IsUtf8(text));
  CHECK(CheckStrategy(*parsed.strategy, policy).empty());

  const std::string printed = PrintStrategy(*parsed.strategy);
  const ParsedStrategy again = ParseStrategy(printed, policy);  // names are written out
  CHECK(again.strategy != nullptr && *again.strategy == *parsed.strategy);
  CHECK(PrintStrategy(*again.strategy) == printed);

  std::string json;
  AppendStrategyJson(*parsed.strategy, json);
  simdjson::dom::parser parser;
  CHECK(parser.parse("[" + json + "]").error() == simdjson::SUCCESS);

  const std::string words = DescribeStrategy(*parsed.strategy);
  CHECK(IsUtf8(words) && !words.empty() && words.back() == '\n');
  if (policy) {
    const StrategyPtr composed = Compose(parsed.strategy, FairStrategy());
    const std::string composed_text = PrintStrategy(*composed);
    CHECK(composed_text.size() > printed.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly this size, so that a read past the end is seen.
  const std::string text(reinterpret_cast<const char*>(data), size);
  static const NamedStrategies named = {
      {"mine", ParseStrategy("or_else(select_only(mode = preview, oldest), random)").strategy},
      {"ours", ParseStrategy("max_simultaneous(customer, 5, worker)", true).strategy},
  };
  Try(text, false, named);
  Try(text, true, named);
  return 0;
}

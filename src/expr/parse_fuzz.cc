// SPDX-License-Identifier: Apache-2.0
// Any bytes as an expression: it parses or says where it does not, stays inside its bounds, and prints so that it
// parses back to itself.
#include <cstdint>
#include <string>

#include "base/bounds.h"
#include "base/check.h"
#include "base/json.h"
#include "expr/expr.h"
#include "expr/fuzz_support.h"

using namespace allot;
using namespace allot::expr;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly this size, so that a read past the end is seen.
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Parsed parsed = Expr::Parse(text);
  if (parsed.expr == nullptr) {
    CHECK(!parsed.error.message.empty() && parsed.error.message.size() < 1'000);
    CHECK(parsed.error.offset <= text.size());
    CHECK(IsUtf8(parsed.error.message) && PointAt("requirements", text, parsed.error).size() < 2'000);
    return 0;
  }
  CHECK(text.size() <= bounds::kMaxExpressionBytes && IsUtf8(text));
  CHECK(parsed.expr->MemoryBytes() <= 1024 * 1024);
  const std::string printed = parsed.expr->Print();
  CHECK(IsUtf8(printed));
  fuzz::CheckPrinted(printed);
  if (const Parsed again = Expr::Parse(printed); again.expr != nullptr) {
    CHECK(again.expr->References() == parsed.expr->References());
    CHECK(again.expr->UsesTime() == parsed.expr->UsesTime());
  }
  for (const ExprPtr& clause : parsed.expr->Clauses()) CHECK(clause->Clauses().size() == 1);
  (void)parsed.expr->AsComparison();
  return 0;
}

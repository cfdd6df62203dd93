// SPDX-License-Identifier: Apache-2.0
#include "limits/limit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"

namespace allot {
namespace {

Error Bad(std::string_view field, std::string_view what, std::string hint = "") {
  return Error{Code::kBadValue, fmt::format("`{}`: {}", field, what), std::move(hint)};
}

bool IsTagChar(char c) {
  return IsAsciiLetter(c) || IsAsciiDigit(c) || std::string_view("_.-/:=@+").find(c) != std::string_view::npos;
}

Result<void> CheckExpr(std::string_view field, const ExprPtr& expr) {
  if (expr && expr->UsesTime()) {
    return Bad(field, "must not read time()", "a limit has a lease: set it for as long as it is to hold");
  }
  return {};
}

Result<void> CheckAmount(std::string_view field, double amount) {
  if (std::isfinite(amount) && amount >= 0 && amount <= static_cast<double>(bounds::kMaxLimitTokens)) return {};
  return Bad(field, fmt::format("must be a number from 0 to {}", FormatCount(bounds::kMaxLimitTokens)));
}

}  // namespace

Result<ExprPtr> ParseLimitExpr(std::string_view field, std::string_view text) {
  if (text.size() > bounds::kMaxExpressionBytes)
    return Bad(field, fmt::format("must have at most {} bytes", FormatCount(bounds::kMaxExpressionBytes)));
  const expr::Parsed parsed = expr::Expr::Parse(text);
  if (parsed.expr == nullptr)
    return Bad(field, fmt::format("{} (at byte {})", parsed.error.message, parsed.error.offset));
  if (const Result<void> check = CheckExpr(field, parsed.expr); !check.ok()) return check.error();
  return parsed.expr;
}

Result<void> CheckLimit(const LimitSpec& spec) {
  if (spec.tag.empty() || spec.tag.size() > bounds::kMaxTagBytes ||
      !std::all_of(spec.tag.begin(), spec.tag.end(), IsTagChar)) {
    return Bad("tag",
               fmt::format("must be 1 to {} letters, digits, or any of `_ . - / : = @ +`", bounds::kMaxTagBytes));
  }
  if (spec.name.size() > bounds::kMaxNameBytes)
    return Bad("name", fmt::format("must have at most {} bytes", bounds::kMaxNameBytes));
  if (!IsUtf8(spec.name) || HasControl(spec.name)) return Bad("name", "must be UTF-8 without control characters");
  if (!spec.expr)
    return Bad("expr", "must be there", R"(the starts that the limit applies to, like "MY.User == \"ann\"")");
  for (const auto& [field, expr] : {std::pair("expr", &spec.expr), std::pair("cost", &spec.cost)}) {
    if (const Result<void> check = CheckExpr(field, *expr); !check.ok()) return check.error();
  }
  for (const auto& [field, amount] : {std::pair("count", spec.count), std::pair("burst", spec.burst),
                                      std::pair("max_burst_cost", spec.max_burst_cost)}) {
    if (const Result<void> check = CheckAmount(field, amount); !check.ok()) return check.error();
  }
  if (spec.window <= Duration::zero() || spec.window > bounds::kMaxLimitWindow) {
    return Bad("window", fmt::format("must be more than 0 and at most {}", FormatDuration(bounds::kMaxLimitWindow)),
               "the time in which `count` tokens are refilled");
  }
  if (!spec.expires_in)
    return Bad("expires_in", "must be there", "a limit that is not renewed goes away: say after how long");
  if (*spec.expires_in <= Duration::zero()) return Bad("expires_in", "must be more than 0");
  return {};
}

bool SameExpressions(const LimitSpec& a, const LimitSpec& b) {
  const auto text = [](const ExprPtr& expr) { return expr ? expr->Print() : std::string(); };
  return text(a.expr) == text(b.expr) && text(a.cost) == text(b.cost);
}

bool IsJobOnly(const LimitSpec& spec) {
  const auto reads = [](const ExprPtr& expr) { return expr && expr->Reads(expr::Side::kMachine, expr::Side::kJob); };
  return !reads(spec.expr) && !reads(spec.cost);
}

BucketTerms TermsOf(const LimitSpec& spec) {
  return {Tokens::Of(spec.count), spec.window, Tokens::Of(spec.burst), Tokens::Of(spec.max_burst_cost)};
}

}  // namespace allot

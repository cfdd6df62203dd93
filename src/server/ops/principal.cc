// SPDX-License-Identifier: Apache-2.0
#include "server/ops/principal.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"

namespace allot {
namespace {

// In the order of Scope.
constexpr std::string_view kNames[] = {"submit", "work", "read", "operate", "admin"};

}  // namespace

std::string_view ScopeText(Scope scope) { return kNames[static_cast<std::size_t>(scope)]; }

Result<Scope> ParseScope(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == text) return static_cast<Scope>(i);
  }
  const std::string_view nearest = Nearest(text, kNames);
  return Error{Code::kBadValue, fmt::format("{} is not a scope", JsonString(text.substr(0, 64))),
               nearest.empty() ? fmt::format("scopes are {}", fmt::join(kNames, ", "))
                               : fmt::format("did you mean `{}`?", nearest)};
}

ScopeSet ScopeSet::All() {
  ScopeSet set;
  for (std::size_t i = 0; i < std::size(kNames); ++i) set.Add(static_cast<Scope>(i));
  return set;
}

Result<ScopeSet> ScopeSet::Parse(std::string_view text) {
  ScopeSet set;
  while (true) {
    const std::size_t start = text.find_first_not_of(", ");
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find_first_of(", "));
    text.remove_prefix(word.size());
    const auto scope = ParseScope(word);
    if (!scope.ok()) return scope.error();
    set.Add(*scope);
  }
  if (set.empty())
    return Error{Code::kBadValue, "no scope is named", fmt::format("scopes are {}", fmt::join(kNames, ", "))};
  return set;
}

std::string ScopeSet::Text() const {
  std::string text;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (Names(static_cast<Scope>(i))) text += (text.empty() ? "" : ",") + std::string(kNames[i]);
  }
  return text;
}

const PrincipalPtr& LocalPrincipal() {
  static const PrincipalPtr local = [] {
    auto principal = std::make_shared<Principal>();
    principal->name = "local";
    principal->scopes = ScopeSet::All();
    return principal;
  }();
  return local;
}

const PrincipalPtr& Nobody() {
  static const PrincipalPtr nobody = std::make_shared<Principal>();
  return nobody;
}

}  // namespace allot

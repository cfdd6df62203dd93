// SPDX-License-Identifier: Apache-2.0
// Who asks, and what it may do.
//
// Changing it: scope names are on the wire, on the command line and in the token file. Add at the end, never rename.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace allot {

enum class Scope : std::uint8_t { kSubmit, kWork, kRead, kOperate, kAdmin };

inline constexpr Scope kAllScopes[] = {Scope::kSubmit, Scope::kWork, Scope::kRead, Scope::kOperate, Scope::kAdmin};

std::string_view ScopeText(Scope scope);
// kBadValue, with the nearest scope as a hint, for any other word.
Result<Scope> ParseScope(std::string_view text);

// A set of scopes. kAdmin includes all others; no other scope includes another.
class ScopeSet {
 public:
  static ScopeSet All();
  // Words separated by commas, blanks or both: `submit,read`.
  static Result<ScopeSet> Parse(std::string_view text);
  void Add(Scope scope) { bits_ |= Bit(scope); }
  bool Has(Scope scope) const { return (bits_ & (Bit(scope) | Bit(Scope::kAdmin))) != 0; }
  bool Names(Scope scope) const { return (bits_ & Bit(scope)) != 0; }  // without what kAdmin includes
  bool empty() const { return bits_ == 0; }
  std::string Text() const;  // `submit,read`
  friend bool operator==(ScopeSet, ScopeSet) = default;

 private:
  static std::uint8_t Bit(Scope scope) { return static_cast<std::uint8_t>(1u << static_cast<unsigned>(scope)); }
  std::uint8_t bits_ = 0;
};

struct Principal {
  std::string id;    // of its token; empty for `local`
  std::string name;  // for people: in logs
  ScopeSet scopes;
  std::optional<std::string> user;   // the only user that it speaks for
  std::optional<std::string> queue;  // the only queue that it reaches
  std::optional<WallTime> expires_at;
  bool Has(Scope scope) const { return scopes.Has(scope); }
  friend bool operator==(const Principal&, const Principal&) = default;
};

using PrincipalPtr = std::shared_ptr<const Principal>;

// Everyone, while no tokens are configured: all scopes, no fixed user or queue.
const PrincipalPtr& LocalPrincipal();
// Whoever asks for what needs no token: no scopes.
const PrincipalPtr& Nobody();

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "engine/commands/limit_commands.h"

#include <string>
#include <vector>

#include "engine/parts.h"

namespace allot {

Result<LimitLease> LimitCommands::Create(const Now& now, std::string_view uuid, const LimitSpec& spec) {
  p_.Begin(now);
  if (auto admitted = p_.limiting.Admit(spec); !admitted) return admitted.error();
  std::optional<MemoryPool::Scope> scope(std::in_place, &p_.memory.limits);
  Result<LimitLease> lease = p_.limits.Create(uuid, spec, p_.clock.now);
  scope.reset();
  p_.limiting.OnLimits();
  p_.End();
  return lease;
}

Result<LimitLease> LimitCommands::Update(const Now& now, std::string_view uuid, const LimitSpec& spec) {
  p_.Begin(now);
  // With other expressions it tells jobs apart anew.
  const std::vector<LimitView> before = p_.limits.looks().List({std::nullopt, std::string(uuid)}, p_.clock.now);
  if (!before.empty() && spec.expr && !SameExpressions(before.front().spec, spec)) {
    if (auto admitted = p_.limiting.Admit(spec); !admitted) return admitted.error();
  }
  std::optional<MemoryPool::Scope> scope(std::in_place, &p_.memory.limits);
  Result<LimitLease> lease = p_.limits.Update(uuid, spec, p_.clock.now);
  scope.reset();
  p_.limiting.OnLimits();
  p_.End();
  return lease;
}

Result<LimitLease> LimitCommands::Renew(const Now& now, std::string_view uuid, std::optional<Duration> expires_in) {
  p_.Begin(now);
  Result<LimitLease> lease = p_.limits.Renew(uuid, expires_in, p_.clock.now);
  p_.End();
  return lease;
}

Result<void> LimitCommands::Delete(const Now& now, std::string_view uuid) {
  p_.Begin(now);
  std::optional<MemoryPool::Scope> scope(std::in_place, &p_.memory.limits);
  Result<void> deleted = p_.limits.Delete(uuid, p_.clock.now);
  scope.reset();
  p_.limiting.OnLimits();
  p_.End();
  return deleted;
}

}  // namespace allot

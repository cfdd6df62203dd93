// SPDX-License-Identifier: Apache-2.0
// For tests: tokens in the file of a server that is about to start.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "server/ops/config.h"
#include "server/ops/tokens.h"

namespace allot::testing {

// The text of a new token with these scopes; fixed to the user, if one is given.
inline std::string MakeToken(const Config& config, const char* name, std::initializer_list<Scope> scopes,
                             std::optional<std::string> user = {}) {
  TokenFile file(config.tokens_file());
  NewToken token;
  token.name = name;
  for (const Scope scope : scopes) token.scopes.Add(scope);
  token.user = std::move(user);
  return file.Create(token, WallTime{})->text;
}

}  // namespace allot::testing

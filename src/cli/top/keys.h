// SPDX-License-Identifier: Apache-2.0
// What keys do.
#pragma once

#include <vector>

#include "cli/top/model.h"

namespace allot::cli::top {

struct Key {
  enum class Kind {
    kChar,
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kEnter,
    kEscape,
    kBackspace,
    kTab,
    kBackTab,
  };
  Kind kind = Kind::kChar;
  char32_t c = 0;  // of kChar
};

// Changes the model, and returns what the server is to do. REQUIRES: Settle() after the last change.
std::vector<Command> OnKey(Model& model, Key key);

}  // namespace allot::cli::top

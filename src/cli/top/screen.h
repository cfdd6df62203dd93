// SPDX-License-Identifier: Apache-2.0
// The terminal, by ncurses: puts grids on it and reads keys. Nothing else knows of ncurses.
//
// While a Screen lives the terminal is in its own mode; it is put back when it ends, when the program is stopped
// (Ctrl-Z) and when it crashes.
// Threading: one thread. There is one at a time.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "cli/top/grid.h"
#include "cli/top/keys.h"

namespace allot::cli::top {

class Screen {
 public:
  // kBadValue for a terminal that cannot do it: TERM is unknown, or has no cursor to move.
  static Result<std::unique_ptr<Screen>> Open(bool colour);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  Size size() const;
  void Draw(const Grid& grid);
  // The next key, if one was pressed. `resized` becomes true where the window has another size now.
  std::optional<Key> Read(bool& resized);

 private:
  explicit Screen(void* handle, bool colour) : handle_(handle), colour_(colour) {}
  void* handle_;
  bool colour_;
};

}  // namespace allot::cli::top

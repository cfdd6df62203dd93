// SPDX-License-Identifier: Apache-2.0
// Memory of an evaluation, an ad or an expression: taken piece by piece, given back all at once, bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "expr/value.h"

namespace allot::expr {

class Arena {
 public:
  // `max_bytes` 0: without a bound.
  explicit Arena(std::size_t max_bytes = 0) : max_bytes_(max_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Aligned for Value; null once the bound is reached.
  void* Allocate(std::size_t bytes);
  // Copies; `ok` false (and an empty view) once the bound is reached.
  std::string_view Copy(std::string_view text, bool& ok);
  // A deep copy; ERROR once the bound is reached.
  Value Copy(const Value& value);
  // Uninitialised items; empty once the bound is reached (or for 0).
  std::span<Value> Values(std::size_t count);
  std::span<Field> Fields(std::size_t count);

  // Forgets everything, and keeps the memory for next time.
  void Clear();
  std::size_t used() const { return used_; }
  // What it holds from the system.
  std::size_t MemoryBytes() const;
  // Has it refused since the last Clear()?
  bool exhausted() const { return exhausted_; }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size;
  };
  bool exhausted_ = false;
  std::size_t max_bytes_;
  std::size_t used_ = 0;    // since the last Clear()
  std::size_t block_ = 0;   // the one in use
  std::size_t offset_ = 0;  // in it
  std::vector<Block> blocks_;
};

}  // namespace allot::expr

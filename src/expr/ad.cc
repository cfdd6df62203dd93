// SPDX-License-Identifier: Apache-2.0
#include "expr/ad.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "expr/arena.h"
#include "expr/operators.h"

namespace allot::expr {

NameHash HashName(std::string_view name) {
  NameHash hash = 0xcbf29ce484222325ull;  // FNV-1a
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(LowerCase(c));
    hash *= 0x100000001b3ull;
  }
  return hash;
}

bool SameName(std::string_view a, std::string_view b) { return EqualText(a, b); }

Ad::Ad() = default;
Ad::~Ad() = default;
Ad::Ad(Ad&&) noexcept = default;
Ad& Ad::operator=(Ad&&) noexcept = default;

void Ad::Set(std::string_view name, const Value& value) {
  const NameHash hash = HashName(name);
  auto at = std::lower_bound(hashes_.begin(), hashes_.end(), hash) - hashes_.begin();
  const auto count = static_cast<std::ptrdiff_t>(hashes_.size());
  while (at < count && hashes_[at] == hash && !SameName(entries_[at].name, name)) ++at;
  const bool there = at < count && hashes_[at] == hash;
  if (value.is(Type::kUndefined)) {
    if (!there) return;
    hashes_.erase(hashes_.begin() + at);
    entries_.erase(entries_.begin() + at);
    return;
  }
  if (arena_ == nullptr) arena_ = std::make_unique<Arena>();
  const Value copy = arena_->Copy(value);
  CHECK(!copy.is(Type::kError));
  if (there) {
    entries_[at].value = copy;
    return;
  }
  bool ok = true;
  const std::string_view own = arena_->Copy(name, ok);
  hashes_.insert(hashes_.begin() + at, hash);
  entries_.insert(entries_.begin() + at, Entry{own, copy});
}

std::size_t Ad::MemoryBytes() const {
  return sizeof(Ad) + hashes_.capacity() * sizeof(NameHash) + entries_.capacity() * sizeof(Entry) +
         (arena_ == nullptr ? 0 : sizeof(Arena) + arena_->MemoryBytes());
}

}  // namespace allot::expr

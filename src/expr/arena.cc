// SPDX-License-Identifier: Apache-2.0
#include "expr/arena.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace allot::expr {
namespace {

// Most expressions and ads need little: begin small, and double.
constexpr std::size_t kFirstBlock = 128;
constexpr std::size_t kLargestBlock = 16 * 1024;
constexpr std::size_t kAlignment = alignof(Value);
static_assert(alignof(Field) <= kAlignment);

}  // namespace

void* Arena::Allocate(std::size_t bytes) {
  bytes = (bytes + kAlignment - 1) & ~(kAlignment - 1);
  if (max_bytes_ != 0 && bytes > max_bytes_ - used_) {
    exhausted_ = true;
    return nullptr;
  }
  used_ += bytes;
  while (block_ < blocks_.size()) {
    Block& block = blocks_[block_];
    if (bytes <= block.size - offset_) {
      void* at = block.bytes.get() + offset_;
      offset_ += bytes;
      return at;
    }
    ++block_;
    offset_ = 0;
  }
  const std::size_t next = blocks_.empty() ? kFirstBlock : std::min(blocks_.back().size * 2, kLargestBlock);
  const std::size_t size = std::max(bytes, next);
  blocks_.push_back(Block{std::unique_ptr<std::byte[]>(new std::byte[size]), size});
  offset_ = bytes;
  return blocks_.back().bytes.get();
}

std::string_view Arena::Copy(std::string_view text, bool& ok) {
  ok = true;
  if (text.empty()) return {};
  void* at = Allocate(text.size());
  if (at == nullptr) {
    ok = false;
    return {};
  }
  std::memcpy(at, text.data(), text.size());
  return {static_cast<const char*>(at), text.size()};
}

std::span<Value> Arena::Values(std::size_t count) {
  if (count == 0) return {};
  void* at = Allocate(count * sizeof(Value));
  if (at == nullptr) return {};
  return {static_cast<Value*>(at), count};
}

std::span<Field> Arena::Fields(std::size_t count) {
  if (count == 0) return {};
  void* at = Allocate(count * sizeof(Field));
  if (at == nullptr) return {};
  return {static_cast<Field*>(at), count};
}

Value Arena::Copy(const Value& value) {
  switch (value.type()) {
    case Type::kString: {
      bool ok = true;
      const std::string_view text = Copy(value.string(), ok);
      return ok ? Value::String(text) : Value::Error();
    }
    case Type::kList: {
      const auto from = value.list();
      const auto to = Values(from.size());
      if (to.size() != from.size()) return Value::Error();
      for (std::size_t i = 0; i < from.size(); ++i) {
        new (&to[i]) Value(Copy(from[i]));
        if (exhausted_) return Value::Error();
      }
      return Value::List(to);
    }
    case Type::kRecord: {
      const auto from = value.record();
      const auto to = Fields(from.size());
      if (to.size() != from.size()) return Value::Error();
      for (std::size_t i = 0; i < from.size(); ++i) {
        bool ok = true;
        const std::string_view name = Copy(from[i].name, ok);
        new (&to[i]) Field{name, Copy(from[i].value)};
        if (exhausted_) return Value::Error();
      }
      return Value::Record(to);
    }
    default:
      return value;
  }
}

void Arena::Clear() {
  used_ = 0;
  block_ = 0;
  offset_ = 0;
  exhausted_ = false;
}

std::size_t Arena::MemoryBytes() const {
  std::size_t sum = blocks_.capacity() * sizeof(Block);
  for (const Block& block : blocks_) sum += block.size;
  return sum;
}

}  // namespace allot::expr

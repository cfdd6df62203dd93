// SPDX-License-Identifier: Apache-2.0
#include "server/net/inflight.h"

#include "base/check.h"

namespace allot {
namespace {

// Counted in pieces, so that few reads take the lock.
constexpr std::uint64_t kPieceBytes = 256 * 1024;

std::uint64_t Counted(std::size_t bytes) {
  if (bytes <= InflightBudget::kFreeBytes) return 0;
  return (bytes + kPieceBytes - 1) / kPieceBytes * kPieceBytes;
}

}  // namespace

bool InflightBudget::Share::Grow(const std::string& who, std::size_t bytes) {
  const std::uint64_t wanted = Counted(bytes);
  if (wanted <= counted_) return true;
  CHECK(budget_ != nullptr);
  if (counted_ == 0) who_ = who;
  if (!budget_->Take(who_, wanted - counted_)) return false;
  counted_ = wanted;
  return true;
}

void InflightBudget::Share::Shrink(std::size_t bytes) {
  const std::uint64_t wanted = Counted(bytes);
  if (wanted >= counted_) return;
  budget_->GiveBack(who_, counted_ - wanted);
  counted_ = wanted;
}

bool InflightBudget::Take(const std::string& who, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes_ + bytes > max_bytes_) return false;
  if (!who.empty()) {
    std::uint64_t& of_one = by_token_[who];
    const std::uint64_t of_others = bytes_ - of_one;
    if (of_one + bytes > (max_bytes_ - of_others) / 2) {
      if (of_one == 0) by_token_.erase(who);
      return false;
    }
    of_one += bytes;
  }
  bytes_ += bytes;
  return true;
}

void InflightBudget::GiveBack(const std::string& who, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  bytes_ -= bytes;
  const auto found = by_token_.find(who);
  if (found == by_token_.end()) return;
  found->second -= bytes;
  if (found->second == 0) by_token_.erase(found);
}

}  // namespace allot

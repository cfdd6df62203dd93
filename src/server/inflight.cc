#include "server/inflight.h"

namespace allot {
namespace {

// Counted in pieces, so that few reads take the lock.
constexpr std::uint64_t kPieceBytes = 256 * 1024;

}  // namespace

bool InflightBudget::Share::Grow(const std::string& who, std::size_t bytes) {
  if (bytes <= kFreeBytes || bytes <= counted_) return true;
  if (counted_ == 0) who_ = who;
  const std::uint64_t wanted = (bytes + kPieceBytes - 1) / kPieceBytes * kPieceBytes;
  if (!budget_.Take(who_, wanted - counted_)) return false;
  counted_ = wanted;
  return true;
}

void InflightBudget::Share::Clear() {
  if (counted_ == 0) return;
  budget_.GiveBack(who_, counted_);
  counted_ = 0;
}

bool InflightBudget::Take(const std::string& who, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes_ + bytes > kMaxBytes) return false;
  if (!who.empty()) {
    std::uint64_t& of_one = by_token_[who];
    if (of_one + bytes > kMaxBytesOfOne) {
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

// SPDX-License-Identifier: Apache-2.0
#include "engine/budget.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/text.h"
#include "engine/parts.h"

namespace allot {
namespace {

// What a text, a list of texts or a map of values takes beyond its own size.
std::size_t BytesOf(const std::string& text) { return text.size() < 16 ? 0 : MemoryPool::Taken(text.size() + 1); }
template <typename Plain>
requires std::is_trivially_copyable_v<Plain> std::size_t BytesOf(Plain) { return 0; }
std::size_t BytesOf(const std::vector<std::string>& list) {
  std::size_t bytes = list.empty() ? 0 : MemoryPool::Taken(list.size() * sizeof(std::string));
  for (const std::string& text : list) bytes += BytesOf(text);
  return bytes;
}
std::size_t BytesOf(const Properties& pairs) {
  std::size_t bytes = pairs.empty() ? 0 : MemoryPool::Taken(pairs.size() * sizeof(pairs[0]));
  for (const auto& [key, value] : pairs) bytes += BytesOf(key) + BytesOf(value);
  return bytes;
}
std::size_t BytesOf(const Meta& meta) {
  std::size_t bytes = meta.empty() ? 0 : MemoryPool::Taken(meta.size() * sizeof(meta[0]));
  for (const auto& [key, value] : meta) {
    bytes += BytesOf(key);
    if (const auto* text = std::get_if<std::string>(&value)) bytes += BytesOf(*text);
  }
  return bytes;
}
std::size_t BytesOf(const ExprPtr& expr) { return expr ? expr->MemoryBytes() : 0; }

}  // namespace

std::string MemoryText(const MemoryUse& use) {
  std::vector<std::size_t> parts(kMemoryParts);
  std::iota(parts.begin(), parts.end(), 0);
  std::stable_sort(parts.begin(), parts.end(), [&](auto a, auto b) { return use.bytes[a] > use.bytes[b]; });
  std::string text;
  for (const std::size_t part : parts) {
    if (!text.empty() && use.bytes[part] * 100 < use.total()) break;
    text += (text.empty() ? "" : ", ") + std::string(kMemoryWords[part]) + " " + FormatSize(use.bytes[part]);
  }
  return text;
}

MemoryUse Budget::Use() const {
  MemoryUse use;
  use.budget = bytes_;
  const auto at = [&use](MemoryPart part) -> std::uint64_t& { return use.bytes[static_cast<std::size_t>(part)]; };
  at(MemoryPart::kJobs) = p_.memory.jobs.bytes();
  at(MemoryPart::kClasses) = p_.memory.classes.bytes() + p_.jobs.expr_bytes();
  at(MemoryPart::kStrategies) = p_.orders.indices().counted_bytes();
  at(MemoryPart::kLimits) = p_.memory.limits.bytes();
  at(MemoryPart::kDispatch) = p_.memory.dispatch.bytes();
  at(MemoryPart::kWorkers) = p_.memory.workers.bytes();
  at(MemoryPart::kLooks) = p_.memory.looks.bytes();
  return use;
}

bool Budget::Fits(std::uint64_t more) const {
  return bytes_ == 0 || Use().total() + p_.limiting.promised_bytes() + p_.staging.promised_bytes() + more <= bytes_;
}

bool Budget::LooksFit() const { return bytes_ == 0 || Use().total() <= bytes_ + bytes_ / kBudgetReserve; }

Result<void> Budget::Admit(std::uint64_t more, std::string_view what) const {
  if (Fits(more)) return {};
  const MemoryUse use = Use();
  std::string message = "there is no memory for " + std::string(what) + ", which may take " + FormatSize(more) +
                        ": of the queue's budget of " + FormatSize(use.budget) + ", " + FormatSize(use.total()) +
                        " are used: " + MemoryText(use);
  if (p_.orders.uses().size() > 1)
    message += "; there are " + FormatCount(p_.orders.uses().size()) + " strategies in use";
  return Error{Code::kMemoryFull, std::move(message),
               "finish or cancel jobs, let workers share strategies, or raise the queue's memory_budget"};
}

std::uint64_t Budget::MostBytesOf(const JobSpec& spec) const {
  // A job, what it has once it has started, its places in tables and lists, and the timers that it may have.
  constexpr std::size_t kPlaces = 200;
  constexpr std::size_t kClass = 600;
  const std::size_t exprs = BytesOf(spec.requirements) + BytesOf(spec.rank);
  std::size_t bytes = MemoryPool::Taken(sizeof(EngineJob)) + MemoryPool::Taken(sizeof(JobCourse)) + kPlaces +
                      p_.orders.indices().JobBytes();
  bytes += MemoryPool::Taken(sizeof(InternedTerms) + 16) + 64 + BytesOf(spec.tags) + BytesOf(spec.user) + exprs;
  for (const Properties& alternative : spec.constraints) bytes += sizeof(Properties) + BytesOf(alternative);
  std::size_t extras = BytesOf(spec.meta);
  ForEach(kJobDetails, [&](const auto& detail) { extras += BytesOf(spec.*detail.member); });
  bytes += MemoryPool::Taken(sizeof(JobExtras)) + extras;
  // A group of its own, as limits see it.
  if (p_.limits.size() > 0) bytes += kGroupBytes + p_.limits.size() * kChargeBytes;
  // A class of its own: the same folded, with what is read of it.
  return bytes + kClass + p_.classes.kinds().mask_words() * 8 + 2 * exprs + 2 * BytesOf(spec.tags);
}

}  // namespace allot

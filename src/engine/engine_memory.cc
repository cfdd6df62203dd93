// What there is room for: the memory budget, and the shares that users have of classes and strategies.
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/bounds.h"
#include "base/check.h"
#include "base/sampled_kinds.h"
#include "base/sharded_set.h"
#include "base/text.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/pace.h"

namespace allot {
namespace {

// What a text, a list of texts or a map of values takes beyond its own size.
std::size_t BytesOf(const std::string& text) { return text.size() < 16 ? 0 : MemoryPool::Taken(text.size() + 1); }
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

// What limits keep of jobs that look like no other, and for each of them that applies.
constexpr std::uint64_t kGroupBytes = 700;
constexpr std::uint64_t kChargeBytes = 32;

std::string WorkersOf(std::string_view owner) {
  return owner.empty() ? "workers without a token" : "workers of the " + std::string(owner);
}

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

// --- The budget.

MemoryUse Engine::Memory() const {
  MemoryUse use;
  use.budget = memory_budget_;
  const auto at = [&use](MemoryPart part) -> std::uint64_t& { return use.bytes[static_cast<std::size_t>(part)]; };
  at(MemoryPart::kJobs) = memory_.jobs.bytes();
  at(MemoryPart::kClasses) = memory_.classes.bytes() + jobs_.expr_bytes();
  at(MemoryPart::kStrategies) = orders_.counted_bytes();
  at(MemoryPart::kLimits) = memory_.limits.bytes();
  at(MemoryPart::kDispatch) = memory_.dispatch.bytes();
  at(MemoryPart::kWorkers) = memory_.workers.bytes();
  at(MemoryPart::kLooks) = memory_.looks.bytes();
  return use;
}

bool Engine::Fits(std::uint64_t more) const {
  return memory_budget_ == 0 || Memory().total() + PromisedToLimits() + promised_to_staged_ + more <= memory_budget_;
}

bool Engine::LooksFit() const {
  return memory_budget_ == 0 || Memory().total() <= memory_budget_ + memory_budget_ / kBudgetReserve;
}

Result<void> Engine::AdmitMemory(std::uint64_t more, std::string_view what) const {
  if (Fits(more)) return {};
  const MemoryUse use = Memory();
  std::string message = "there is no memory for " + std::string(what) + ", which may take " + FormatSize(more) +
                        ": of the queue's budget of " + FormatSize(use.budget) + ", " + FormatSize(use.total()) +
                        " are used: " + MemoryText(use);
  if (orders_.strategies() > 1) message += "; there are " + FormatCount(orders_.strategies()) + " strategies in use";
  return Error{Code::kMemoryFull, std::move(message),
               "finish or cancel jobs, let workers share strategies, or raise the queue's memory_budget"};
}

std::uint64_t Engine::MostBytesOf(const JobSpec& spec) const {
  // A job, its places in tables and lists, and the timers that it may have.
  constexpr std::size_t kPlaces = 200;
  constexpr std::size_t kClass = 600;
  const std::size_t exprs = BytesOf(spec.requirements) + BytesOf(spec.rank);
  std::size_t bytes = MemoryPool::Taken(sizeof(EngineJob)) + kPlaces + orders_.JobBytes();
  bytes += MemoryPool::Taken(sizeof(JobTerms) + 16) + 64 + BytesOf(spec.tags) + BytesOf(spec.user) + exprs;
  for (const Properties& alternative : spec.constraints) bytes += sizeof(Properties) + BytesOf(alternative);
  const std::size_t extras =
      BytesOf(spec.meta) + BytesOf(spec.payload_prefix) + BytesOf(spec.idempotency_key) + BytesOf(spec.trace);
  bytes += MemoryPool::Taken(sizeof(JobExtras)) + extras;
  // A group of its own, as limits see it.
  if (limits_.size() > 0) bytes += kGroupBytes + limits_.size() * kChargeBytes;
  // A class of its own: the same folded, with what is read of it.
  return bytes + kClass + classes_.mask_words() * 8 + 2 * exprs + 2 * BytesOf(spec.tags);
}

// Limits may come faster than jobs are grouped by them. So the same jobs are looked at until all are: two of them are
// alike if they are alike to each limit that has come since.
Result<void> Engine::AdmitLimit(const LimitSpec& spec) {
  constexpr std::uint64_t kLimitBytes = 16 * 1024;
  constexpr std::size_t kLookedAt = 256;
  if (!spec.expr || memory_budget_ == 0) return AdmitMemory(kLimitBytes, "another limit");
  LimitSample sample = limit_epoch_ == limits_.epoch() ? LimitSample{} : limit_sample_;
  if (sample.jobs.empty()) {
    sample.stride = std::max<std::size_t>(1, jobs_.places() / kLookedAt);
    for (std::size_t i = 0; i < jobs_.places(); i += sample.stride) {
      const EngineJob* job = jobs_.At(i);
      if (job != nullptr && job->open) sample.jobs.emplace_back(job->id(), job->group);
    }
  }
  LimitMatcher matcher;
  matcher.Put(0, spec.expr, spec.cost);
  SampledKinds groups;
  for (auto& [id, seen] : sample.jobs) {
    const EngineJob* job = FindJob(id);
    if (job == nullptr) continue;
    seen = Mixed(seen + Mixed(matcher.AddJob([job] { return AdOf(*job); })));
    groups.Add(seen);
  }
  const auto most = static_cast<double>(sample.jobs.size() * sample.stride);
  const auto after = static_cast<std::uint64_t>(std::min(groups.Estimate(), most));
  const std::uint64_t before = limits_.matcher().groups();
  sample.bytes = after * (kGroupBytes + (limits_.size() + 1) * kChargeBytes) +
                 (after > before ? (after - before) * orders_.JobBytes() : 0);
  const std::uint64_t there = memory_.limits.bytes() + PromisedToLimits();
  auto admitted = AdmitMemory(kLimitBytes + (sample.bytes > there ? sample.bytes - there : 0), "another limit");
  if (admitted) limit_sample_ = std::move(sample);
  return admitted;
}

std::uint64_t Engine::PromisedToLimits() const {
  if (limit_epoch_ == limits_.epoch()) return 0;
  const std::uint64_t there = memory_.limits.bytes();
  return limit_sample_.bytes > there ? limit_sample_.bytes - there : 0;
}

void Engine::RetryOrders() {
  // What was given up is begun again when there is room for it and some more, or nothing is left to wait for.
  if (orders_.given_up() == 0 || !Fits(orders_.given_up() + orders_.given_up() / 2)) return;
  orders_.Resume();
}

// --- Shares of classes.

ClassId Engine::JoinClass(ClassTable::Terms terms, std::string_view user, std::string_view token) {
  MemoryPool::Scope scope(&memory_.classes);
  const std::size_t before = classes_.classes();
  const ClassId cls = classes_.AddJob(std::move(terms));
  if (classes_.classes() == before) return cls;
  if (class_owners_.size() <= cls) class_owners_.resize(cls + 1);
  class_owners_[cls].user = &class_users_.Take(user);
  class_owners_[cls].token = &class_tokens_.Take(token);
  return cls;
}

void Engine::LeaveClass(ClassId cls) {
  MemoryPool::Scope scope(&memory_.classes);
  const std::size_t before = classes_.classes();
  classes_.DropJob(cls);
  if (classes_.classes() == before) return;
  const ClassOwner owner = std::exchange(class_owners_[cls], {});
  class_users_.Give(*owner.user);
  class_tokens_.Give(*owner.token);
}

std::string_view Engine::TokenOf(ClassId cls) const { return class_owners_[cls].token->first; }

Result<void> Engine::AdmitClasses(std::string_view user, std::size_t of_user, std::string_view token,
                                  std::size_t of_token) const {
  if (classes_.classes() + of_user > bounds::kMaxClasses) return TooManyClasses();
  const bool users = class_users_.Admits(user, of_user);
  if (users && (token.empty() || class_tokens_.Admits(token, of_token))) return {};
  const SharePool& pool = users ? class_tokens_ : class_users_;
  const std::string owner = !users ? (user.empty() ? "jobs without a user" : "jobs of the user " + std::string(user))
                                   : "jobs of the token " + std::string(token);
  Error error = TooManyClasses();
  error.message = owner + " differ in " + FormatCount(pool.Of(users ? token : user)) +
                  " ways that decide on their workers, of the " + FormatCount(bounds::kMaxClasses) +
                  " that all in the queue share; what is left is kept for others";
  return error;
}

// --- Shares of strategies.

Result<void> Engine::AdmitStrategies(std::initializer_list<StrategyPtr> strategies,
                                     std::optional<WorkerId> worker) const {
  const EngineWorker* known = worker ? FindWorker(*worker) : nullptr;
  return AdmitStrategies(strategies,
                         known == nullptr ? std::nullopt : std::optional<std::string_view>(known->charged_to));
}

Result<void> Engine::AdmitStrategies(std::initializer_list<StrategyPtr> strategies,
                                     std::optional<std::string_view> owner) const {
  std::size_t count = orders_.strategies(), blocks = orders_.blocks();
  std::size_t fresh = 0, fresh_blocks = 0, fewer = 0, fewer_blocks = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> wanted;
  for (const StrategyPtr& strategy : strategies) {
    if (!strategy) continue;
    std::string text = PrintStrategy(*strategy);
    if (std::find(wanted.begin(), wanted.end(), text) != wanted.end()) continue;
    wanted.push_back(std::move(text));
    if (orders_.Knows(strategy)) continue;
    ++fresh;
    fresh_blocks += CountBlocks(*strategy);
    bytes += orders_.IndexBytes(*strategy);
  }
  if (fresh == 0) return {};
  // What only lingers gives way, unless it is wanted again.
  for (const Lingering& old : lingering_) {
    const Strategy& strategy = *orders_.strategy(old.order);
    const bool again = std::find(wanted.begin(), wanted.end(), PrintStrategy(strategy)) != wanted.end();
    if (orders_.users(old.order) > 1 || again) continue;
    --count;
    blocks -= CountBlocks(strategy);
    if (!owner || order_owners_[old.order].strategies->first != *owner) continue;
    ++fewer;
    fewer_blocks += CountBlocks(strategy);
  }
  if (count + fresh > bounds::kMaxStrategies) {
    return Error{Code::kTooManyStrategies, "the queue's workers use as many different strategies as they may",
                 "let workers share strategies: each different text has an index of its own"};
  }
  if (blocks + fresh_blocks > bounds::kMaxStrategyBlocks) {
    return Error{Code::kTooManyStrategies,
                 "the strategies of the queue's workers have as many words and blocks as they may, in all",
                 "let workers share strategies, or use shorter ones: each block is an index over all jobs"};
  }
  if (owner &&
      (!strategy_owners_.Admits(*owner, fresh, fewer) || !block_owners_.Admits(*owner, fresh_blocks, fewer_blocks))) {
    return Error{Code::kTooManyStrategies,
                 WorkersOf(*owner) + " use " + FormatCount(strategy_owners_.Of(*owner)) +
                     " different strategies with " + FormatCount(block_owners_.Of(*owner)) +
                     " words and blocks, of the " + FormatCount(bounds::kMaxStrategies) + " with " +
                     FormatCount(bounds::kMaxStrategyBlocks) +
                     " that all in the queue share; what is left is kept for others",
                 "let workers share strategies: each different text has an index of its own"};
  }
  return AdmitMemory(bytes, "an order by that strategy over all open jobs");
}

Result<Orders::Id> Engine::UseStrategy(const StrategyPtr& strategy, std::string_view owner) {
  if (const Result<void> admitted = AdmitStrategies({strategy}, owner); !admitted.ok()) return admitted.error();
  const bool fresh = !orders_.Knows(strategy);
  const std::size_t blocks = CountBlocks(*strategy);
  const auto fits = [&] {
    return orders_.strategies() < bounds::kMaxStrategies && orders_.blocks() + blocks <= bounds::kMaxStrategyBlocks &&
           strategy_owners_.Admits(owner) && block_owners_.Admits(owner, blocks);
  };
  while (fresh && !lingering_.empty() && !fits()) {
    UnuseOrder(lingering_.front().order);
    lingering_.pop_front();
  }
  const Orders::Id order = orders_.Use(strategy);
  if (fresh) {
    if (order_owners_.size() <= order) order_owners_.resize(order + 1);
    order_owners_[order] = {&strategy_owners_.Take(owner), &block_owners_.Take(owner, blocks)};
  }
  std::size_t budget = kSmallBudget;  // of a small queue it is ready at once
  if (orders_.Building() && SmallBuild()) StepOrders(budget);
  return order;
}

void Engine::UnuseOrder(Orders::Id order) {
  if (orders_.users(order) == 1) {
    const OrderOwner owner = std::exchange(order_owners_[order], {});
    strategy_owners_.Give(*owner.strategies);
    block_owners_.Give(*owner.blocks, CountBlocks(*orders_.strategy(order)));
  }
  orders_.Unuse(order);
}

}  // namespace allot

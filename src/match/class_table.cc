// SPDX-License-Identifier: Apache-2.0
#include "match/class_table.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/text.h"
#include "match/eligible.h"

namespace allot {
namespace {

using expr::Scope;
using expr::Side;

// How long an attribute that nobody reads any more still tells classes and profiles apart.
constexpr std::int64_t kIdleReadSeconds = 60;
// What a verdict costs, and a step of its expressions.
constexpr std::int64_t kVerdictNanoseconds = 60;
constexpr std::int64_t kStepNanoseconds = 10;
// A new profile for a worker, a kind that is made or taken away, and beside it each class.
constexpr std::int64_t kProfileNanoseconds = 4000;
constexpr std::int64_t kKindNanoseconds = 2000;
constexpr std::int64_t kClassNanoseconds = 10;

std::string LowerName(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = AsciiLower(c);
  return lower;
}

// Does an expression that `my` owns read `side` through that scope? An unscoped name may be on either.
bool Reaches(Scope scope, Side side, Side my) {
  switch (scope) {
    case Scope::kNone:
      return true;
    case Scope::kMy:
      return side == my;
    case Scope::kTarget:
      return side != my;
    case Scope::kJob:
      return side == Side::kJob;
    case Scope::kMachine:
      return side == Side::kMachine;
  }
  return true;
}

template <typename F>
void ForEachRead(const ExprPtr& expr, Side side, Side my, F f) {
  if (!expr) return;
  for (const expr::Reference& reference : expr->References()) {
    if (Reaches(reference.scope, side, my)) f(reference.name);
  }
}

// With its owner's attributes folded in.
ExprPtr FoldOwn(const ExprPtr& expr, const expr::Ad& ad, Side my) {
  if (!expr || !expr->Reads(my, my)) return expr;
  expr::Sides sides;
  (my == Side::kJob ? sides.job : sides.machine) = &ad;
  sides.my = my;
  return expr::Flatten(*expr, sides);
}

void PutTags(ByteWriter& out, const TagList& tags) {
  out.Varint(tags.size());
  for (const std::string& tag : tags) out.Text(tag);
}

void PutPart(ByteWriter& out, const std::shared_ptr<const expr::Ad>& part) {
  if (!part) return;
  part->ForEach([&out](std::string_view name, const expr::Value& value) {
    out.Text(LowerName(name));
    out.Text(expr::Print(value));
  });
}

bool ReadsItself(const ExprPtr& expr) { return expr && expr->Reads(Side::kJob, Side::kJob); }

std::string Printed(const ExprPtr& expr) { return expr ? expr->Print() : std::string(); }

bool UsesTime(const ExprPtr& expr) { return expr && expr->UsesTime(); }

}  // namespace

// --- Verdicts.

ClassTable::Signature ClassTable::SignatureOf(const TagList& tags) {
  Signature signature = 0;
  for (const std::string& tag : tags) signature |= Signature{1} << (std::hash<std::string>()(tag) % 64);
  return signature;
}

Verdict ClassTable::Judge(const Class& cls, const Profile& profile) {
  const Terms& job = cls.terms;
  if ((cls.tags & ~profile.tags_seen) != 0 || cls.epoch < profile.epoch) return {};
  return Eligible(
      {job.tags_, job.constraint_tags_, job.requirements_, job.rank_},
      {profile.tags, profile.constraint_tags, profile.requirements, profile.rank, profile.ad.get()},
      [&job] { return job.ad_.get(); }, time_, evaluator_);
}

std::vector<Verdict> ClassTable::JudgeAll(const Profile& profile, const Pending& known) {
  std::vector<Verdict> verdicts(classes_.size());
  for (ClassId cls = 0; cls < classes_.size(); ++cls) {
    const Class& judged = classes_[cls];
    // Those that nobody was judged by yet match nobody.
    if (judged.members == 0 || judged.pending) continue;
    const bool found = cls < known.found.size() && known.found[cls].second == judged.serial;
    verdicts[cls] = found ? known.found[cls].first : Judge(judged, profile);
  }
  return verdicts;
}

bool ClassTable::Advance(Pending& pending, std::int64_t& budget) {
  const std::size_t end = pending.of_class ? profiles_.size() : classes_.size();
  for (; pending.next < end; ++pending.next) {
    const std::uint32_t other = pending.next;
    if (pending.of_class ? profiles_[other].members == 0 : classes_[other].members == 0) continue;
    if (budget <= 0) return false;
    if (pending.found.size() < end) pending.found.resize(end);
    const std::uint64_t steps = evaluator_.steps();
    const Verdict verdict = pending.of_class ? Judge(classes_[pending.id], profiles_[other])
                                             : Judge(classes_[other], profiles_[pending.id]);
    pending.found[other] = {verdict, pending.of_class ? profiles_[other].serial : classes_[other].serial};
    budget -= kVerdictNanoseconds + static_cast<std::int64_t>(evaluator_.steps() - steps) * kStepNanoseconds;
  }
  return true;
}

bool ClassTable::Apply(const Pending& pending, std::int64_t& budget) {
  if (pending.of_class) {
    if (!JudgeClass(pending.id, pending, budget)) return false;
    classes_[pending.id].pending = false;
    return true;
  }
  const ProfileId id = pending.id;
  const std::vector<Verdict> verdicts = JudgeAll(profiles_[id], pending);
  const KindId kind = kinds_.KindOf(id);
  bool same = true;
  for (ClassId cls = 0; cls < verdicts.size() && same; ++cls) {
    same = classes_[cls].members == 0 || kinds_.Of(kind, cls) == verdicts[cls];
  }
  if (same) return true;
  kinds_.Delist(id);
  kinds_.Enlist(id, profiles_[id].members, verdicts);
  kinds_.changes().moved.push_back(kind);
  budget -= kKindNanoseconds + kClassNanoseconds * static_cast<std::int64_t>(classes_.size());
  return true;
}

bool ClassTable::Settle(std::size_t& budget) {
  std::int64_t left = static_cast<std::int64_t>(budget) * 1000;
  Reprofile(left);
  while (!pending_.empty() && unprofiled_.empty()) {
    Pending& front = pending_.front();
    const bool there = front.of_class ? classes_[front.id].serial == front.serial
                                      : front.id < profiles_.size() && profiles_[front.id].serial == front.serial;
    if (there && (!Advance(front, left) || !Apply(front, left))) break;
    pending_.pop_front();
  }
  Merge(left);
  budget = left <= 0 ? 0 : static_cast<std::size_t>(left / 1000);
  NotifyListener();
  return Settled();
}

bool ClassTable::Reprofile(std::int64_t& budget) {
  for (; !unprofiled_.empty(); unprofiled_.pop_front()) {
    auto& [names, next] = unprofiled_.front();
    for (; next < workers_.size(); ++next) {
      if (!workers_[next].live) continue;
      if (budget <= 0) return false;
      const expr::Ad& ad = *workers_[next].traits->ad;
      if (std::none_of(names.begin(), names.end(), [&](const std::string& f) { return ad.Find(f) != nullptr; })) {
        budget -= kVerdictNanoseconds;
        continue;
      }
      budget -= kProfileNanoseconds;
      // No class that was judged reads it, so no verdict changes: the new profile is of the kind that the old one is
      // of.
      const ProfileId old = workers_[next].profile;
      Attach(next, kinds_.KindOf(old));
      Leave(old);
    }
  }
  return true;
}

bool ClassTable::Merge(std::int64_t& budget) {
  while (!unmerged_.empty()) {
    if (budget <= 0) return false;
    const std::optional<KindId> into = kinds_.MergeLike(unmerged_.back());
    budget -= kVerdictNanoseconds;
    if (into) budget -= kKindNanoseconds + kClassNanoseconds * static_cast<std::int64_t>(classes_.size());
    if (into) {
      unmerged_.back() = *into;
    } else {
      unmerged_.pop_back();
    }
  }
  return true;
}

bool ClassTable::JudgeClass(ClassId cls, const Pending& known, std::int64_t& budget) {
  const auto judge = [&](ProfileId id) {
    const bool found = id < known.found.size() && known.found[id].second == profiles_[id].serial;
    return found ? known.found[id].first : Judge(classes_[cls], profiles_[id]);
  };
  const std::size_t unmerged = unmerged_.size();
  const std::size_t before = kinds_.slots();  // those that are split off have their verdict already
  std::vector<std::uint8_t> fresh(before, 0);
  bool through = true;
  for (KindId kind = 0; kind < before && through; ++kind) {
    if (kinds_.ProfilesOf(kind).empty() || fresh[kind] != 0) continue;
    const Verdict first = judge(kinds_.ProfilesOf(kind).front());
    std::map<std::tuple<bool, double, double>, std::pair<Verdict, std::vector<ProfileId>>> others;
    for (std::size_t i = 1; i < kinds_.ProfilesOf(kind).size(); ++i) {
      const ProfileId id = kinds_.ProfilesOf(kind)[i];
      const Verdict verdict = judge(id);
      if (verdict == first) continue;
      auto& [of, group] = others[{verdict.match, verdict.job_rank, verdict.worker_rank}];
      of = verdict;
      group.push_back(id);
    }
    for (const auto& [key, other] : others) {
      const auto& [verdict, leaving] = other;
      // Those that are left have no verdict of their own yet: it goes on there.
      through = budget > 0;
      if (!through) break;
      budget -= kKindNanoseconds + kClassNanoseconds * static_cast<std::int64_t>(classes_.size());
      const KindId made = kinds_.Split(kind, cls, verdict, leaving);
      if (made < before) fresh[made] = 1;
      unmerged_.push_back(made);
    }
    if (!through || first == kinds_.Of(kind, cls)) continue;
    kinds_.Put(kind, cls, first);
    unmerged_.push_back(kind);
  }
  if (unmerged_.size() > unmerged) changed_classes_.push_back(cls);
  if (through) Merge(budget);
  return through;
}

// --- Jobs.

std::shared_ptr<const expr::Ad> ClassTable::PartRead(const expr::Ad& all, const Reads& reads,
                                                     const ExprPtr& requirements, const ExprPtr& rank, Side side) {
  expr::Ad part;
  const auto keep = [&](const std::string& name) {
    if (const expr::Value* value = all.Find(name)) part.Set(name, *value);
  };
  for (const auto& [lower, read] : reads) keep(read.name);
  ForEachRead(requirements, side, side, keep);
  ForEachRead(rank, side, side, keep);
  return part.empty() ? nullptr : std::make_shared<const expr::Ad>(std::move(part));
}

JobFold FoldJob(const JobTraits& job) {
  JobFold fold{job.requirements, job.rank, {}, {}, {}};
  if (ReadsItself(job.requirements) || ReadsItself(job.rank)) {
    const expr::Ad ad = job.ad();
    fold.requirements = FoldOwn(job.requirements, ad, Side::kJob);
    fold.rank = FoldOwn(job.rank, ad, Side::kJob);
  }
  fold.requirements_text = Printed(fold.requirements);
  fold.rank_text = Printed(fold.rank);
  return fold;
}

ClassTable::Terms ClassTable::TermsOf(const JobTraits& job) const {
  const JobFold made = job.fold == nullptr ? FoldJob(job) : JobFold{};
  const JobFold& fold = job.fold == nullptr ? made : *job.fold;
  Terms terms;
  terms.tags_ = job.tags;
  terms.constraint_tags_ = job.constraint_tags;
  terms.requirements_ = fold.requirements;
  terms.rank_ = fold.rank;
  if (!job_reads_.empty() || ReadsItself(job.requirements) || ReadsItself(job.rank)) {
    const expr::Ad ad = job.ad();
    terms.ad_ = PartRead(ad, job_reads_, terms.requirements_, terms.rank_, Side::kJob);
  }
  ByteWriter out(terms.key_);
  out.Varint(epoch_);
  PutTags(out, terms.tags_);
  PutTags(out, terms.constraint_tags_);
  out.Text(fold.requirements_text);
  out.Text(fold.rank_text);
  PutPart(out, terms.ad_);
  return terms;
}

ClassId ClassTable::AddJob(Terms terms) {
  if (const ClassId* found = class_ids_.Find(terms.key_); found != nullptr) {
    ++classes_[*found].members;
    return *found;
  }
  Class made;
  made.terms = std::move(terms);
  made.epoch = epoch_;
  made.tags = SignatureOf(made.terms.tags_);
  made.timed = UsesTime(made.terms.requirements_) || UsesTime(made.terms.rank_);
  ReadWorkers(made);
  if (free_classes_.empty()) {
    free_classes_.push_back(static_cast<ClassId>(classes_.size()));
    classes_.emplace_back();
    kinds_.AddClass();
  }
  const ClassId cls = free_classes_.back();
  free_classes_.pop_back();
  class_ids_.Insert(made.terms.key_, cls);
  if (made.timed) ++timed_classes_;
  classes_[cls] = std::move(made);
  classes_[cls].members = 1;
  classes_[cls].serial = next_serial_++;
  classes_[cls].pending = true;
  Pending pending{true, cls, classes_[cls].serial, 0, {}};
  const bool first = Reprofile(command_budget_) && pending_.empty();
  if (!first || !Advance(pending, command_budget_) || !Apply(pending, command_budget_)) {
    pending_.push_back(std::move(pending));
  }
  NotifyListener();
  return cls;
}

void ClassTable::DropJob(ClassId cls) {
  Class& dropped = classes_[cls];
  CHECK(dropped.members > 0);
  if (--dropped.members > 0) return;
  const std::size_t unmerged = unmerged_.size();
  for (KindId kind = 0; kind < kinds_.slots(); ++kind) {
    if (!kinds_.Live(kind) || !kinds_.Matches(kind, cls)) continue;
    kinds_.Put(kind, cls, Verdict{});
    unmerged_.push_back(kind);
  }
  const auto unread = [this](const std::string& name) {
    Read& read = worker_reads_.at(LowerName(name));
    if (--read.readers == 0) read.idle_since = time_;
  };
  ForEachRead(dropped.terms.requirements_, Side::kMachine, Side::kJob, unread);
  ForEachRead(dropped.terms.rank_, Side::kMachine, Side::kJob, unread);
  if (dropped.timed) --timed_classes_;
  class_ids_.Erase(dropped.terms.key_);
  dropped = Class{};
  free_classes_.push_back(cls);
  if (unmerged_.size() > unmerged) changed_classes_.push_back(cls);
  Merge(command_budget_);
  NotifyListener();
}

// --- Notifying.

void ClassTable::NotifyListener() {
  const auto each = [](std::vector<std::uint32_t>& ids, auto notify) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (const std::uint32_t id : ids) notify(id);
    ids.clear();
  };
  KindTable::Changes& changes = kinds_.changes();
  if (std::exchange(changes.widened, false)) listener_.OnWidth();
  each(changes.kinds, [this](KindId kind) { listener_.OnKind(kind); });
  each(changed_classes_, [this](ClassId cls) { listener_.OnClass(cls); });
  each(changes.moved, [this](KindId kind) { listener_.OnMoved(kind); });
}

// --- What is read of the other side.

void ClassTable::BeginCommand(std::int64_t seconds, std::int64_t nanoseconds) {
  command_budget_ = nanoseconds;
  if (seconds == time_) return;
  time_ = seconds;
  // Classes that differed in that alone become one again.
  if (Retire(job_reads_, seconds)) ++epoch_;
  Retire(worker_reads_, seconds);
}

bool ClassTable::Retire(Reads& reads, std::int64_t time) {
  for (auto& [name, read] : reads) read.idle_since = std::min(read.idle_since, time);  // the clock may be set back
  return std::erase_if(reads, [time](const auto& entry) {
           return entry.second.readers == 0 && time - entry.second.idle_since >= kIdleReadSeconds;
         }) > 0;
}

std::vector<std::string> ClassTable::FreshReads(const WorkerTraits& traits) const {
  std::vector<std::string> fresh;
  const auto read = [&](const std::string& name) {
    if (!job_reads_.contains(LowerName(name))) fresh.push_back(name);
  };
  ForEachRead(FoldOwn(traits.requirements, *traits.ad, Side::kMachine), Side::kJob, Side::kMachine, read);
  ForEachRead(FoldOwn(traits.rank, *traits.ad, Side::kMachine), Side::kJob, Side::kMachine, read);
  return fresh;
}

void ClassTable::ReadWorkers(const Class& cls) {
  std::vector<std::string> fresh;
  const auto read = [&](const std::string& name) {
    const auto [it, inserted] = worker_reads_.try_emplace(LowerName(name));
    ++it->second.readers;
    if (!inserted) return;
    it->second.name = name;
    if (worker_names_.contains(expr::HashName(name))) fresh.push_back(name);
  };
  ForEachRead(cls.terms.requirements_, Side::kMachine, Side::kJob, read);
  ForEachRead(cls.terms.rank_, Side::kMachine, Side::kJob, read);
  if (!fresh.empty()) unprofiled_.push_back({std::move(fresh), 0});
}

// --- Workers.

void ClassTable::CountNames(const expr::Ad& ad, bool more) {
  ad.ForEach([&](std::string_view name, const expr::Value&) {
    const expr::NameHash hash = expr::HashName(name);
    if (more) {
      ++worker_names_[hash];
    } else if (const auto found = worker_names_.find(hash); --found->second == 0) {
      worker_names_.erase(found);
    }
  });
}

void ClassTable::Fold(Worker& worker) const {
  worker.requirements = FoldOwn(worker.traits->requirements, *worker.traits->ad, Side::kMachine);
  worker.rank = FoldOwn(worker.traits->rank, *worker.traits->ad, Side::kMachine);
}

ClassTable::Handle ClassTable::AddWorker(WorkerTraits traits) {
  CHECK(traits.ad != nullptr);
  if (free_workers_.empty()) {
    free_workers_.push_back(static_cast<Handle>(workers_.size()));
    workers_.emplace_back();
  }
  const Handle handle = free_workers_.back();
  free_workers_.pop_back();
  Worker& worker = workers_[handle];
  worker.traits = std::make_shared<const WorkerTraits>(std::move(traits));
  worker.live = true;
  Fold(worker);
  CountNames(*worker.traits->ad, true);
  Attach(handle);
  NotifyListener();
  return handle;
}

void ClassTable::ChangeWorker(Handle handle, WorkerTraits traits) {
  CHECK(traits.ad != nullptr);
  Worker& worker = workers_[handle];
  kinds_.changes().moved.push_back(KindOf(handle));
  CountNames(*traits.ad, true);
  CountNames(*worker.traits->ad, false);
  Detach(handle);
  worker.traits = std::make_shared<const WorkerTraits>(std::move(traits));
  Fold(worker);
  Attach(handle);
  NotifyListener();
}

void ClassTable::DropWorker(Handle handle) {
  Worker& worker = workers_[handle];
  Detach(handle);
  CountNames(*worker.traits->ad, false);
  worker = Worker{};
  free_workers_.push_back(handle);
  NotifyListener();
}

ClassTable::Profile ClassTable::ProfileOf(const Worker& worker) const {
  Profile profile;
  profile.tags = worker.traits->tags;
  profile.constraint_tags = worker.traits->constraint_tags;
  profile.requirements = worker.requirements;
  profile.rank = worker.rank;
  profile.ad = PartRead(*worker.traits->ad, worker_reads_, worker.requirements, worker.rank, Side::kMachine);
  profile.tags_seen = SignatureOf(profile.tags);
  profile.timed = UsesTime(profile.requirements) || UsesTime(profile.rank);
  ByteWriter out(profile.key);
  PutTags(out, profile.tags);
  PutTags(out, profile.constraint_tags);
  out.Text(Printed(profile.requirements));
  out.Text(Printed(profile.rank));
  PutPart(out, profile.ad);
  return profile;
}

void ClassTable::Attach(Handle handle, std::optional<KindId> kind) {
  const ProfileId old = workers_[handle].profile;
  Profile made = ProfileOf(workers_[handle]);
  if (const auto found = profile_ids_.find(made.key); found != profile_ids_.end()) {
    workers_[handle].profile = found->second;
    ++profiles_[found->second].members;
    kinds_.AddWorkers(found->second, 1);
    return;
  }
  bool fresh = false;
  const auto read = [&](const std::string& name) {
    const auto [it, inserted] = job_reads_.try_emplace(LowerName(name));
    if (inserted) {
      it->second.name = name;
      it->second.since = epoch_ + 1;
      fresh = true;
    }
    ++it->second.readers;
    made.epoch = std::max(made.epoch, it->second.since);
  };
  ForEachRead(made.requirements, Side::kJob, Side::kMachine, read);
  ForEachRead(made.rank, Side::kJob, Side::kMachine, read);
  if (fresh) ++epoch_;
  if (made.timed) ++timed_profiles_;
  made.members = 1;
  made.serial = next_serial_++;
  if (free_profiles_.empty()) {
    free_profiles_.push_back(static_cast<ProfileId>(profiles_.size()));
    profiles_.emplace_back();
  }
  const ProfileId id = free_profiles_.back();
  free_profiles_.pop_back();
  profile_ids_.emplace(made.key, id);
  profiles_[id] = std::move(made);
  workers_[handle].profile = id;
  if (kind) {
    kinds_.Join(id, 1, *kind);
    // Verdicts that are being looked for are looked for it too.
    bool waits = false;
    for (Pending& pending : pending_) {
      if (pending.of_class) {
        pending.next = std::min(pending.next, id);
      } else {
        waits = waits || (pending.id == old && pending.serial == profiles_[old].serial);
      }
    }
    if (waits) pending_.push_back({false, id, profiles_[id].serial, 0, {}});
    return;
  }
  Pending pending{false, id, profiles_[id].serial, 0, {}};
  if (Advance(pending, command_budget_)) return kinds_.Enlist(id, 1, JudgeAll(profiles_[id], pending));
  // It matches nothing until all is known.
  kinds_.Enlist(id, 1, std::vector<Verdict>(classes_.size()));
  pending_.push_back(std::move(pending));
}

void ClassTable::Detach(Handle handle) { Leave(workers_[handle].profile); }

void ClassTable::Leave(ProfileId id) {
  Profile& profile = profiles_[id];
  if (--profile.members > 0) return kinds_.AddWorkers(id, -1);
  kinds_.Delist(id);
  const auto unread = [this](const std::string& name) {
    Read& read = job_reads_.at(LowerName(name));
    if (--read.readers == 0) read.idle_since = time_;
  };
  ForEachRead(profile.requirements, Side::kJob, Side::kMachine, unread);
  ForEachRead(profile.rank, Side::kJob, Side::kMachine, unread);
  if (profile.timed) --timed_profiles_;
  profile_ids_.erase(profile.key);
  profile = Profile{};
  free_profiles_.push_back(id);
}

// --- Time.

void ClassTable::Renew() {
  // What was found at another time is not true any more; the others' share of it is renewed with the other side.
  for (Pending& pending : pending_) {
    pending.next = 0;
    pending.found.clear();
  }
  for (ClassId cls = 0; timed_classes_ > 0 && cls < classes_.size(); ++cls) {
    if (classes_[cls].timed && !classes_[cls].pending) pending_.push_back({true, cls, classes_[cls].serial, 0, {}});
  }
  for (ProfileId id = 0; timed_profiles_ > 0 && id < profiles_.size(); ++id) {
    if (profiles_[id].timed) pending_.push_back({false, id, profiles_[id].serial, 0, {}});
  }
}

std::size_t ClassTable::MemoryBytes() const {
  constexpr std::size_t kMapEntry = 48;
  std::size_t bytes = kinds_.MemoryBytes() + classes_.size() * sizeof(Class) + profiles_.capacity() * sizeof(Profile) +
                      workers_.capacity() * sizeof(Worker);
  const auto tags = [](const TagList& list) { return list.capacity() * sizeof(std::string); };
  for (const Class& cls : classes_) {
    if (cls.members == 0) continue;
    const Terms& terms = cls.terms;
    bytes += kMapEntry + 2 * terms.key_.capacity() + tags(terms.tags_) + tags(terms.constraint_tags_);
    for (const ExprPtr& expr : {terms.requirements_, terms.rank_}) bytes += expr ? expr->MemoryBytes() : 0;
    if (terms.ad_) bytes += terms.ad_->MemoryBytes();
  }
  for (const auto& [key, id] : profile_ids_) {
    bytes += kMapEntry + 2 * key.capacity() + tags(profiles_[id].tags) + tags(profiles_[id].constraint_tags);
  }
  return bytes;
}

}  // namespace allot

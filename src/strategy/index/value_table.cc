// SPDX-License-Identifier: Apache-2.0
#include "strategy/index/value_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "strategy/weights.h"

namespace allot {
GroupText TextOf(const MetaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return "s" + *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return "i" + std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("r{}", *real + 0.0);
  return std::get<bool>(value) ? "btrue" : "bfalse";
}

KeyId ValueTable::Use(const StrategyKey& key, const std::string& tag, bool fair) {
  KeyId free = static_cast<KeyId>(keys_.size());
  for (KeyId id = 0; id < keys_.size(); ++id) {
    if (keys_[id].users == 0) {
      free = id;
    } else if (keys_[id].key == key && keys_[id].tag == tag && (keys_[id].fair || !fair)) {
      ++keys_[id].users;
      return id;
    }
  }
  if (free == keys_.size()) keys_.emplace_back();
  Key& made = keys_[free];
  made.key = key;
  made.tag = tag;
  made.fair = fair;
  made.users = 1;
  made.fresh = true;
  made.values.Make(kNoValue);
  made.end = kNoValue + 1;
  made.values[kNoValue].served = LastServed(key, std::nullopt);
  used_.push_back(free);
  return free;
}

void ValueTable::Unuse(KeyId key) {
  CHECK(keys_[key].users > 0);
  if (--keys_[key].users > 0) return;
  left_.push_back(std::exchange(keys_[key], Key{}));
  std::erase(used_, key);
}

bool ValueTable::Clean(std::size_t& budget) {
  constexpr std::size_t kPageCost = 16;        // its values are empty, but many
  constexpr std::size_t kCounted = 64 * 1024;  // bytes, that cost as much when the system has them back
  while (!left_.empty() && budget > 0) {
    // The table of ids refers to values without asking them.
    Key& key = left_.back();
    if (key.end > 0) {
      Value& value = key.values[key.end - 1];
      if (!value.others || value.others->Shrink(128)) {
        value = Value{};
        --key.end;
      }
    } else if (key.values.DropPage()) {
      budget -= std::min(budget - 1, kPageCost);
    } else if (const std::size_t bytes = key.ids.DropTable(); bytes > 0) {
      if (bytes < kCounted) continue;  // little is for nothing
      budget -= std::min(budget - 1, bytes / kCounted * kPageCost);
    } else if (!key.of_slot.DropPage()) {
      left_.pop_back();
    }
    --budget;
  }
  return left_.empty();
}

GroupText ValueTable::TextFor(const Key& key, const PickJob& job) const {
  if (key.tag.empty()) return job_keys_.Get(job, key.key);
  return job_keys_.HasTag(job, key.tag) ? GroupText("btrue") : std::nullopt;
}

std::uint32_t ValueTable::WeightOf(const Key& key, const std::string& text) const {
  if (weights_.empty() || text.empty()) return 1;
  const auto found = weights_.find(WeightName(key.key, std::string_view(text).substr(1)));
  return found == weights_.end() ? 1 : found->second;
}

ValueId ValueTable::Intern(Key& key, const std::string& text) {
  const std::uint64_t hash = HashOf(text);
  const ValueId* found = key.ids.Find(hash, [&](ValueId id) { return key.values[id].text == text; });
  if (found != nullptr) return *found;
  if (key.free.empty()) {
    key.values.Make(key.end);
    key.free.push_back(key.end++);
  }
  const ValueId made = key.free.back();
  key.free.pop_back();
  key.values[made].text = text;
  key.values[made].weight = WeightOf(key, text);
  // The same key may be there twice, with and without `fair`: what the one remembers, the other must not forget.
  if (key.fresh && key.tag.empty()) key.values[made].served = LastServed(key.key, text);
  key.ids.Insert(hash, made);
  return made;
}

void ValueTable::Release(Key& key, ValueId value) {
  if (value == kNoValue) return;
  Value& left = key.values[value];
  CHECK(left.members > 0);
  if (--left.members > 0) return;
  key.ids.Erase(HashOf(left.text), [&](ValueId id) { return id == value; });
  left = Value{};
  key.free.push_back(value);
}

ValueId ValueTable::Pin(KeyId key, const std::string& text) {
  const ValueId value = Intern(keys_[key], text);
  ++keys_[key].values[value].members;
  return value;
}

void ValueTable::Know(KeyId id, const PickJob& job) {
  Key& key = keys_[id];
  const GroupText text = TextFor(key, job);
  const ValueId value = text ? Intern(key, *text) : kNoValue;
  key.of_slot.Make(job.slot) = value;
  Value& entry = key.values[value];
  if (value != kNoValue) ++entry.members;
  entry.running += job.running + job.unapplied_returns;
  if (job.picked.serial <= entry.served.serial) return;
  entry.served = job.picked;
  entry.first = {};
  entry.others.reset();
}

void ValueTable::Forget(KeyId id, const PickJob& job) {
  Key& key = keys_[id];
  const ValueId value = Of(id, job);
  key.values[value].running -= job.running + job.unapplied_returns;
  Release(key, value);
}

std::optional<ValueId> ValueTable::Remember(KeyId id, const PickJob& job) {
  Key& key = keys_[id];
  const GroupText text = TextFor(key, job);
  ValueId value = kNoValue;
  if (text) {
    const ValueId* found = key.ids.Find(HashOf(*text), [&](ValueId known) { return key.values[known].text == *text; });
    if (found == nullptr) return std::nullopt;
    value = *found;
  }
  Value& entry = key.values[value];
  if (job.picked.serial <= entry.served.serial) return std::nullopt;
  entry.served = job.picked;
  entry.first = {};
  entry.others.reset();
  return value;
}

ValueId ValueTable::Started(KeyId id, const PickJob& job, const Stamp& at) {
  const ValueId value = Of(id, job);
  Value& entry = keys_[id].values[value];
  ++entry.running;
  entry.served = at;
  entry.first = {};
  entry.others.reset();
  return value;
}

ValueId ValueTable::Returned(KeyId id, const PickJob& job, std::uint32_t count) {
  const ValueId value = Of(id, job);
  CHECK(keys_[id].values[value].running >= count);
  keys_[id].values[value].running -= count;
  return value;
}

bool ValueTable::Open(KeyId id, const PickJob& job) {
  if (!keys_[id].fair) return false;
  Value& value = keys_[id].values[Of(id, job)];
  if (value.served.serial != 0) return false;
  const Stamp before = value.Served();
  std::pair<std::uint64_t, std::int64_t> behind{job.id().value, ToMillis(job.submitted_at)};
  if (value.first.first == 0 || behind.first < value.first.first) std::swap(behind, value.first);
  if (behind.first != 0) {
    if (!value.others) value.others = std::make_unique<Waiting>();
    value.others->Insert(behind.first, behind.second);
  }
  return value.Served() != before;
}

bool ValueTable::Close(KeyId id, const PickJob& job) {
  if (!keys_[id].fair) return false;
  Value& value = keys_[id].values[Of(id, job)];
  if (value.served.serial != 0) return false;
  const Stamp before = value.Served();
  if (value.first.first != job.id().value) {
    value.others->Erase(job.id().value);
  } else if (value.others) {
    value.first = value.others->Front();
    value.others->Erase(value.first.first);
  } else {
    value.first = {};
  }
  if (value.others && value.others->empty()) value.others.reset();
  return value.Served() != before;
}

std::vector<std::pair<KeyId, ValueId>> ValueTable::SetWeights(std::unordered_map<std::string, std::uint32_t> weights) {
  const std::unordered_map<std::string, std::uint32_t> before = std::exchange(weights_, std::move(weights));
  std::vector<std::pair<KeyId, ValueId>> changed;
  // A name says nothing of the value's type: any of them.
  const auto look = [&](const std::string& name) {
    const std::size_t dot = name.find('.');
    const StrategyKey named = MakeStrategyKey(name.substr(0, dot));
    for (const KeyId id : used_) {
      Key& key = keys_[id];
      if (!(key.key == named) || !key.tag.empty()) continue;
      for (const char type : {'s', 'i', 'r', 'b'}) {
        const std::string text = type + name.substr(dot + 1);
        const ValueId* value =
            key.ids.Find(HashOf(text), [&](ValueId known) { return key.values[known].text == text; });
        if (value == nullptr || key.values[*value].weight == WeightOf(key, text)) continue;
        key.values[*value].weight = WeightOf(key, text);
        changed.emplace_back(id, *value);
      }
    }
  };
  for (const auto& [name, weight] : before) {
    if (!weights_.contains(name)) look(name);
  }
  for (const auto& [name, weight] : weights_) {
    const auto known = before.find(name);
    if (known == before.end() || known->second != weight) look(name);
  }
  return changed;
}

Stamp ValueTable::LastServed(const StrategyKey& named, const GroupText& text) const {
  const Key* best = nullptr;
  for (const Key& key : keys_) {
    if (key.users == 0 || key.fresh || !key.tag.empty() || !(key.key == named)) continue;
    if (best == nullptr || key.fair) best = &key;
  }
  if (best == nullptr) return {};
  if (!text) return best->values[kNoValue].served;
  const ValueId* found = best->ids.Find(HashOf(*text), [&](ValueId id) { return best->values[id].text == *text; });
  return found == nullptr ? Stamp{} : best->values[*found].served;
}

std::size_t ValueTable::MemoryBytes() const {
  std::size_t bytes = 0;
  const auto count = [&bytes](const Key& key) {
    bytes += key.values.MemoryBytes() + key.ids.MemoryBytes() + key.of_slot.MemoryBytes();
    for (ValueId value = 0; key.users > 0 && value < key.end; ++value) {
      const Value& entry = key.values[value];
      if (entry.text.capacity() > 15) bytes += entry.text.capacity();
      if (entry.others) bytes += entry.others->MemoryBytes();
    }
  };
  for (const Key& key : keys_) count(key);
  for (const Key& key : left_) count(key);
  return bytes;
}

}  // namespace allot

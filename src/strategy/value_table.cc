#include "strategy/value_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "strategy/weights.h"

namespace allot {
namespace {

bool Later(const std::pair<std::uint64_t, std::int64_t>& a, const std::pair<std::uint64_t, std::int64_t>& b) {
  return a.first > b.first;
}

}  // namespace

GroupText TextOf(const MetaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return "s" + *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return "i" + std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("r{}", *real + 0.0);
  return std::get<bool>(value) ? "btrue" : "bfalse";
}

KeyId ValueTable::Use(const StrategyKey& key, const std::string& tag) {
  KeyId free = static_cast<KeyId>(keys_.size());
  for (KeyId id = 0; id < keys_.size(); ++id) {
    if (keys_[id].users == 0) {
      free = id;
    } else if (keys_[id].key == key && keys_[id].tag == tag) {
      ++keys_[id].users;
      return id;
    }
  }
  if (free == keys_.size()) keys_.emplace_back();
  Key& made = keys_[free];
  made.key = key;
  made.tag = tag;
  made.users = 1;
  made.fresh = true;
  made.values.resize(1);  // kNoValue
  return free;
}

void ValueTable::Unuse(KeyId key) {
  CHECK(keys_[key].users > 0);
  if (--keys_[key].users == 0) keys_[key] = Key{};
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
  const auto [it, fresh] = key.ids.try_emplace(text, 0);
  if (fresh) {
    if (key.free.empty()) {
      key.free.push_back(static_cast<ValueId>(key.values.size()));
      key.values.emplace_back();
    }
    it->second = key.free.back();
    key.free.pop_back();
    key.values[it->second].text = text;
    key.values[it->second].weight = WeightOf(key, text);
  }
  return it->second;
}

void ValueTable::Release(Key& key, ValueId value) {
  if (value == kNoValue) return;
  Value& left = key.values[value];
  CHECK(left.members > 0);
  if (--left.members > 0) return;
  key.ids.erase(left.text);
  left = Value{};
  key.free.push_back(value);
}

ValueId ValueTable::Pin(KeyId key, const std::string& text) {
  const ValueId value = Intern(keys_[key], text);
  ++keys_[key].values[value].members;
  return value;
}

ValueId ValueTable::Of(KeyId key, const PickJob& job) const {
  const GroupText text = TextFor(keys_[key], job);
  if (!text) return kNoValue;
  const auto found = keys_[key].ids.find(*text);
  CHECK(found != keys_[key].ids.end());
  return found->second;
}

void ValueTable::Know(KeyId id, const PickJob& job) {
  Key& key = keys_[id];
  const GroupText text = TextFor(key, job);
  const ValueId value = text ? Intern(key, *text) : kNoValue;
  Value& entry = key.values[value];
  if (value != kNoValue) ++entry.members;
  entry.leased += job.leased;
  if (job.picked.serial > entry.served.serial) entry.served = job.picked;
}

void ValueTable::Forget(KeyId id, const PickJob& job) {
  Key& key = keys_[id];
  const ValueId value = Of(id, job);
  key.values[value].leased -= job.leased;
  Release(key, value);
}

ValueId ValueTable::Leased(KeyId id, const PickJob& job, const Stamp& at) {
  const ValueId value = Of(id, job);
  Value& entry = keys_[id].values[value];
  ++entry.leased;
  entry.served = at;
  entry.first = {};
  entry.waits = {};
  return value;
}

ValueId ValueTable::Returned(KeyId id, const PickJob& job) {
  const ValueId value = Of(id, job);
  CHECK(keys_[id].values[value].leased > 0);
  --keys_[id].values[value].leased;
  return value;
}

void ValueTable::Settle(Value& value) {
  while (!value.first.empty() && !value.waits.contains(value.first.front().first)) {
    std::pop_heap(value.first.begin(), value.first.end(), Later);
    value.first.pop_back();
  }
}

bool ValueTable::Open(KeyId id, const PickJob& job) {
  Value& value = keys_[id].values[Of(id, job)];
  if (value.served.serial != 0) return false;
  const Stamp before = value.Served();
  if (value.waits.insert(job.id().value).second) {
    if (value.first.size() > 64 + 2 * value.waits.size()) {
      std::erase_if(value.first, [&](const auto& entry) { return !value.waits.contains(entry.first); });
      std::make_heap(value.first.begin(), value.first.end(), Later);
    }
    value.first.emplace_back(job.id().value, ToMillis(job.submitted_at));
    std::push_heap(value.first.begin(), value.first.end(), Later);
  }
  Settle(value);
  return value.Served() != before;
}

bool ValueTable::Close(KeyId id, const PickJob& job) {
  Value& value = keys_[id].values[Of(id, job)];
  if (value.served.serial != 0) return false;
  const Stamp before = value.Served();
  value.waits.erase(job.id().value);
  Settle(value);
  return value.Served() != before;
}

void ValueTable::SetWeights(std::unordered_map<std::string, std::uint32_t> weights) {
  weights_ = std::move(weights);
  for (Key& key : keys_) {
    for (Value& value : key.values) value.weight = WeightOf(key, value.text);
  }
}

Stamp ValueTable::LastServed(const StrategyKey& named, const GroupText& text) const {
  for (const Key& key : keys_) {
    if (key.users == 0 || key.fresh || !key.tag.empty() || !(key.key == named)) continue;
    if (!text) return key.values[kNoValue].served;
    const auto found = key.ids.find(*text);
    return found == key.ids.end() ? Stamp{} : key.values[found->second].served;
  }
  return {};
}

std::size_t ValueTable::MemoryBytes() const {
  std::size_t bytes = 0;
  for (const Key& key : keys_) {
    bytes += key.values.size() * sizeof(Value) + key.ids.size() * 80;
    for (const Value& value : key.values) bytes += value.first.capacity() * 16 + value.waits.size() * 32;
  }
  return bytes;
}

}  // namespace allot

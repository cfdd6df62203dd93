// SPDX-License-Identifier: Apache-2.0
#include "server/wire/grants_json.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "server/wire/reply_json.h"

namespace allot {
namespace {

constexpr std::size_t kGrantsAtOnce = 256;  // whose payloads are read in one go

using PayloadRead = Result<std::optional<std::string>>;

// The payloads of grants in order, read as many at once as fit into a message.
class PayloadsInOrder {
 public:
  PayloadsInOrder(Store& store, std::span<const Grant> grants, std::size_t max_bytes)
      : store_(store), grants_(grants), max_bytes_(max_bytes) {}

  // Of the next grant that has one of that kind; neighbours mostly are of one job, and share what is for all its tasks.
  // It stays until the next one is asked for.
  PayloadRead& Next() {
    if (next_ == payloads_.size()) Read();
    ++read_;
    return payloads_[next_++];
  }

  // The kinds of payloads that a grant needs, when its neighbour before had what is for all tasks of `common_of`.
  static void Keys(const Grant& grant, JobId& common_of, std::vector<Store::PayloadKey>& out) {
    if (grant.payload.common && common_of != grant.payload.set) {
      common_of = grant.payload.set;
      out.push_back({grant.payload.set, kCommonPayload});
    }
    if (grant.payload.per_task) out.push_back({grant.payload.set, static_cast<std::int64_t>(grant.task.index)});
  }

 private:
  void Read() {
    // Those behind what was read so far.
    if (read_ == keys_.size()) {
      keys_.clear();
      keys_.reserve(std::min(grants_.size() * 2, kGrantsAtOnce + 1));
      read_ = 0;
      while (!grants_.empty() && keys_.size() < kGrantsAtOnce) {
        Keys(grants_.front(), common_of_, keys_);
        grants_ = grants_.subspan(1);
      }
    }
    payloads_ = store_.ReadPayloads(std::span(keys_).subspan(read_), max_bytes_);
    next_ = 0;
  }

  Store& store_;
  std::span<const Grant> grants_;  // whose keys are not among keys_ yet
  const std::size_t max_bytes_;
  JobId common_of_;
  std::vector<Store::PayloadKey> keys_;
  std::size_t read_ = 0;  // of keys_, were given out
  std::vector<PayloadRead> payloads_;
  std::size_t next_ = 0;
};

}  // namespace

Result<std::size_t> AppendGrants(Store& store, const GrantList& list, std::size_t begin, std::size_t max_bytes,
                                 GrantTexts& out) {
  const std::vector<Grant>& grants = list.grants;
  auto header = list.headers.begin();
  while (header != list.headers.end() && header->first < begin) ++header;
  PayloadsInOrder payloads(store, std::span(grants).subspan(begin), max_bytes);
  JobId common_of;
  PayloadRead common = std::optional<std::string>();
  bool first = true;
  std::size_t i = begin;
  for (; i < grants.size() && (i == begin || out.tasks.size() + out.headers.size() < max_bytes); ++i) {
    const Grant& grant = grants[i];
    if (header != list.headers.end() && header->first == i) {
      if (!out.headers.empty()) out.headers.push_back(',');
      AppendJobHeader(header++->second, out.headers);
    }
    if (grant.payload.common && common_of != grant.payload.set) {
      common = std::move(payloads.Next());
      common_of = grant.payload.set;
    }
    const PayloadRead* const own = grant.payload.per_task ? &payloads.Next() : nullptr;
    const Error* error = nullptr;
    if (grant.payload.common && !common) error = &common.error();
    if (error == nullptr && own != nullptr && !*own) error = &own->error();
    if (error != nullptr) {
      if (error->code != Code::kStoreCorrupt) return *error;
      out.damaged.push_back({grant.task, error->message});
      continue;
    }
    GrantPayloads texts;
    if (grant.payload.common && common->has_value()) texts.common = **common;
    if (own != nullptr && (*own)->has_value()) texts.own = ***own;
    if (!first) out.tasks.push_back(',');
    first = false;
    AppendAssignment(grant, texts, out.tasks);
  }
  return i;
}

}  // namespace allot

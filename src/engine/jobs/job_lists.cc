// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/job_lists.h"

#include <boost/container/small_vector.hpp>

#include "base/check.h"

namespace allot {
namespace {

using JobKeyList = boost::container::small_vector<JobBlocks::Key, 16>;

void AppendKeys(const JobTerms& terms, JobKeyList& keys) {
  keys.push_back(JobBlocks::UserKey(terms.user));
  for (const std::string& tag : terms.tags) keys.push_back(JobBlocks::TagKey(tag));
}

}  // namespace

JobFilter::JobFilter(std::optional<JobState> state, std::string_view tag, std::string_view user, bool open)
    : tag_(tag), user_(user) {
  want_.state = state;
  want_.open = open;
  if (!user.empty()) want_.keys.push_back(JobBlocks::UserKey(user));
  if (!tag.empty()) want_.keys.push_back(JobBlocks::TagKey(tag));
}

JobFilter JobFilter::OpenOf(const UserTable::Entry& user) {
  JobFilter filter(std::nullopt, {}, user.name, true);
  filter.entry_ = &user;
  return filter;
}

bool JobFilter::Finds(const EngineJob& job) {
  if (want_.open && !job.open) return false;
  if (want_.state && job.state != *want_.state) return false;
  if (entry_ != nullptr) return job.user == entry_;
  if (user_.empty() && tag_.empty()) return true;
  if (job.terms.get() != seen_) {
    seen_ = job.terms.get();
    found_ = (user_.empty() || seen_->user == user_) &&
             (tag_.empty() || std::binary_search(seen_->tags.begin(), seen_->tags.end(), tag_));
  }
  return found_;
}

void JobLists::Append(const EngineJob& job, std::size_t place) {
  JobKeyList keys;
  // Jobs that come one after the other often have their terms in common.
  if (job.terms != listed_ || blocks_.Full(place)) {
    AppendKeys(*job.terms, keys);
    listed_ = job.terms;
  }
  blocks_.Append(job.id(), place, job.state, keys);
  job.block = static_cast<std::uint32_t>(blocks_.size() - 1);
}

void JobLists::AddKeys(const EngineJob& job) {
  JobKeyList keys;
  AppendKeys(*job.terms, keys);
  blocks_.AddKeys(job.id(), keys, job.block);
}

void JobLists::SetOpen(const EngineJob& job, bool open) {
  const std::size_t block = blocks_.SetOpen(job.id(), open, job.block);
  if (open) oldest_block_ = std::min(oldest_block_, block);
}

void JobLists::Compact() {
  blocks_.Compact();
  listed_.reset();
  oldest_block_ = 0;
}

void JobLists::Renew(std::size_t block) const {
  JobKeyList keys;
  const JobTerms* last = nullptr;
  for (std::size_t place = blocks_.begin(block); place < EndOf(block); ++place) {
    const EngineJob* job = jobs_.At(place);
    if (job == nullptr || job->terms.get() == last) continue;
    last = job->terms.get();
    AppendKeys(*last, keys);
  }
  blocks_.Renew(block, keys);
  listed_.reset();
}

const EngineJob* JobLists::Oldest() const {
  // The block is what is known; within it there are few.
  oldest_block_ = blocks_.NextOpen(oldest_block_);
  if (oldest_block_ >= blocks_.size()) return nullptr;
  for (std::size_t place = blocks_.begin(oldest_block_); place < EndOf(oldest_block_); ++place) {
    if (const EngineJob* job = jobs_.At(place); job != nullptr && job->open) return job;
  }
  CHECK(false);  // the block has one
  return nullptr;
}

}  // namespace allot

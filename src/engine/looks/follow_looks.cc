// SPDX-License-Identifier: Apache-2.0
#include "engine/looks/follow_looks.h"

#include <algorithm>
#include <bit>

#include "engine/errors.h"
#include "engine/parts.h"

namespace allot {
namespace {

// A look compares so many pages by their counts, and reads the bits of so many.
constexpr std::uint32_t kPagesAtOnce = 4096;
constexpr std::uint32_t kPagesReadAtOnce = 32;

// The tasks of a page that have ended; false, at once, where these are no more than `known`.
bool EndsOfPage(const EngineJob& job, std::uint32_t page, std::uint32_t known, PageBits& done, PageBits& failed,
                PageBits& all) {
  if (!Ended(job.state)) {
    if (!job.tasks.EndsOf(page, known, done, failed)) return false;
    for (std::uint32_t w = 0; w < kPageWords; ++w) all[w] = done[w] | failed[w];
    return true;
  }
  const std::uint32_t tasks = std::min(job.tasks.count() - page * kPageTasks, kPageTasks);
  if (known >= tasks) return false;
  if (!job.tasks.EndsOf(page, 0, done, failed)) {
    done.fill(0);
    failed.fill(0);
  }
  all.fill(0);
  SetPrefix(all.data(), tasks);
  return true;
}

}  // namespace

Result<JobHeaderView> FollowLooks::Header(JobId id) const {
  const EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  JobHeaderView header;
  header.id = id;
  const std::shared_ptr<const JobTerms> terms = job->terms->View();
  header.tags = {terms, terms->tags};
  if (job->extras) header.meta = job->extras->meta;
  header.user = job->terms->user;
  return header;
}

Result<FollowLooks::Ends> FollowLooks::TakeEnds(JobId id, ResultsReader& reader, std::size_t most, bool news) const {
  const EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  Ends ends;
  const std::uint32_t pages = job->tasks.pages();
  if (news) reader.clean = 0;
  if (job->reviving || (reader.ended && !Ended(job->state))) reader.checked = reader.clean = 0;
  reader.ended = Ended(job->state);
  std::uint32_t compared = 0, read = 0;
  PageBits done, failed, all;
  // Also where it wants no more: that there is no more is worth knowing.
  while (reader.clean < pages && compared < kPagesAtOnce && read < kPagesReadAtOnce) {
    const std::uint32_t page = reader.page;
    const std::uint32_t known = reader.sent.SizeOfPage(page);
    const bool check = reader.checked < pages && known > 0;
    bool whole = true;
    ++compared;
    if (EndsOfPage(*job, page, check ? 0 : known, done, failed, all)) {
      ++read;
      PageBits sent{}, fresh{};
      reader.sent.OrPageInto(page, sent);
      if (check) {
        for (std::uint32_t w = 0; w < kPageWords; ++w) sent[w] &= all[w];
        reader.sent.ErasePage(page);
        reader.sent.AddPage(page, sent);
      }
      for (std::uint32_t w = 0; w < kPageWords && whole; ++w) {
        for (std::uint64_t rest = all[w] & ~sent[w]; rest != 0; rest &= rest - 1) {
          if (ends.tasks.size() == most) {
            whole = false;
            break;
          }
          const auto bit = static_cast<std::uint32_t>(std::countr_zero(rest));
          fresh[w] |= std::uint64_t{1} << bit;
          const std::uint32_t i = w * 64 + bit;
          const TaskState state = TestBit(done.data(), i)     ? TaskState::kDone
                                  : TestBit(failed.data(), i) ? TaskState::kFailed
                                                              : TaskState::kSkipped;
          ends.tasks.push_back({page * kPageTasks + i, state});
        }
      }
      reader.sent.AddPage(page, fresh);
    } else if (check) {
      reader.sent.ErasePage(page);
    }
    if (!whole) break;
    reader.page = page + 1 == pages ? 0 : page + 1;
    ++reader.clean;
    if (reader.checked < pages) ++reader.checked;
  }
  if (reader.clean < pages) {
    ends.more = More::kMaybe;
  } else if (Ended(job->state)) {
    ends.more = More::kEnd;
  }
  return ends;
}

}  // namespace allot

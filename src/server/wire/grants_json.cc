#include "server/wire/grants_json.h"

#include <optional>
#include <utility>

#include "server/wire/reply_json.h"

namespace allot {

Result<std::size_t> AppendGrants(Store& store, const std::vector<Grant>& grants, std::size_t begin,
                                 std::size_t max_bytes, std::string& out, std::vector<DamagedGrant>& damaged) {
  JobId common_of;
  std::optional<std::string> common;
  bool first = true;
  std::size_t i = begin;
  for (; i < grants.size() && (i == begin || out.size() < max_bytes); ++i) {
    const Grant& grant = grants[i];
    GrantPayloads payloads;
    if (grant.payload.common) {
      // Neighbours are mostly of one job.
      if (common_of != grant.payload.set) {
        Result<std::optional<std::string>> read = store.ReadPayload(grant.payload.set, kCommonPayload);
        if (!read.ok() && read.error().code != Code::kStoreCorrupt) return read.error();
        if (!read.ok()) {
          damaged.push_back({grant.task, read.error().message});
          continue;
        }
        common = std::move(*read);
        common_of = grant.payload.set;
      }
      if (common) payloads.common = *common;
    }
    std::optional<std::string> own;
    if (grant.payload.per_task) {
      Result<std::optional<std::string>> read = store.ReadPayload(grant.payload.set, grant.task.index);
      if (!read.ok() && read.error().code != Code::kStoreCorrupt) return read.error();
      if (!read.ok()) {
        damaged.push_back({grant.task, read.error().message});
        continue;
      }
      own = std::move(*read);
      if (own) payloads.own = *own;
    }
    if (!first) out.push_back(',');
    first = false;
    AppendAssignment(grant, payloads, out);
  }
  return i;
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// From a request's target to valid types: percent-decoding, and the parameters of every list.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/job.h"
#include "base/result.h"
#include "engine/looks/views.h"

namespace allot {

// The decoded parts of a path between its slashes: `/v1/queues/a%2Fb` → v1, queues, a/b. kBadRequest if it does not
// decode.
Result<std::vector<std::string>> SplitPath(std::string_view path);

// A query's parameters. Empty values (`state=`) count as not given.
class Query {
 public:
  // kUnknownField, with the nearest one, for a parameter that is not in `known`; kBadValue for one that comes twice.
  static Result<Query> Parse(std::string_view query, std::span<const std::string_view> known);

  std::optional<std::string_view> Get(std::string_view name) const;
  // Decimal digits within [min, max]; kBadValue otherwise.
  Result<std::optional<std::uint64_t>> Number(std::string_view name, std::uint64_t min, std::uint64_t max) const;
  // `true`, `false`; false if not given.
  Result<bool> Flag(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

inline constexpr std::size_t kDefaultPageItems = 100;

// state, tag, user, before, limit.
Result<JobQuery> ParseJobQuery(std::string_view query);

// state, from, limit; `job` is the caller's.
Result<TaskQuery> ParseTaskQuery(std::string_view query);

// from, limit, wait_ms.
struct ResultsQuery {
  TaskIndex from = 0;
  std::size_t limit = kDefaultPageItems;
  milliseconds wait{0};
};
Result<ResultsQuery> ParseResultsQuery(std::string_view query);

// after, limit.
struct WorkersQuery {
  std::optional<WorkerId> after;
  std::size_t limit = kDefaultPageItems;
};
Result<WorkersQuery> ParseWorkersQuery(std::string_view query);

struct ShowQuery {
  milliseconds wait{0};
  bool payload = false;
};
Result<ShowQuery> ParseShowQuery(std::string_view query);
Result<bool> ParseForceQuery(std::string_view query);  // force
Result<void> ParseNoQuery(std::string_view query);     // nothing

}  // namespace allot

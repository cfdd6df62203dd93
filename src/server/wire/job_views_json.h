// SPDX-License-Identifier: Apache-2.0
// A job's tasks seen from afar, as the protocol's JSON: their picture, and their errors in groups.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/looks/views.h"
#include "server/wire/error_groups.h"

namespace allot {

struct PictureQuery {
  TaskIndex from = 0;
  TaskIndex to = 0;  // 0: the end of the job
  std::size_t parts = 200;
};
Result<PictureQuery> ParsePictureQuery(std::string_view query);
void AppendPicture(JobId job, const TaskPicture& picture, std::string& out);

struct ErrorsQuery {
  TaskIndex from = 0;
  std::size_t limit = 1000;
};
Result<ErrorsQuery> ParseErrorsQuery(std::string_view query);
inline constexpr std::size_t kMaxErrorGroups = 100;
void AppendErrorGroups(JobId job, const ErrorGroups& groups, std::optional<TaskIndex> next, std::string& out);

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// Results of tasks, as answers and messages have them. Inner header of the codecs.
#pragma once

#include "client/fields.h"
#include "wire/tasks.h"

namespace allotter::json_in {

template <>
struct FieldsOf<TaskResult> {
  static constexpr auto kRows =
      RowsOf<TaskResult, wire::kResult>(In<&TaskResult::index>("index"), In<&TaskResult::state>("state"),
                                        InRaw<&TaskResult::result>("result"), In<&TaskResult::error>("error"));
};

}  // namespace allotter::json_in

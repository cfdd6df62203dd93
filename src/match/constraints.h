// SPDX-License-Identifier: Apache-2.0
// Constraint tags: `c:gpu=a100,mem=high` for a set of declared properties.
//
// A worker has the tag of every subset of its properties; a job has one tag for each of its alternatives, and may run
// where one of them is among the worker's. Values are percent-encoded, so that two different sets never have one tag.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/job.h"
#include "base/result.h"

namespace allot {

// `c:` and then key=value pairs in the order of their keys. REQUIRES: sorted by key.
std::string ConstraintTag(const Properties& properties);
// The tags that a worker generates: of every subset of its properties, `c:` included, sorted.
// REQUIRES: at most bounds::kMaxPropertyKeys of them.
std::vector<std::string> ConstraintTags(const Properties& properties);
// One tag per alternative, sorted and without duplicates. Empty for a job without constraints.
std::vector<std::string> ConstraintTags(const std::vector<Properties>& alternatives);
// Reads such a tag back. kBadValue with the reason.
Result<Properties> ParseConstraintTag(std::string_view tag);

// Puts them into order. kBadValue for a key that is not declared (the message names the nearest that is), that stands
// twice or is not a key at all, and for a value that is empty or too long.
Result<void> CheckProperties(Properties& properties, std::span<const std::string> declared);
// The same for a job's alternatives. An empty one means any worker, and so do all of them then: the list becomes empty.
Result<void> CheckConstraints(std::vector<Properties>& alternatives, std::span<const std::string> declared);
// Is this a key that a queue may declare? Letters, digits and `_`, not beginning with a digit; kBadValue with the
// reason. Keys are told apart by case, but two that differ in case alone cannot be declared together.
Result<void> CheckPropertyKeys(std::span<const std::string> keys, std::size_t max_keys);

// The names that every job and every worker shows to expressions; meta and attributes may not have them.
bool IsBuiltInJobName(std::string_view name);     // User Tags Priority Async Tasks
bool IsBuiltInWorkerName(std::string_view name);  // Name Tags Slots

}  // namespace allot

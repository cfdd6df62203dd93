// SPDX-License-Identifier: Apache-2.0
// What a strategy would give, as the protocol's JSON: the question, and the answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "engine/looks/preview_walk.h"
#include "server/wire/request_json.h"

namespace allot {

inline constexpr std::uint32_t kMaxPreviewPicks = 100;

// `{"strategy": …, "policy": …, "worker": "id" or {…}, "count": 20}`. As in request_json.h.
Result<PreviewRequest> ParsePreview(std::string_view json, const Vocabulary& vocabulary);

// What a job has under a key, as JSON of its type; null where it has nothing.
void AppendGroup(const GroupText& value, JsonWriter& w);
// The blocks on the way of a pick, under the key `why`; and all picks, under `picks`.
void AppendWhy(const std::vector<PreviewStep>& why, JsonWriter& w);
void AppendPicks(const PreviewWalk& walk, JsonWriter& w);

// Appends the answer. Of jobs that `to` may not see it tells no more than that they come there.
void AppendPreview(const PreviewWalk& walk, Duration took, std::string& out);

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// Every parser of the edge on any bytes: no crash, no read out of bounds, and what comes out valid is within its
// bounds. The first byte chooses the parser, so that the corpus stays useful for each.
#include <cstdint>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "base/bounds.h"
#include "base/check.h"
#include "base/json.h"
#include "match/constraints.h"
#include "server/wire/demand_json.h"
#include "server/wire/limit_json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"

namespace {

using namespace allot;

bool IsJson(std::string_view text) {
  simdjson::dom::parser parser;
  const auto error = parser.parse(text.data(), text.size()).error();
  // Numbers that fit none of its types are JSON all the same.
  return error == simdjson::SUCCESS || error == simdjson::NUMBER_ERROR;
}

void CheckError(const Error& error) {
  CHECK(!error.message.empty());
  CHECK(error.code != Code::kInternal);
  CHECK(error.message.size() < 2'000);
}

void CheckJob(const JobRequest& request, std::string_view text) {
  CHECK(request.spec.tags.size() <= bounds::kMaxTagsPerJob);
  CHECK(request.spec.meta.size() <= bounds::kMaxMetaPairs);
  CHECK(request.spec.constraints.size() <= bounds::kMaxAlternatives);
  for (const Properties& alternative : request.spec.constraints) {
    const auto back = ParseConstraintTag(ConstraintTag(alternative));
    CHECK(back.ok() && *back == alternative && !alternative.empty());
  }
  CHECK(IsUtf8(request.spec.user) && request.spec.user.size() <= bounds::kMaxUserBytes);
  CHECK(request.payload.empty() || IsJson(request.payload));
  for (const std::string_view payload : request.payloads) {
    CHECK(IsJson(payload));
    CHECK(payload.data() >= text.data() && payload.data() + payload.size() <= text.data() + text.size());
  }
}

void AnyLimit(std::string_view text) {
  const auto limit = ParseLimit(text);
  if (limit.ok()) {
    CHECK(CheckLimit(*limit).ok());
  } else {
    CheckError(limit.error());
  }
  const auto renewal = ParseLimitRenewal(text);
  if (renewal.ok()) CHECK(!*renewal || **renewal > Duration::zero());
  const auto question = ParseLimitTry(text);
  if (question.ok()) CHECK(question->expr != nullptr);
}

void AnyQuery(std::string_view text) {
  (void)SplitPath(text);
  for (const auto& error : {ParseJobQuery(text).ok(), ParseTaskQuery(text).ok(), ParseResultsQuery(text).ok(),
                            ParseWorkersQuery(text).ok(), ParseShowQuery(text).ok(), ParseForceQuery(text).ok(),
                            ParseLimitQuery(text).ok(), ParseDemandQuery(text).ok()}) {
    (void)error;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of exactly this size, so that a read past the end is seen.
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  SpecOptions options;
  options.now = FromMillis(1'800'000'000'000);
  options.stream = (data[0] & 0x80) != 0;
  options.property_keys = [] { return std::make_shared<const PropertyKeys>(PropertyKeys{"a", "gpu", "mem"}); };
  switch (data[0] % 8) {
    case 0: {
      auto request = ParseJobSpec(text, options);
      if (request.ok()) {
        CheckJob(*request, text);
        HashContent(*request);
      } else {
        CheckError(request.error());
      }
      break;
    }
    case 1: {
      const auto batch = ParseBatch(text, options);
      if (!batch.ok()) CheckError(batch.error());
      if (batch.ok()) {
        for (const JobRequest& request : *batch) CheckJob(request, text);
      }
      break;
    }
    case 2: {
      const auto line = ValidateJsonLine(text);
      if (line.ok()) CHECK(IsJson(*line));
      break;
    }
    case 3: {
      WorkerMessage message;
      const auto parsed = ParseWorkerMessage(
          text, MessageOptions{.http = (data[0] & 0x40) != 0, .vocabulary = {options.property_keys, nullptr}}, message);
      if (!parsed.ok()) {
        CheckError(parsed.error());
        break;
      }
      for (const DoneEntry& entry : message.done) CHECK(entry.result.empty() || IsJson(entry.result));
      for (const FailedEntry& entry : message.failed)
        CHECK(entry.error.size() <= bounds::kMaxErrorBytes && IsUtf8(entry.error));
      break;
    }
    case 4:
      (void)ParseHello(text, (data[0] & 0x40) != 0, {options.property_keys, nullptr}).ok();
      (void)ParseWorkerPatch(text, {options.property_keys, nullptr}).ok();
      break;
    case 5:
      (void)ParseJobChange(text, options.now, options.property_keys).ok();
      break;
    case 6:
      (void)ParseQueueCreate(text).ok();
      (void)ParseQueueChange(text).ok();
      (void)ParseWaitMessage(text).ok();
      (void)ParseKeyBody(text).ok();
      (void)ParseEmptyBody(text).ok();
      AnyLimit(text);
      if (const auto check = ParseStrategyCheck(text, nullptr); check.ok()) {
        CHECK(CheckStrategy(*check->strategy, check->policy).empty());
      } else {
        CheckError(check.error());
      }
      break;
    default:
      AnyQuery(text);
  }
  return 0;
}

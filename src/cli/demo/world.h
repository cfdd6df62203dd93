// SPDX-License-Identifier: Apache-2.0
// Who is in the world of `allot demo`: its users, what their tasks are like, and the workers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace allot::cli::demo {

// What a task of a tag is like to its worker.
struct Trade {
  std::string_view tag;
  int least_ms, most_ms;  // how long a task takes
  double failing = 0;     // the part of attempts that fail
  std::span<const std::string_view> errors = {};
  std::string_view result;  // JSON
};
// Null for a tag that nobody here works at.
const Trade* FindTrade(std::string_view tag);

// Somebody who submits jobs of one tag, again and again.
struct Producer {
  std::string_view user, tag;
  std::uint64_t least_tasks, most_tasks;  // of a job
  int every_ms;                           // at most
  std::size_t most_open;                  // jobs that have not ended; no further one before
  std::string_view more;                  // members of the job's spec, `,"priority":5`
};
std::span<const Producer> Producers();

struct Machine {
  std::string_view name;
  std::span<const std::string_view> tags;
  std::uint32_t slots;
  std::string_view zone;  // a property
  std::int64_t memory;    // an attribute, in MB
};
std::span<const Machine> Machines();

// Bodies of requests: the queue's settings, and the one limit.
inline constexpr std::string_view kSettings =
    R"json({"settings":{"policy":"fair(user, worker)","property_keys":["zone"]}})json";
inline constexpr std::string_view kLimitId = "demo-mail-provider";
inline constexpr std::string_view kLimit =
    R"json({"tag":"emails","name":"mail provider: 8 a second","expr":"member(\"emails\", MY.Tags)",)json"
    R"json("count":8,"window_ms":1000,"expires_in_ms":300000})json";

}  // namespace allot::cli::demo

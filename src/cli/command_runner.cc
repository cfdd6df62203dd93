// SPDX-License-Identifier: Apache-2.0
#include "cli/command_runner.h"

#include <cstring>

#include "base/bounds.h"
#include "base/text.h"
#include "cli/text/payload_text.h"

namespace allot::cli {

ProcessSpec ProcessFor(const CommandOptions& options, const allotter::Assignment& assignment) {
  ProcessSpec spec;
  spec.argv = options.argv;
  spec.pass_stderr = options.pass_stderr;
  spec.max_output = bounds::kMaxResultBytes;
  spec.max_error_tail = bounds::kMaxErrorBytes / 2;
  spec.input = JsonToBytes(assignment.payload);
  if (!options.raw) spec.input.push_back('\n');
  const auto set = [&](const char* name, const std::string& value) {
    // The environment cannot hold a NUL, and a name from outside must not end early.
    if (value.find('\0') == std::string::npos) spec.variables.push_back(std::string(name) + "=" + value);
  };
  set("ALLOT_JOB", assignment.task.job);
  set("ALLOT_INDEX", std::to_string(assignment.task.index));
  set("ALLOT_ATTEMPT", std::to_string(assignment.attempt));
  set("ALLOT_LEASE", assignment.task.lease);
  set("ALLOT_COUNT", std::to_string(assignment.count));
  set("ALLOT_QUEUE", options.queue);
  if (!assignment.payload_prefix.empty()) set("ALLOT_PAYLOAD_PREFIX", assignment.payload_prefix);
  if (!assignment.job_payload.empty() && assignment.job_payload.size() <= 64 * 1024) {
    set("ALLOT_JOB_PAYLOAD", JsonToBytes(assignment.job_payload));
  }
  if (!assignment.trace.empty()) {
    set("ALLOT_TRACEPARENT", assignment.trace);
    set("TRACEPARENT", assignment.trace);
  }
  return spec;
}

allotter::Outcome OutcomeOf(const CommandOptions& options, ProcessEnd&& end) {
  using allotter::Outcome;
  if (end.signal != 0 || end.status != 0) {
    std::string error = end.signal != 0 ? "killed by signal " + std::to_string(end.signal)
                                        : "exit status " + std::to_string(end.status);
    if (const char* name = end.signal != 0 ? ::sigabbrev_np(end.signal) : nullptr)
      error += std::string(" (SIG") + name + ")";
    while (!end.error_tail.empty() && (end.error_tail.back() == '\n' || end.error_tail.back() == '\r'))
      end.error_tail.pop_back();
    if (!end.error_tail.empty()) error += ": " + end.error_tail;
    return end.signal == 0 && end.status == options.final_status ? Outcome::Rejected(std::move(error))
                                                                 : Outcome::Failed(std::move(error));
  }
  if (end.output_cut) return Outcome::Rejected("the output is over " + FormatSize(bounds::kMaxResultBytes));
  if (end.output.ends_with('\n')) end.output.pop_back();
  if (end.output.empty()) return Outcome::Done();
  if (!options.json_result) return Outcome::Done(BytesToJson(end.output));
  if (!IsJson(end.output)) return Outcome::Failed("the output is not JSON");
  return Outcome::Done(std::move(end.output));
}

}  // namespace allot::cli

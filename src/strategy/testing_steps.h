// SPDX-License-Identifier: Apache-2.0
// All that a step of a pick tells, in a line, for tests.
#pragma once

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "strategy/preview.h"

namespace allot::testing {

// Without `picks` it does not matter that something happened by a pick of the preview, and not before.
inline std::string StepText(const PreviewStep& step, bool picks) {
  std::ostringstream out;
  const auto put = [&](const char* name, const auto& what) {
    if (what) out << " " << name << "=" << *what;
  };
  const auto moment = [&](const char* name, const std::optional<PreviewMoment>& what) {
    if (what) out << " " << name << "=" << what->ms << (what->never ? " never" : "");
    if (what && picks) out << " pick=" << what->pick;
  };
  out << StrategyWord(step.block) << (step.own ? " own" : "") << " key=" << step.key.name;
  put("value", step.value);
  put("running", step.running);
  put("max", step.max);
  put("percent", step.percent);
  put("slots", step.slots);
  put("level", step.level);
  put("weight", step.weight);
  moment("served", step.served);
  out << " branch=" << step.branch << "/" << step.branches;
  put("rank", step.rank);
  put("priority", step.priority);
  put("scheduled", step.scheduled);
  put("submitted", step.submitted);
  moment("picked", step.picked);
  put("candidates", step.candidates);
  if (picks || (!step.served && !step.picked)) out << ": " << step.text;
  return out.str();
}

inline std::string StepText(const std::vector<PreviewStep>& steps, bool picks = true) {
  std::string out;
  for (const PreviewStep& step : steps) out += StepText(step, picks) + "\n";
  return out;
}

}  // namespace allot::testing

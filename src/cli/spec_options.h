// SPDX-License-Identifier: Apache-2.0
// A job's spec, and changes to it, from the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "allotter/types.h"
#include "base/result.h"

namespace allot::cli {

// Durations as people write them, in whole milliseconds. kBadValue names the option.
Result<std::optional<std::chrono::milliseconds>> DurationOption(std::string_view option, const std::string& text);
// `2026-01-31T10:00[:00]`, `2026-01-31 10:00`, with `Z` for UTC; `10:00` for the next such time; `@1700000000` seconds
// since 1970. As of `now_ms`; local time unless it says so.
Result<std::int64_t> ParseTime(const std::string& text, std::int64_t now_ms);
// `key=value`: 12 is an integer, 1.5 a real, true and false are booleans, everything else, and whatever stands in
// quotes, is a string.
Result<std::pair<std::string, allotter::MetaValue>> ParseMeta(const std::string& text,
                                                              std::string_view option = "--meta");
// `customer=acme, size=12`, so that every pair could be given again as an option.
std::string MetaText(const allotter::Meta& meta);
// `key=value`, whose value is a text, whatever it looks like.
Result<std::pair<std::string, std::string>> ParseProperty(std::string_view option, const std::string& text);
// The constraints of all, and for each alternative its own besides: `gpu=a100,mem=high`, percent-encoded as in tags.
Result<std::vector<allotter::Properties>> ToConstraints(const std::vector<std::string>& constraints,
                                                        const std::vector<std::string>& alternatives);
// For options that hold an expression: an empty one was surely meant to be something, and would hold for every worker.
CLI::Validator GivenExpression();
// kBadValue with a picture that points at the place. An empty text is none, and good.
Result<void> CheckExpression(std::string_view name, const std::string& text);

struct SpecOptions {
  allotter::JobSpec spec;  // what can be taken as it is given
  std::vector<std::string> meta, constraints, alternatives;
  std::string delay, at, backoff_first, backoff_max, lease, timeout, retention;
  bool sync = false;
};
void AddSpecOptions(CLI::App& command, SpecOptions& options);
Result<allotter::JobSpec> ToSpec(const SpecOptions& options);

struct ChangeOptions {
  std::vector<std::string> tags, meta, constraints, alternatives;
  std::string requirements, rank;
  std::string priority;  // a number, or `none`
  std::string delay, at;
  bool no_tags = false, no_meta = false, no_constraints = false, no_requirements = false, no_rank = false;
};
void AddChangeOptions(CLI::App& command, ChangeOptions& options);
// kBadValue if nothing is to be changed.
Result<allotter::JobChange> ToChange(const ChangeOptions& options);

}  // namespace allot::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/worker_options.h"

#include "cli/spec_options.h"

namespace allot::cli {

void AddWorkerDescription(CLI::App& command, WorkerDescription& o) {
  const std::string group = "Matching";
  command.add_option("-t,--tag", o.tags, "A tag that the worker has; may be repeated")
      ->type_name("TAG")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--property", o.properties, "A property of it, of the keys that the queue declares; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--attribute", o.attributes,
                  "What jobs' expressions see: a number, true, false or text; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--requirements", o.requirements, "An expression: only jobs for which it is true")
      ->type_name("EXPR")
      ->check(GivenExpression())
      ->group(group);
  command.add_option("--rank", o.rank, "An expression: jobs for which it is highest come first")
      ->type_name("EXPR")
      ->check(GivenExpression())
      ->group(group);
  command
      .add_option("--strategy", o.strategy,
                  "Which tasks first, as in 'fair' or 'max_simultaneous(customer, 5, oldest)'")
      ->type_name("STRATEGY")
      ->check(CLI::Validator(
          [](std::string& text) { return text.empty() ? std::string("a strategy must not be empty") : std::string(); },
          ""))
      ->group("Order");
}

Result<allotter::WorkerChange> ToWorkerChange(const WorkerDescription& o) {
  allotter::WorkerChange change;
  if (!o.tags.empty()) change.tags = o.tags;
  if (!o.properties.empty()) {
    auto& properties = change.properties.emplace();
    for (const std::string& text : o.properties) {
      auto pair = ParseProperty("--property", text);
      if (!pair) return pair.error();
      properties.push_back(std::move(*pair));
    }
  }
  if (!o.attributes.empty()) {
    auto& attributes = change.attributes.emplace();
    for (const std::string& text : o.attributes) {
      auto pair = ParseMeta(text, "--attribute");
      if (!pair) return pair.error();
      attributes.push_back(std::move(*pair));
    }
  }
  if (!o.requirements.empty()) change.requirements = o.requirements;
  if (!o.rank.empty()) change.rank = o.rank;
  if (!o.strategy.empty()) change.strategy = o.strategy;
  for (const auto& [name, text] : {std::pair("requirements", &o.requirements), std::pair("rank", &o.rank)}) {
    if (auto checked = CheckExpression(name, *text); !checked) return checked.error();
  }
  return change;
}

void AddWorkerChangeOptions(CLI::App& command, WorkerChangeOptions& o) {
  AddWorkerDescription(command, o.to);
  const std::string group = "Matching";
  command.add_flag("--no-tags", o.no_tags, "No tags")->group(group);
  command.add_flag("--no-properties", o.no_properties, "No properties")->group(group);
  command.add_flag("--no-attributes", o.no_attributes, "No attributes")->group(group);
  command.add_flag("--no-requirements", o.no_requirements, "No requirements: any job")->group(group);
  command.add_flag("--no-rank", o.no_rank, "No rank")->group(group);
  command.add_flag("--no-strategy", o.no_strategy, "The default strategy, priority")->group("Order");
}

Result<allotter::WorkerChange> ToWorkerChange(const WorkerChangeOptions& o) {
  auto change = ToWorkerChange(o.to);
  if (!change) return change;
  const auto both = [](const char* flag, const char* option) {
    return Error{Code::kBadValue, std::string(flag) + " and " + option + " exclude each other", ""};
  };
  if (o.no_tags && change->tags) return both("--no-tags", "--tag");
  if (o.no_properties && change->properties) return both("--no-properties", "--property");
  if (o.no_attributes && change->attributes) return both("--no-attributes", "--attribute");
  if (o.no_requirements && change->requirements) return both("--no-requirements", "--requirements");
  if (o.no_rank && change->rank) return both("--no-rank", "--rank");
  if (o.no_strategy && change->strategy) return both("--no-strategy", "--strategy");
  if (o.no_tags) change->tags.emplace();
  if (o.no_properties) change->properties.emplace();
  if (o.no_attributes) change->attributes.emplace();
  if (o.no_requirements) change->requirements.emplace();
  if (o.no_rank) change->rank.emplace();
  if (o.no_strategy) change->strategy.emplace();
  if (change->empty()) {
    return Error{Code::kBadValue, "nothing to change was named", "`allot worker set --help` lists what can be changed"};
  }
  return change;
}

}  // namespace allot::cli

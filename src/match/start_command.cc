// SPDX-License-Identifier: Apache-2.0
#include "match/start_command.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "match/explain_conditions.h"

namespace allot {
namespace {

// In one command; what is beyond is said in words.
constexpr std::size_t kMostAttributes = 8;
constexpr std::size_t kMostClauses = 3;

bool Plain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./:=@%+,-").find(c) != std::string_view::npos;
  });
}

// As one word of a shell.
std::string Word(std::string_view text) {
  if (Plain(text)) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A text that the command line would take for something else is put into quotes.
std::string AttributeText(const expr::Value& value) {
  if (!value.is(expr::Type::kString)) return expr::Print(value);
  const std::string text(value.string());
  const bool word = !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_') &&
                    Plain(text) && !expr::SameName(text, "true") && !expr::SameName(text, "false");
  return word ? text : "\"" + text + "\"";
}

bool IsBuiltIn(std::string_view name) {
  return expr::SameName(name, "Name") || expr::SameName(name, "Tags") || expr::SameName(name, "Slots");
}

// A value for which the comparison is true; none: it has no simple one.
std::optional<expr::Value> Meeting(std::string_view op, const expr::Value& constant) {
  if (op == "==" || op == "=?=" || op == "is") {
    const bool scalar = constant.is(expr::Type::kString) || constant.is(expr::Type::kBoolean) || constant.IsNumber();
    return scalar ? std::optional(constant) : std::nullopt;
  }
  if (!constant.IsNumber()) return std::nullopt;
  if (op == ">=" || op == "<=") return constant;
  if (op != ">" && op != "<") return std::nullopt;
  const int step = op == ">" ? 1 : -1;
  if (constant.is(expr::Type::kInteger)) {
    std::int64_t next = 0;
    if (__builtin_add_overflow(constant.integer(), std::int64_t{step}, &next)) return std::nullopt;
    return expr::Value::Integer(next);
  }
  return expr::Value::Real(constant.real() + step);
}

class Command {
 public:
  explicit Command(const WorkerNeeds& needs) : needs_(needs), clauses_(ClausesOf(needs.requirements)) {
    std::vector<expr::Value> tags;
    for (const std::string& tag : needs.tags) tags.push_back(expr::Value::String(tag));
    worker_.Set("Tags", expr::Value::List(tags));
    worker_.Set("Slots", expr::Value::Integer(1));
    if (!needs.constraints.empty()) {
      for (const auto& [key, value] : needs.constraints.front()) worker_.Set(key, expr::Value::String(value));
    }
    for (const ExprPtr& clause : clauses_) Meet(*clause);
  }

  std::string Text() {
    std::string out = "allot work";
    for (const std::string& tag : needs_.tags) out += " --tag " + Word(tag);
    if (!needs_.constraints.empty()) {
      for (const auto& [key, value] : needs_.constraints.front()) out += " --property " + Word(key + "=" + value);
    }
    for (const auto& [name, value] : attributes_) out += " --attribute " + Word(name + "=" + value);
    if (slots_ > 1) out += fmt::format(" -j {}", slots_);
    return out + " -- COMMAND" + Rest();
  }

 private:
  bool Holds(const expr::Expr& clause) {
    return evaluator_.True(clause, expr::Sides{needs_.job, &worker_, expr::Side::kJob, 0});
  }

  void Meet(const expr::Expr& clause) {
    if (attributes_.size() >= kMostAttributes || Holds(clause)) return;
    // What the job itself shows is a constant here.
    const ExprPtr folded = expr::Flatten(clause, expr::Sides{needs_.job, nullptr, expr::Side::kJob, 0});
    const auto comparison = (folded ? *folded : clause).AsComparison();
    if (!comparison || !ReachesWorker(comparison->attribute.scope, expr::Side::kJob)) return;
    const std::string& name = comparison->attribute.name;
    const std::optional<expr::Value> value = Meeting(comparison->op, comparison->constant);
    if (!value) return;
    if (expr::SameName(name, "Slots") && value->is(expr::Type::kInteger) && value->integer() > 1 &&
        value->integer() <= 10'000) {
      slots_ = value->integer();
      worker_.Set("Slots", *value);
      return;
    }
    // What is given already, by another clause or as a property, stays as it is.
    if (IsBuiltIn(name) || worker_.Find(name) != nullptr) return;
    worker_.Set(name, *value);
    attributes_.emplace_back(name, AttributeText(*value));
  }

  // The clauses that are not true for this worker.
  std::string Rest() {
    std::string out;
    std::size_t left = 0;
    for (const ExprPtr& clause : clauses_) {
      if (Holds(*clause)) continue;
      if (++left > kMostClauses) return out + ", …";
      out += fmt::format("{} `{}`", left == 1 ? ", on a machine for which this is true:" : ",", Cut(clause->source()));
    }
    return out;
  }

  const WorkerNeeds& needs_;
  const std::vector<ExprPtr> clauses_;
  expr::Ad worker_;
  expr::Evaluator evaluator_;
  std::vector<std::pair<std::string, std::string>> attributes_;
  std::int64_t slots_ = 1;
};

}  // namespace

std::string StartCommand(const WorkerNeeds& needs) { return Command(needs).Text(); }

}  // namespace allot

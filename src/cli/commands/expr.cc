// SPDX-License-Identifier: Apache-2.0
// allot expr eval|flatten|refs: expressions without a server, one at a time or one per line of stdin.
#include "expr/expr.h"

#include <simdjson.h>

#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/text/ad_json.h"
#include "expr/parser.h"

namespace allot::cli {
namespace {

struct ExprOptions {
  std::string text, my, target;
  std::string owner = "job";
  std::int64_t time = 0;
  bool batch = false;
};

// One expression and what is known of the sides.
struct Question {
  expr::ExprPtr expr;
  std::shared_ptr<const expr::Ad> my, target;  // null: not known
  expr::Side owner = expr::Side::kJob;
  std::int64_t time = 0;

  expr::Sides Sides() const {
    const bool job = owner == expr::Side::kJob;
    return {(job ? my : target).get(), (job ? target : my).get(), owner, time};
  }
};

struct Answer {
  std::string json;
  std::string text;  // for people; of several lines for refs
};

// Why there is no answer. A place is known where the expression does not parse.
struct Fault {
  Error error;
  std::optional<std::size_t> offset;
};

using Ask = std::function<Answer(const Question&)>;

std::string ToJson(const Fault& fault) {
  std::string out;
  JsonWriter w(out);
  w.BeginObject().Key("error").BeginObject();
  w.Key("code").String(CodeText(fault.error.code)).Key("message").String(fault.error.message);
  if (!fault.error.hint.empty()) w.Key("hint").String(fault.error.hint);
  if (fault.offset) w.Key("offset").Uint(*fault.offset);
  w.EndObject().EndObject();
  return out;
}

Answer Typed(std::string text, std::string_view type) {
  Answer answer;
  JsonWriter(answer.json).BeginObject().Key("value").String(text).Key("type").String(type).EndObject();
  answer.text = std::move(text);
  return answer;
}

Answer Eval(expr::Evaluator& evaluator, const Question& question) {
  const expr::Value value = evaluator.Evaluate(*question.expr, question.Sides());
  return Typed(Print(value), TypeText(value.type()));
}

Answer FlattenIt(const Question& question) {
  const expr::ExprPtr residual = Flatten(*question.expr, question.Sides());
  const auto constant = residual->Constant();
  return Typed(residual->Print(), constant ? TypeText(constant->type()) : "expression");
}

Answer Refs(const Question& question) {
  static constexpr std::pair<const char*, expr::Scope> kScopes[] = {{"my", expr::Scope::kMy},
                                                                    {"target", expr::Scope::kTarget},
                                                                    {"job", expr::Scope::kJob},
                                                                    {"machine", expr::Scope::kMachine},
                                                                    {"unscoped", expr::Scope::kNone}};
  Answer answer;
  JsonWriter w(answer.json);
  w.BeginObject();
  for (const auto& [key, scope] : kScopes) {
    w.Key(key).BeginArray();
    for (const expr::Reference& reference : question.expr->References()) {
      if (reference.scope == scope) w.String(reference.name);
    }
    w.EndArray();
  }
  w.EndObject();
  for (const expr::Reference& reference : question.expr->References()) {
    if (!answer.text.empty()) answer.text += '\n';
    AppendReference(reference.scope, reference.name, answer.text);
  }
  return answer;
}

std::optional<Fault> ReadSide(const simdjson::dom::element& json, const char* key,
                              std::shared_ptr<const expr::Ad>& side) {
  side = nullptr;
  if (json.is_null()) return std::nullopt;
  auto ad = AdFromJson(json);
  if (!ad) return Fault{{Code::kBadValue, std::string(key) + ": " + ad.error().message, ad.error().hint}, std::nullopt};
  side = std::make_shared<const expr::Ad>(std::move(*ad));
  return std::nullopt;
}

std::optional<Fault> ReadExpression(std::string_view text, Question& question) {
  expr::Parsed parsed = expr::Expr::Parse(text);
  if (parsed.expr == nullptr) return Fault{{Code::kBadValue, std::move(parsed.error.message), ""}, parsed.error.offset};
  question.expr = std::move(parsed.expr);
  return std::nullopt;
}

// `{"expr": …, "my": {…}, "target": {…}}`. A side that the line does not have stays what it is.
std::optional<Fault> ReadLine(simdjson::dom::parser& parser, std::string_view line, Question& question) {
  const auto bad = [](std::string message) {
    return Fault{{Code::kBadValue, std::move(message),
                  R"(a line is an object as in {"expr": "MY.a > 1", "my": {"a": 2}, "target": {}})"},
                 std::nullopt};
  };
  simdjson::dom::object object;
  if (const auto error = parser.parse(line.data(), line.size()).get(object); error != simdjson::SUCCESS)
    return bad(error == simdjson::INCORRECT_TYPE ? "not a JSON object"
                                                 : "not JSON: " + std::string(simdjson::error_message(error)));
  std::optional<std::string_view> text;
  std::set<std::string_view> seen;
  for (const auto& [key, value] : object) {
    if (!seen.insert(key).second) return bad("`" + std::string(key) + "` stands there twice");
    if (key == "expr") {
      std::string_view string;
      if (value.get(string) != simdjson::SUCCESS) return bad("expr: not a string");
      text = string;
    } else if (key == "my" || key == "target") {
      if (auto fault = ReadSide(value, key == "my" ? "my" : "target", key == "my" ? question.my : question.target))
        return fault;
    } else {
      return bad("there is no field `" + std::string(key) + "`");
    }
  }
  if (!text) return bad("there is no `expr`");
  return ReadExpression(*text, question);
}

void Batch(const Question& common, const Ask& ask) {
  simdjson::dom::parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    Question question = common;
    const auto fault = ReadLine(parser, line, question);
    std::cout << (fault ? ToJson(*fault) : ask(question).json) << '\n';
    if (!std::cout) return;  // nobody reads any more
  }
  std::cout.flush();
}

// --my and --target. False: said what is wrong with them.
bool ReadSides(Context& context, const ExprOptions& options, Question& question) {
  for (const bool my : {true, false}) {
    const std::string& json = my ? options.my : options.target;
    if (json.empty()) continue;
    auto ad = AdFromJson(json);
    if (!ad) {
      context.Fail(ExitCode::kUsage, (my ? "--my: " : "--target: ") + ad.error().message, ad.error().hint);
      return false;
    }
    (my ? question.my : question.target) = std::make_shared<const expr::Ad>(std::move(*ad));
  }
  return true;
}

void One(Context& context, const ExprOptions& options, Question& question, const Ask& ask) {
  if (const auto fault = ReadExpression(options.text, question)) {
    return context.Fail(ExitCode::kUsage,
                        expr::PointAt("expression", options.text, {fault->offset.value_or(0), fault->error.message}));
  }
  const Answer answer = ask(question);
  Show(context, answer.json, answer.text, [&] {
    if (!answer.text.empty()) std::cout << (StdoutStyle().terminal ? VisibleLines(answer.text) : answer.text) << '\n';
  });
}

void AddOne(CLI::App& family, Context& context, const char* name, const char* help, bool sides, Ask ask) {
  CLI::App& command = *family.add_subcommand(name, help);
  auto options = std::make_shared<ExprOptions>();
  CLI::Option* text =
      command.add_option("EXPR", options->text, "The expression; after -- if it could be taken for an option");
  text->type_name("");
  if (sides) {
    command.add_option("--my", options->my, "Attributes of the side that owns it, as in {\"Tasks\": 10}")
        ->type_name("JSON");
    command.add_option("--target", options->target, "Attributes of the other side, as in {\"Memory\": 4096}")
        ->type_name("JSON");
    command.add_option("--owner", options->owner, "Whose side MY is: job or worker (job)")
        ->check(CLI::IsMember({"job", "worker"}).description(""))
        ->type_name("SIDE");
    command.add_option("--time", options->time, "What time() gives (now)")->type_name("SECONDS");
  }
  command
      .add_flag("--batch", options->batch,
                "A JSON object per line of stdin: {\"expr\": …, \"my\": {…}, \"target\": {…}}")
      ->excludes(text);
  AddOutputOption(command, context);
  command.callback([&command, &context, options, ask = std::move(ask)] {
    if (!options->batch && command.get_option("EXPR")->empty())
      return context.Fail(ExitCode::kUsage, "which expression?", "or several from stdin, with --batch");
    Question question;
    question.owner = options->owner == "worker" ? expr::Side::kMachine : expr::Side::kJob;
    const CLI::Option* time = command.get_option_no_throw("--time");
    question.time = time != nullptr && !time->empty() ? options->time : NowMillis() / 1000;
    if (!ReadSides(context, *options, question)) return;
    if (options->batch) return Batch(question, ask);
    One(context, *options, question, ask);
  });
}

}  // namespace

void AddExprCommands(CLI::App& app, Context& context) {
  CLI::App& family = *app.add_subcommand("expr", "Try expressions out, without a server");
  family.require_subcommand(1);
  auto evaluator = std::make_shared<expr::Evaluator>();
  AddOne(family, context, "eval", "Evaluate an expression", true,
         [evaluator](const Question& question) { return Eval(*evaluator, question); });
  AddOne(family, context, "flatten", "What is left of an expression when one side is known", true, FlattenIt);
  AddOne(family, context, "refs", "Which attributes an expression reads", false, Refs);
}

}  // namespace allot::cli

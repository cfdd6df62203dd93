// SPDX-License-Identifier: Apache-2.0
// Texts of strategies. By hand, as the places and hints of errors are most of it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/json.h"
#include "base/text.h"
#include "expr/lexer.h"
#include "strategy/blocks/block.h"
#include "strategy/strategy.h"
#include "strategy/strategy_rules.h"

namespace allot {
namespace {

using Kind = Strategy::Kind;
using Traits = Block::Traits;

// What goes on with a value that is a word: as in `acme-corp`, `eu/west`, `c:gpu`.
bool IsWordPart(char c) { return expr::IsNamePart(c) || std::string_view(".-/:@+").find(c) != std::string_view::npos; }

// The form of a block, for messages: `select_only(key = value, strategy)`.
std::string Form(Kind kind) {
  const Block& block = BlockOf(kind);
  if (kStrategyShapes[static_cast<std::size_t>(kind)] == Strategy::Shape::kChoice)
    return fmt::format("{}(strategy, strategy)", StrategyWord(kind));
  return fmt::format("{}(key{}{}, strategy)", StrategyWord(kind), block.traits().value ? " = value" : "",
                     block.traits().max != Traits::Max::kNone ? ", max" : "");
}

// A block by its word; those without brackets are StrategyFromWord()'s.
std::optional<Kind> BlockFromWord(std::string_view word) {
  const std::optional<Kind> kind = StrategyKindOf(word);
  if (!kind) return std::nullopt;
  const Strategy::Shape shape = kStrategyShapes[static_cast<std::size_t>(*kind)];
  return shape == Strategy::Shape::kKeyed || shape == Strategy::Shape::kChoice ? kind : std::nullopt;
}

// Where the first byte is that no UTF-8 goes on with. REQUIRES: there is one.
std::size_t FirstBadByte(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (!IsUtf8(text.substr(at, length))) break;
    at += length;
  }
  return at;
}

class Parser {
 public:
  Parser(std::string_view text, bool policy, const NamedStrategies& named)
      : text_(text), policy_(policy), named_(named) {}

  ParsedStrategy Run() {
    StrategyPtr strategy = Any(1);
    Blanks();
    if (!failed_ && at_ < text_.size()) Fail(at_, "expected the end here");
    if (!failed_) {
      if (policy_) strategy = WithRoomForWorker(strategy);
      if (std::string wrong = CheckStrategy(*strategy, policy_); !wrong.empty()) Fail(0, std::move(wrong));
    }
    if (failed_) return {nullptr, std::move(error_), unknown_name_};
    return {std::move(strategy), {}, false};
  }

 private:
  // The first failure stands; after it nothing is read any more.
  StrategyPtr Fail(std::size_t offset, std::string message) {
    if (!failed_) error_ = {offset, std::move(message)};
    failed_ = true;
    at_ = text_.size();
    return nullptr;
  }

  void Blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool See(char c) {
    Blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool Take(char c) {
    if (!See(c)) return false;
    ++at_;
    return true;
  }
  bool SeeDigit() { return at_ < text_.size() && IsAsciiDigit(text_[at_]); }
  std::string_view Name() {
    Blanks();
    const std::size_t begin = at_;
    if (at_ < text_.size() && expr::IsNameStart(text_[at_])) {
      while (at_ < text_.size() && expr::IsNamePart(text_[at_])) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  // A key may begin with a digit: here nothing else does.
  std::string_view KeyName() {
    Blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && expr::IsNamePart(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view Digits() {
    const std::size_t begin = at_;
    while (SeeDigit()) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // Any strategy, at this depth: the recursion ends at its bound.
  StrategyPtr Any(std::size_t depth) {
    Blanks();
    const std::size_t begin = at_;
    const std::string_view word = Name();
    if (word.empty()) return Fail(begin, "expected a strategy here, such as `oldest` or fair(user, oldest)");
    if (depth > bounds::kMaxStrategyDepth) return Fail(begin, strategy_rules::TooDeep());
    const std::optional<Kind> block = BlockFromWord(word);
    const bool bracket = See('(');
    if (block && (bracket || *block != Kind::kFair)) return Block(*block, begin, depth);

    StrategyPtr strategy = StrategyFromWord(word, named_);
    if (strategy == nullptr) {
      unknown_name_ = !failed_;
      return Fail(begin, NoSuchStrategy(word, named_));
    }
    if (bracket) return Fail(at_, strategy_rules::Quoted(word) + " has no brackets after it");
    const strategy_rules::Size size = strategy_rules::Measure(*strategy);
    workers_ += size.workers;
    if (!policy_ && workers_ > 0) return Fail(begin, strategy_rules::NotInPolicy());
    if (workers_ > 1) return Fail(begin, strategy_rules::WorkerTwice());
    if (depth - 1 + size.depth > bounds::kMaxStrategyDepth) return Fail(begin, strategy_rules::TooDeep());
    return Count(size.nodes, begin) ? strategy : nullptr;
  }

  bool Count(std::size_t nodes, std::size_t offset) {
    nodes_ += nodes;
    if (nodes_ > bounds::kMaxStrategyNodes) Fail(offset, strategy_rules::TooMany());
    return !failed_;
  }

  void Expect(char c, std::string_view message) {
    if (!Take(c)) Fail(at_, std::string(message));
  }

  StrategyPtr Block(Kind kind, std::size_t begin, std::size_t depth) {
    if (!Count(1, begin)) return nullptr;
    Strategy node;
    node.kind = kind;
    Expect('(', fmt::format("expected `(` here, as in {}", Form(kind)));
    if (node.shape() == Strategy::Shape::kChoice) {
      Branches(node, depth);
    } else {
      const Traits& traits = BlockOf(kind).traits();
      Key(node);
      if (traits.value) Value(node);
      if (traits.max == Traits::Max::kRequired) {
        Expect(',', fmt::format("expected `,` and a maximum here, as in {}", Form(kind)));
        Max(node);
      }
      Expect(',', fmt::format("expected `,` and the strategy inside here, as in {}", Form(kind)));
      Blanks();
      if (traits.max == Traits::Max::kOptional && at_ < text_.size() && !expr::IsNameStart(text_[at_])) {
        Max(node);
        Expect(',', fmt::format("expected `,` and the strategy inside here, as in {}", Form(kind)));
      }
      node.inner.push_back(Any(depth + 1));
      Expect(')', fmt::format("expected `)` here, at the end of `{}`", StrategyWord(kind)));
    }
    if (failed_) return nullptr;
    return std::make_shared<const Strategy>(std::move(node));
  }

  void Branches(Strategy& node, std::size_t depth) {
    do {
      node.inner.push_back(Any(depth + 1));
    } while (!failed_ && Take(','));
    if (node.inner.size() < 2)
      Fail(at_, fmt::format("expected `,` and another strategy here, as in {}", Form(node.kind)));
    Expect(')', "expected `,` or `)` here");
  }

  void Key(Strategy& node) {
    Blanks();
    const std::size_t begin = at_;
    const std::string_view name = KeyName();
    if (failed_) return;
    if (name.empty()) {
      Fail(begin, fmt::format("expected a key here, as in {}", Form(node.kind)));
      return;
    }
    node.key = MakeStrategyKey(name);
    if (std::string wrong = strategy_rules::CheckKey(node.key); !wrong.empty()) Fail(begin, std::move(wrong));
  }

  // A maximum, or a percentage.
  void Max(Strategy& node) {
    Blanks();
    const std::size_t begin = at_;
    if (failed_) return;
    const std::string_view digits = Digits();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), node.max);
    if (digits.empty() || error != std::errc() || node.max == 0 || digits[0] == '0' ||
        (at_ < text_.size() && IsWordPart(text_[at_]))) {
      Fail(begin, fmt::format("expected a whole number from 1 to {} here", std::numeric_limits<std::uint32_t>::max()));
      return;
    }
    if (!See('%')) return;
    if (!BlockOf(node).traits().percent) {
      Fail(at_, strategy_rules::NoPercentage());
    } else if (node.max > 100) {
      Fail(begin, "a percentage is from 1% to 100%");
    } else {
      ++at_;
      node.percent = true;
    }
  }

  void Value(Strategy& node) {
    Expect('=', fmt::format("expected `=` and a value here, as in {}", Form(node.kind)));
    if (failed_) return;
    if (at_ < text_.size() && text_[at_] == '=') {
      Fail(at_, "expected a value here: one `=` is enough");
      return;
    }
    Blanks();
    const std::size_t begin = at_;
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '"') {
      Text(node);
    } else if (IsAsciiDigit(c) || c == '-') {
      Number(node);
    } else if (expr::IsNameStart(c)) {
      Word(node);
    } else {
      Fail(begin, c == '\'' ? "a text is written in double quotes"
                            : "expected a value here: a \"text\", a word, a number, true or false");
    }
    if (failed_) return;
    if (node.key.kind == StrategyKey::Kind::kJob) {
      if (const auto* id = std::get_if<std::int64_t>(&node.value)) node.value = std::to_string(*id);
    }
    if (std::string wrong = strategy_rules::CheckValue(node.key, node.value); !wrong.empty())
      Fail(begin, std::move(wrong));
  }

  // In quotes, with the escapes of JSON, as expressions have it.
  void Text(Strategy& node) {
    expr::Lexer lexer(text_.substr(at_));
    const expr::Token token = lexer.Next();
    if (token.kind != expr::TokenKind::kString) {
      Fail(at_ + lexer.error().offset, lexer.error().message);
      return;
    }
    node.value = std::string(token.text);
    at_ += token.end;
  }

  void Word(Strategy& node) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && IsWordPart(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    for (const bool flag : {true, false}) {
      const std::string_view spelled = flag ? "true" : "false";
      if (word == spelled) {
        node.value = flag;
        return;
      }
      // As a word it would be a text, which is hardly meant.
      if (expr::SameName(word, spelled)) {
        Fail(begin, fmt::format("did you mean `{}`? The text is written \"{}\"", spelled, word));
        return;
      }
    }
    node.value = std::string(word);
  }

  void Number(Strategy& node) {
    const std::size_t begin = at_;
    if (text_[at_] == '-') ++at_;
    const std::string_view whole = Digits();
    bool real = false, valid = !whole.empty() && (whole.size() == 1 || whole[0] != '0');
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      real = true;
      valid = valid && !Digits().empty();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      real = true;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      valid = valid && !Digits().empty();
    }
    if (!valid || (at_ < text_.size() && IsWordPart(text_[at_]))) {
      Fail(begin, "this is no number; a text that begins with a digit or a sign is written in \"quotes\"");
      return;
    }
    const std::string digits(text_.substr(begin, at_ - begin));
    if (real) {
      const double number = std::strtod(digits.c_str(), nullptr);  // too small is 0
      if (!std::isfinite(number)) Fail(begin, "this number is too large");
      node.value = number == 0 ? 0.0 : number;  // -0.0 is the same value
      return;
    }
    std::int64_t number = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc())
      Fail(begin, "this number does not fit into 64 bits");
    node.value = number;
  }

  const std::string_view text_;
  const bool policy_;
  const NamedStrategies& named_;
  std::size_t at_ = 0, nodes_ = 0, workers_ = 0;
  bool failed_ = false, unknown_name_ = false;
  StrategyError error_;
};

}  // namespace

ParsedStrategy ParseStrategy(std::string_view text, bool policy, const NamedStrategies& named) {
  if (text.size() > bounds::kMaxStrategyBytes) {
    return {nullptr,
            {bounds::kMaxStrategyBytes,
             fmt::format("longer than {} bytes: make it shorter", FormatCount(bounds::kMaxStrategyBytes))},
            false};
  }
  if (!IsUtf8(text)) return {nullptr, {FirstBadByte(text), "this byte is not UTF-8"}, false};
  return Parser(text, policy, named).Run();
}

}  // namespace allot

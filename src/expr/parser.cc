// SPDX-License-Identifier: Apache-2.0
#include "expr/parser.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bounds.h"
#include "base/json.h"
#include "base/text.h"
#include "expr/functions.h"
#include "expr/lexer.h"
#include "expr/patterns.h"

namespace allot::expr {
namespace {

std::string Quoted(std::string_view word) {
  constexpr std::size_t kMost = 64;
  return "`" + std::string(word.substr(0, kMost)) + (word.size() > kMost ? "…`" : "`");
}

std::string Lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = LowerCase(c);
  return out;
}

class Parser {
 public:
  using Item = ProgramBuilder::Item;

  explicit Parser(std::string_view text) : lexer_(text) {}

  std::unique_ptr<const Program> Parse(ParseError& error) {
    Advance();
    Item root = Expression();
    if (!failed_ && token_.kind != TokenKind::kEnd) Trailing();
    std::unique_ptr<const Program> program;
    if (!failed_) program = builder_.Finish(root);
    if (program == nullptr) error = error_;
    return program;
  }

 private:
  Item Fail(std::size_t offset, std::string message) {
    if (!failed_) error_ = {offset, std::move(message)};
    failed_ = true;
    return {};
  }

  // From here on all is in vain: the end is near.
  void Advance() {
    if (failed_) return;
    token_ = lexer_.Next();
    if (token_.kind == TokenKind::kBad) {
      Fail(lexer_.error().offset, lexer_.error().message);
      token_.kind = TokenKind::kEnd;
    }
  }

  bool Is(TokenKind kind) const { return !failed_ && token_.kind == kind; }
  bool Take(TokenKind kind) {
    if (!Is(kind)) return false;
    Advance();
    return true;
  }
  void Expect(TokenKind kind, std::string_view message) {
    if (!Take(kind)) Fail(token_.offset, std::string(message));
  }

  void Trailing() {
    std::string message = "expected an operator or the end here";
    if (token_.kind == TokenKind::kAssign) message = "to compare, write `==`";
    if (token_.kind == TokenKind::kName) {
      if (EqualText(token_.text, "and")) message = "for and, write `&&`";
      if (EqualText(token_.text, "or")) message = "for or, write `||`";
    }
    Fail(token_.offset, std::move(message));
  }

  // What a node's making gave, if it was within the bounds.
  Item Made(Item item, std::size_t offset) {
    if (builder_.too_deep()) return TooDeep(offset);
    if (builder_.too_many())
      return Fail(offset, "more than " + std::to_string(bounds::kMaxExpressionNodes) + " parts: make it shorter");
    return item;
  }
  Item TooDeep(std::size_t offset) {
    return Fail(offset, "more than " + std::to_string(bounds::kMaxExpressionDepth) +
                            " levels inside one another: make it flatter");
  }

  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > bounds::kMaxExpressionDepth) parser_.TooDeep(parser_.token_.offset);
    }
    ~Level() { --parser_.nesting_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  Item Expression() {
    const Item condition = Binary(0);
    const std::size_t offset = token_.offset;
    if (!Take(TokenKind::kQuestion)) return condition;
    const Level level(*this);
    const Item then = Expression();
    Expect(TokenKind::kColon, "expected `:` here, as in `condition ? value : otherwise`");
    const Item otherwise = Expression();
    if (failed_) return {};
    return Made(builder_.Conditional(condition, then, otherwise), offset);
  }

  // The operator that stands here, if there is one.
  bool Operator(Op& op) const {
    if (failed_) return false;
    op = token_.op;
    if (token_.kind == TokenKind::kOperator) return true;
    if (token_.kind != TokenKind::kName) return false;
    if (EqualText(token_.text, "is")) op = Op::kIs;
    if (EqualText(token_.text, "isnt")) op = Op::kIsnt;
    return op == Op::kIs || op == Op::kIsnt;
  }

  Item Binary(int min_level) {
    Item left = Unary();
    Op op{};
    while (Operator(op) && BindingLevel(op) >= min_level) {
      const std::size_t offset = token_.offset;
      const int level = BindingLevel(op);
      std::vector<ProgramBuilder::Operand> operands{{left, op}};
      while (Operator(op) && BindingLevel(op) == level) {
        Advance();
        operands.push_back({Binary(level + 1), op});
      }
      if (failed_) return {};
      left = Made(builder_.Chain(operands), offset);
    }
    return left;
  }

  bool Prefix(UnaryOp& op) const {
    if (failed_) return false;
    if (token_.kind == TokenKind::kNot) {
      op = UnaryOp::kNot;
    } else if (token_.kind == TokenKind::kBitNot) {
      op = UnaryOp::kBitNot;
    } else if (token_.kind == TokenKind::kOperator && token_.op == Op::kSubtract) {
      op = UnaryOp::kNegate;
    } else if (token_.kind == TokenKind::kOperator && token_.op == Op::kAdd) {
      op = UnaryOp::kPlus;
    } else {
      return false;
    }
    return true;
  }

  // `coalesce`: may `?:` follow? Not in its own right operand, since it associates to the left.
  Item Unary(bool coalesce = true) {
    UnaryOp op{};
    const std::size_t offset = token_.offset;
    if (!Prefix(op)) return Postfix(coalesce);
    Advance();
    const Level level(*this);
    if (op == UnaryOp::kNegate && Is(TokenKind::kInteger) && token_.integer == std::uint64_t{1} << 63) {
      const std::size_t at = token_.offset;
      Advance();
      if (Is(TokenKind::kDot) || Is(TokenKind::kOpenBracket) || (coalesce && Is(TokenKind::kCoalesce)))
        return Fail(at, "this number does not fit into 64 bits");
      return Made(builder_.Constant(Value::Integer(INT64_MIN)), offset);
    }
    const Item operand = Unary(coalesce);
    if (failed_) return {};
    return Made(builder_.Unary(op, operand), offset);
  }

  Item Postfix(bool coalesce) {
    const TokenKind first = token_.kind;
    Item item = Primary();
    // A number has no fields: `1.e5` is a slip of the pen, and would be ERROR for ever.
    if (Is(TokenKind::kDot) && (first == TokenKind::kInteger || first == TokenKind::kReal))
      return Fail(token_.offset, first == TokenKind::kInteger
                                     ? "a digit must follow the point of a number"
                                     : "expected an operator between the number and what follows");
    while (!failed_) {
      const std::size_t offset = token_.offset;
      if (Take(TokenKind::kDot)) {
        if (!Is(TokenKind::kName)) return Fail(token_.offset, "expected a name after the dot");
        item = Made(builder_.Select(item, token_.text), offset);
        Advance();
      } else if (Take(TokenKind::kOpenBracket)) {
        const Level level(*this);
        const Item index = Expression();
        Expect(TokenKind::kCloseBracket, "expected `]` here");
        if (failed_) return {};
        item = Made(builder_.Index(item, index), offset);
      } else if (coalesce && Take(TokenKind::kCoalesce)) {
        const Item otherwise = Unary(false);
        if (failed_) return {};
        item = Made(builder_.Coalesce(item, otherwise), offset);
      } else {
        break;
      }
    }
    return item;
  }

  Item Primary() {
    if (failed_) return {};
    const Token token = token_;
    switch (token.kind) {
      case TokenKind::kInteger:
        if (token.integer == std::uint64_t{1} << 63) return Fail(token.offset, "this number does not fit into 64 bits");
        return Literal(Value::Integer(static_cast<std::int64_t>(token.integer)));
      case TokenKind::kReal:
        return Literal(Value::Real(token.real));
      case TokenKind::kString:
        return Literal(Value::String(token.text));
      case TokenKind::kName:
        return Named(token);
      case TokenKind::kOpen: {
        Advance();
        const Level level(*this);
        const Item item = Expression();
        Expect(TokenKind::kClose, "expected `)` here");
        return item;
      }
      case TokenKind::kOpenList: {
        Advance();
        const Level level(*this);
        std::vector<Item> items;
        if (!Sequence(TokenKind::kCloseList, "expected `,` or `}` here", items)) return {};
        return Made(builder_.List(items), token.offset);
      }
      case TokenKind::kOpenBracket:
        return Record();
      default:
        return Fail(token.offset, "expected an expression here");
    }
  }

  Item Literal(const Value& value) {
    const Item item = Made(builder_.Constant(value), token_.offset);
    Advance();
    return item;
  }

  // What stands between commas, up to and with `close`.
  bool Sequence(TokenKind close, std::string_view message, std::vector<Item>& items,
                std::vector<std::size_t>* offsets = nullptr) {
    if (Take(close)) return !failed_;
    do {
      if (offsets != nullptr) offsets->push_back(token_.offset);
      items.push_back(Expression());
    } while (Take(TokenKind::kComma));
    Expect(close, message);
    return !failed_;
  }

  Item Named(const Token& token) {
    const std::string_view name = token.text;
    if (EqualText(name, "true")) return Literal(Value::Boolean(true));
    if (EqualText(name, "false")) return Literal(Value::Boolean(false));
    if (EqualText(name, "undefined")) return Literal(Value::Undefined());
    if (EqualText(name, "error")) return Literal(Value::Error());
    if (IsKeyword(name)) return Fail(token.offset, "expected an expression here");
    Advance();
    if (Is(TokenKind::kOpen)) return Call(token);
    if (failed_) return {};
    const Scope scope = ScopeFromText(name);
    if (scope == Scope::kNone) return Made(builder_.Reference(Scope::kNone, name), token.offset);
    const std::string word(ScopeText(scope));
    if (Take(TokenKind::kOpenBracket)) return Subscripted(scope, token.offset);
    if (!Take(TokenKind::kDot)) return Fail(token.offset, "`" + word + "` needs a name: " + word + ".name");
    if (!Is(TokenKind::kName)) return Fail(token_.offset, "expected the name of an attribute here");
    const Item item = Made(builder_.Reference(scope, token_.text), token.offset);
    Advance();
    return item;
  }

  // MY["6"]: for names that begin with a digit. Others may be written so, and print as MY.name.
  Item Subscripted(Scope scope, std::size_t offset) {
    if (!Is(TokenKind::kString)) return Fail(token_.offset, "expected the name of an attribute, in quotes, here");
    if (!IsAttributeName(token_.text))
      return Fail(token_.offset, "the name of an attribute has letters, digits and `_` alone");
    const Item item = Made(builder_.Reference(scope, token_.text), offset);
    Advance();
    Expect(TokenKind::kCloseBracket, "expected `]` here");
    return item;
  }

  Item Record() {
    const std::size_t offset = token_.offset;
    Advance();
    const Level level(*this);
    std::vector<std::string_view> names;
    std::vector<Item> values;
    std::unordered_set<std::string> seen;
    while (!failed_ && !Take(TokenKind::kCloseBracket)) {
      if (!Is(TokenKind::kName)) return Fail(token_.offset, "expected the name of a field, or `]` here");
      if (!seen.insert(Lower(token_.text)).second)
        return Fail(token_.offset, "there is a field " + Quoted(token_.text) + " already");
      names.push_back(token_.text);
      Advance();
      Expect(TokenKind::kAssign, "expected `=` and a value here");
      values.push_back(Expression());
      if (!Take(TokenKind::kSemicolon) && !Is(TokenKind::kCloseBracket))
        return Fail(token_.offset, "expected `;` or `]` here");
    }
    if (failed_) return {};
    return Made(builder_.Record(names, values), offset);
  }

  Item UnknownFunction(const Token& token) {
    std::vector<std::string> lower;
    for (const Function& function : Functions()) lower.push_back(Lower(function.name));
    const std::vector<std::string_view> candidates(lower.begin(), lower.end());
    const std::string_view near = Nearest(Lower(token.text), candidates);
    std::string message = "unknown function " + Quoted(token.text);
    if (!near.empty()) message += "; did you mean " + Quoted(FindFunction(near)->name) + "?";
    return Fail(token.offset, std::move(message));
  }

  Item Call(const Token& token) {
    const Function* function = FindFunction(token.text);
    if (function == nullptr) return UnknownFunction(token);
    Advance();
    const Level level(*this);
    std::vector<Item> arguments;
    std::vector<std::size_t> offsets;
    if (!Sequence(TokenKind::kClose, "expected `,` or `)` here", arguments, &offsets)) return {};
    if (arguments.size() < function->min_arguments ||
        (function->max_arguments != kAnyNumber && arguments.size() > function->max_arguments)) {
      std::string takes = std::to_string(function->min_arguments);
      if (function->max_arguments == kAnyNumber) {
        takes += " or more";
      } else if (function->max_arguments != function->min_arguments) {
        takes += " to " + std::to_string(function->max_arguments);
      }
      return Fail(token.offset, Quoted(function->name) + " takes " + takes +
                                    (takes == "1" ? " argument" : " arguments") + ", not " +
                                    std::to_string(arguments.size()));
    }
    if (!CheckPattern(*function, arguments, offsets)) return {};
    return Made(builder_.Call(*function, arguments), token.offset);
  }

  // A pattern that is written out can be told to be wrong now, rather than be ERROR for ever.
  bool CheckPattern(const Function& function, std::span<const Item> arguments, std::span<const std::size_t> offsets) {
    std::vector<const Value*> constants;
    for (const Item item : arguments) constants.push_back(builder_.constant(item));
    const std::string fault = patterns_.Fault(function, constants);
    if (fault.empty()) return true;
    Fail(offsets[0], fault);
    return false;
  }

  Lexer lexer_;
  Token token_;
  ProgramBuilder builder_;
  ParseError error_;
  std::size_t nesting_ = 0;
  PatternChecker patterns_;
  bool failed_ = false;
};

// Where the first byte is that no UTF-8 goes on with.
std::size_t FirstBadByte(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (!IsUtf8(text.substr(at, length))) return at;
    at += length;
  }
  return at;
}

}  // namespace

std::string PatternChecker::Fault(const Function& function, std::span<const Value* const> arguments) {
  const std::size_t options_at = function.pattern_options;
  if (options_at == 0 || arguments.empty() || steps_left_ < 0) return {};
  const Value* pattern = arguments[0];
  if (pattern == nullptr || !pattern->is(Type::kString)) return {};
  PatternOptions options;
  if (arguments.size() > options_at) {
    const Value* letters = arguments[options_at];
    if (letters == nullptr || !letters->is(Type::kString)) return {};
    const auto parsed = ParsePatternOptions(letters->string());
    if (!parsed) return {};
    options = *parsed;
  }
  const std::uint64_t compiled = cache_.compiled();
  const std::int64_t left = steps_left_;
  const Pattern* found = cache_.Get(pattern->string(), options, false, steps_left_);
  if (found == nullptr) return {};
  if (cache_.compiled() == compiled) steps_left_ = left;  // it was there already
  return found->error;
}

bool IsKeyword(std::string_view name) {
  for (const std::string_view keyword : {"true", "false", "undefined", "error", "is", "isnt"}) {
    if (EqualText(name, keyword)) return true;
  }
  return false;
}

Scope ScopeFromText(std::string_view name) {
  for (const Scope scope : {Scope::kMy, Scope::kTarget, Scope::kJob, Scope::kMachine}) {
    if (EqualText(name, ScopeText(scope))) return scope;
  }
  return Scope::kNone;
}

std::string_view ScopeText(Scope scope) {
  constexpr std::string_view kScopeTexts[] = {"", "MY", "TARGET", "JOB", "MACHINE"};
  return kScopeTexts[static_cast<std::size_t>(scope)];
}

void AppendReference(Scope scope, std::string_view name, std::string& out) {
  out.append(ScopeText(scope));
  if (scope != Scope::kNone && !IsName(name)) {
    out.append("[\"").append(name).append("\"]");
    return;
  }
  if (scope != Scope::kNone) out.push_back('.');
  out.append(name);
}

std::unique_ptr<const Program> ParseProgram(std::string_view text, ParseError& error) {
  if (text.size() > bounds::kMaxExpressionBytes) {
    error = {bounds::kMaxExpressionBytes,
             "longer than " + std::to_string(bounds::kMaxExpressionBytes) + " bytes: make it shorter"};
    return nullptr;
  }
  if (!IsUtf8(text)) {
    error = {FirstBadByte(text), "this byte is not UTF-8"};
    return nullptr;
  }
  return Parser(text).Parse(error);
}

}  // namespace allot::expr

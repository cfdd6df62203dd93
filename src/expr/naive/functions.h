// SPDX-License-Identifier: Apache-2.0
// The functions, as plainly as can be. Regular expressions are those of the standard library: for the patterns of the
// tests, which are few and mean the same there.
#pragma once

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "expr/naive/evaluator.h"

namespace allot::expr::naive {

inline Val TextToNumber(const std::string& text) {
  static const std::regex kInteger("[-+]?[0-9]+"), kHex("[-+]?0[xX][0-9a-fA-F]+");
  static const std::regex kReal("[-+]?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?");
  const bool hex = std::regex_match(text, kHex);
  if (hex || std::regex_match(text, kInteger)) {
    __int128 number = 0;
    for (const char c : Lower(text)) {
      const bool digit = (c >= '0' && c <= '9') || (hex && c >= 'a' && c <= 'f');
      if (digit && number < (static_cast<__int128>(1) << 80))
        number = number * (hex ? 16 : 10) + (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return Wide(text[0] == '-' ? -number : number);
  }
  return std::regex_match(text, kReal) ? Real(std::strtod(text.c_str(), nullptr)) : Error();
}

inline Val Truncated(const Val& v) {
  if (v.kind != Val::kReal) return v.IsNumeric() ? Wide(Whole(v)) : Error();
  if (std::fabs(v.real) > 1e19) return Error();
  return Wide(static_cast<__int128>(v.real));
}

inline std::string Text(const Val& v) { return v.kind == Val::kString ? v.text : Print(v); }

inline std::vector<std::string> Pieces(const std::string& text, const std::string& separators) {
  std::vector<std::string> pieces;
  std::string piece;
  const auto keep = [&] {
    const std::string spaces = " \t\n\v\f\r";
    const std::size_t from = piece.find_first_not_of(spaces), to = piece.find_last_not_of(spaces);
    if (from != piece.npos) pieces.push_back(piece.substr(from, to - from + 1));
    piece.clear();
  };
  for (const char c : text) {
    if (separators.find(c) == separators.npos) {
      piece += c;
    } else {
      keep();
    }
  }
  keep();
  return pieces;
}

// What a function that wants a number sees in a string.
inline Val Number(const Val& v) {
  if (v.kind != Val::kString) return v.IsNumeric() ? v : Error();
  const Val number = TextToNumber(v.text);
  return number.IsNumeric() ? Real(Rounded(number)) : Error();
}
inline bool Holds(const std::vector<std::string>& list, const std::string& x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

inline int VersionOrder(const std::string& a, const std::string& b) {
  // Every run of digits becomes one "letter" above all bytes' range, ordered by number.
  const auto tokens = [](const std::string& text) {
    std::vector<std::pair<int, std::string>> out;  // a byte, or '0' and the digits
    for (std::size_t i = 0; i < text.size();) {
      std::string digits;
      while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0) digits += text[i++];
      if (!digits.empty()) {
        while (digits.size() > 1 && digits[0] == '0') digits.erase(0, 1);
        if (digits == "0") digits = "";
        out.emplace_back(-1, digits);
      } else {
        out.emplace_back(static_cast<unsigned char>(text[i++]), "");
      }
    }
    return out;
  };
  const auto x = tokens(a), y = tokens(b);
  // A number against a byte compares by its first digit as it is written: between '/' and ':', that is, like '0' to
  // '9'.
  std::size_t i = 0;
  for (; i < x.size() && i < y.size(); ++i) {
    if (x[i] == y[i]) continue;
    if (x[i].first == -1 && y[i].first == -1) {
      const std::string &p = x[i].second, &q = y[i].second;
      if (p.size() != q.size()) return p.size() < q.size() ? -1 : 1;
      return p < q ? -1 : 1;
    }
    const int p = x[i].first == -1 ? '0' : x[i].first, q = y[i].first == -1 ? '0' : y[i].first;
    return p < q ? -1 : 1;  // no other byte lies among the digits
  }
  return i < x.size() ? 1 : i < y.size() ? -1 : 0;
}

inline Val FromList(const std::string& f, const Val& list) {
  if (list.kind != Val::kList) return Error();
  bool undefined = false, real = false;
  for (const Val& item : list.items) {
    if (item.kind == Val::kUndefined) {
      undefined = true;
    } else if (!item.IsNumeric()) {
      return Error();
    }
    real |= item.kind == Val::kReal;
  }
  if (undefined) return Undefined();
  if (list.items.empty()) return Undefined();
  if (f == "sum" || f == "avg") {
    double sum = 0;
    __int128 whole = 0;
    for (const Val& item : list.items) {
      sum += Rounded(item);
      if (!real) {
        whole += Whole(item);
        if (f == "sum" && Wide(whole).kind == Val::kError) return Error();
      }
    }
    if (f == "avg") return Real(sum / static_cast<double>(list.items.size()));
    return real ? Real(sum) : Wide(whole);
  }
  Val best = list.items[0];
  for (const Val& item : list.items) {
    if (f == "min" ? Exactly(item) < Exactly(best) : Exactly(item) > Exactly(best)) best = item;
  }
  return real ? Real(Rounded(best)) : Wide(Whole(best));
}

inline Val Quantized(const Val& a, const Val& unit) {
  if (Exactly(unit) == 0) return Unary("+", a);
  if (a.kind == Val::kReal || unit.kind == Val::kReal) {
    return Rounded(unit) < 0 ? Error() : Real(std::ceil(Rounded(a) / Rounded(unit)) * Rounded(unit));
  }
  if (Whole(unit) < 0) return Error();
  __int128 multiple = Whole(a) / Whole(unit) * Whole(unit);
  if (multiple < Whole(a)) multiple += Whole(unit);
  return Wide(multiple);
}

inline Val Power(const Val& a, const Val& b) {
  if (a.kind == Val::kReal || b.kind == Val::kReal || Whole(b) < 0) return Real(std::pow(Rounded(a), Rounded(b)));
  __int128 result = 1;
  const __int128 base = Whole(a);
  if (base == 0 || base == 1) return Whole(b) == 0 ? Int(1) : Wide(base);
  if (base == -1) return Int(Whole(b) % 2 == 0 ? 1 : -1);
  for (__int128 i = 0; i < Whole(b); ++i) {
    result *= base;
    if (Wide(result).kind == Val::kError) return Error();
  }
  return Wide(result);
}

inline Val Pattern(const std::string& f, const std::vector<Val>& a) {
  const bool substitutes = f == "regexps" || f == "replace" || f == "replaceall";
  const std::size_t options_at = f == "regexp" || f == "regexpmember" ? 2 : 3;
  std::string options;
  if (a.size() > options_at) options = Lower(a[options_at].text);
  if (options.find_first_not_of("ifg") != options.npos) return Error();  // the tests have no others that are valid
  auto flags = std::regex::ECMAScript;
  if (options.find('i') != options.npos) flags |= std::regex::icase;
  const std::regex pattern(a[0].text, flags);
  const bool f_given = options.find('f') != options.npos;
  const auto search = [&](const std::string& text, std::smatch& match) {
    return f_given && !substitutes ? std::regex_match(text, match, pattern) : std::regex_search(text, match, pattern);
  };
  std::smatch match;
  if (f == "regexp") return Bool(search(a[1].text, match));
  if (f == "regexpmember") {
    bool undefined = false;
    for (const Val& item : a[1].items) {
      if (item.kind != Val::kString && item.kind != Val::kUndefined) return Error();
      if (item.kind == Val::kString && search(item.text, match)) return Bool(true);
      undefined |= item.kind == Val::kUndefined;
    }
    return undefined ? Undefined() : Bool(false);
  }
  if (f == "stringlist_regexpmember") {
    const std::string separators = a.size() > 2 ? a[2].text : " ,";
    if (std::any_of(separators.begin(), separators.end(), [](char c) { return (c & 0x80) != 0; })) return Error();
    for (const std::string& piece : Pieces(a[1].text, separators)) {
      if (search(piece, match)) return Bool(true);
    }
    return Bool(false);
  }
  const std::string& substitute = a[2].text;
  for (std::size_t i = 0; i < substitute.size(); ++i) {
    if (substitute[i] != '\\') continue;
    if (++i == substitute.size()) return Error();
    if (substitute[i] == '\\') continue;
    if (std::isdigit(static_cast<unsigned char>(substitute[i])) == 0) return Error();
    if (static_cast<std::size_t>(substitute[i] - '0') > pattern.mark_count()) return Error();
  }
  const auto filled = [&] {
    std::string out;
    for (std::size_t i = 0; i < substitute.size(); ++i) {
      if (substitute[i] != '\\') {
        out += substitute[i];
      } else if (substitute[++i] == '\\') {
        out += '\\';
      } else {
        out += match[static_cast<std::size_t>(substitute[i] - '0')].str();
      }
    }
    return out;
  };
  const bool rest = f != "regexps" || f_given, every = f == "replaceall" || options.find('g') != options.npos;
  if (!search(a[1].text, match)) return rest ? a[1] : Str("");
  if (!every) return Str(rest ? match.prefix().str() + filled() + match.suffix().str() : filled());
  std::string out;
  const std::string& text = a[1].text;
  std::sregex_iterator it(text.begin(), text.end(), pattern);
  std::size_t copied = 0;
  bool any = false;
  for (; it != std::sregex_iterator(); ++it) {
    match = *it;
    const auto at = static_cast<std::size_t>(match.position(0));
    // Nothing is not found right behind a match, nor in the middle of a character.
    if (any && match.length(0) == 0 && at == copied) continue;
    if (match.length(0) == 0 && at < text.size() && (text[at] & 0xC0) == 0x80) continue;
    out += (rest ? text.substr(copied, at - copied) : "") + filled();
    copied = at + static_cast<std::size_t>(match.length(0));
    any = true;
  }
  return Str(rest ? out + text.substr(copied) : out);
}

inline Val Strict(const std::string& f, const std::vector<Val>& a) {
  const Val& x = a[0];
  const auto all = [&](Val::Kind kind) {
    return std::all_of(a.begin(), a.end(), [&](const Val& v) { return v.kind == kind; });
  };
  if (f == "int") return Truncated(x.kind == Val::kString ? TextToNumber(x.text) : x);
  if (f == "real") {
    const Val number = x.kind == Val::kString ? TextToNumber(x.text) : x;
    return number.IsNumeric() ? Real(Rounded(number)) : Error();
  }
  if (f == "bool") {
    if (x.kind != Val::kString) return AsBoolean(x);
    return Lower(x.text) == "true" ? Bool(true) : Lower(x.text) == "false" ? Bool(false) : Error();
  }
  if (f == "string") return Str(Text(x));
  if (f == "floor" || f == "ceiling" || f == "ceil" || f == "round") {
    const Val number = Number(x);
    if (number.kind != Val::kReal) return Truncated(number);
    const double up = std::ceil(number.real), down = std::floor(number.real);
    if (f == "floor") return Truncated(Real(down));
    if (f != "round") return Truncated(Real(up));
    const double above = up - number.real, below = number.real - down;
    if (above == below) return Truncated(Real(std::fmod(up, 2) == 0 ? up : down));
    return Truncated(Real(above < below ? up : down));
  }
  if (f == "pow") {
    const Val base = Number(x), exponent = Number(a[1]);
    return base.IsNumeric() && exponent.IsNumeric() ? Power(base, exponent) : Error();
  }
  if (f == "quantize") {
    const Val number = Number(x);
    if (!number.IsNumeric()) return Error();
    if (a[1].kind != Val::kList) {
      const Val unit = Number(a[1]);
      return unit.IsNumeric() ? Quantized(number, unit) : Error();
    }
    for (const Val& item : a[1].items) {
      if (item.kind == Val::kUndefined) return item;
      if (!Number(item).IsNumeric()) return Error();
      if (Exactly(Number(item)) >= Exactly(number)) return Unary("+", Number(item));
    }
    return a[1].items.empty() ? Unary("+", number) : Quantized(number, Number(a[1].items.back()));
  }
  if (f == "min" || f == "max" || f == "sum" || f == "avg") return FromList(f, x);
  if (f == "size") {
    if (x.kind == Val::kString) return Int(static_cast<std::int64_t>(x.text.size()));
    return x.kind == Val::kList || x.kind == Val::kRecord ? Int(static_cast<std::int64_t>(x.items.size())) : Error();
  }
  if (f == "member") {
    if (a[1].kind != Val::kList || x.kind == Val::kList || x.kind == Val::kRecord) return Error();
    for (const Val& item : a[1].items) {
      if (Same(Binary("==", item, x), Bool(true))) return Bool(true);
    }
    return Bool(false);
  }
  if (f == "strcat" || f == "join") {
    if (f == "join" && a.size() == 1 && x.kind != Val::kList) return Error();
    const std::string separator = f == "join" && a.size() > 1 ? Text(x) : "";
    std::vector<Val> parts(a.begin() + (f == "join" ? 1 : 0), a.end());
    if (f == "join" && a.size() <= 2 && a.back().kind == Val::kList) parts = a.back().items;
    bool undefined = false;
    for (const Val& part : parts) {
      if (part.kind == Val::kError) return part;
      undefined |= part.kind == Val::kUndefined;
    }
    if (undefined) return Undefined();
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? separator : "") + Text(parts[i]);
    return Str(text);
  }
  if (f == "substr") {
    if (x.kind != Val::kString || a[1].kind != Val::kInteger) return Error();
    if (a.size() > 2 && a[2].kind != Val::kInteger) return Error();
    const __int128 size = static_cast<__int128>(x.text.size());
    __int128 from = a[1].integer, to = size;
    if (from < 0) from += size;
    from = std::clamp<__int128>(from, 0, size);
    if (a.size() > 2) to = a[2].integer >= 0 ? from + a[2].integer : size + a[2].integer;
    to = std::min(to, size);
    const auto whole = [&](__int128 at) {
      return at == size || (static_cast<unsigned char>(x.text[static_cast<std::size_t>(at)]) & 0xC0) != 0x80;
    };
    while (!whole(from)) ++from;
    if (to <= from) return Str("");
    while (!whole(to)) --to;
    return Str(x.text.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)));
  }
  if (f == "regexp" || f == "regexps" || f == "replace" || f == "replaceall" || f == "stringlist_regexpmember") {
    return all(Val::kString) ? Pattern(f, a) : Error();
  }
  if (f == "regexpmember") {
    if (x.kind != Val::kString || a[1].kind != Val::kList) return Error();
    return a.size() > 2 && a[2].kind != Val::kString ? Error() : Pattern(f, a);
  }
  if (f == "strcmp") return Int(Text(x) < Text(a[1]) ? -1 : Text(x) > Text(a[1]));
  if (f == "stricmp") return Int(Lower(Text(x)) < Lower(Text(a[1])) ? -1 : Lower(Text(x)) > Lower(Text(a[1])));
  if (f == "tolower") return Str(Lower(Text(x)));
  if (f == "toupper") {
    std::string text = Text(x);
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return Str(text);
  }
  // All that is left works on strings alone.
  if (!all(Val::kString)) return Error();
  if (f == "splitusername" || f == "splitslotname") {
    const std::size_t at = x.text.find('@');
    if (at != x.text.npos) return List({Str(x.text.substr(0, at)), Str(x.text.substr(at + 1))});
    return f == "splitusername" ? List({x, Str("")}) : List({Str(""), x});
  }
  if (f == "versioncmp") return Int(VersionOrder(x.text, a[1].text));
  if (f == "versioneq") return Bool(VersionOrder(x.text, a[1].text) == 0);
  if (f == "versionlt") return Bool(VersionOrder(x.text, a[1].text) < 0);
  if (f == "versionle") return Bool(VersionOrder(x.text, a[1].text) <= 0);
  if (f == "versiongt") return Bool(VersionOrder(x.text, a[1].text) > 0);
  if (f == "versionge") return Bool(VersionOrder(x.text, a[1].text) >= 0);
  if (f == "versioninrange" || f == "version_in_range") {
    return Bool(VersionOrder(a[1].text, x.text) <= 0 && VersionOrder(x.text, a[2].text) <= 0);
  }
  static const std::string kOfOne[] = {"split",         "stringlistsize", "stringlistsum",
                                       "stringlistavg", "stringlistmin",  "stringlistmax"};
  const std::size_t separators_at = std::find(std::begin(kOfOne), std::end(kOfOne), f) != std::end(kOfOne) ? 1 : 2;
  const std::string separators = a.size() > separators_at ? a[separators_at].text : " ,";
  if (std::any_of(separators.begin(), separators.end(), [](char c) { return (c & 0x80) != 0; })) return Error();
  const auto first = Pieces(x.text, separators);
  if (f == "split") {
    std::vector<Val> items;
    items.reserve(first.size());
    for (const std::string& piece : first) items.push_back(Str(piece));
    return List(items);
  }
  if (separators_at == 1) {
    if (f == "stringlistsize") return Int(static_cast<std::int64_t>(first.size()));
    const bool adds = f == "stringlistsum" || f == "stringlistavg";
    if (first.empty()) return adds ? Real(0) : Undefined();
    std::vector<Val> numbers;
    numbers.reserve(first.size());
    for (const std::string& piece : first) numbers.push_back(TextToNumber(piece));
    return FromList(f.substr(10), List(numbers));
  }
  const auto second = Pieces(a[1].text, separators);
  if (f == "stringlistmember") return Bool(Holds(second, x.text));
  if (f == "stringlistimember") {
    return Bool(std::any_of(second.begin(), second.end(), [&](const auto& s) { return Lower(s) == Lower(x.text); }));
  }
  const auto in_second = [&](const std::string& piece) { return Holds(second, piece); };
  if (f == "stringlistisubsetmatch") {
    return Bool(std::all_of(first.begin(), first.end(), [&](const std::string& piece) {
      return std::any_of(second.begin(), second.end(), [&](const auto& s) { return Lower(s) == Lower(piece); });
    }));
  }
  if (f == "stringlistsubsetmatch") return Bool(std::all_of(first.begin(), first.end(), in_second));
  if (f == "stringlistsintersect") return Bool(std::any_of(first.begin(), first.end(), in_second));
  std::abort();  // a function that the naive evaluator has not learnt
}

inline Val Call(const std::string& name, const std::vector<Val>& a, const World& world) {
  const std::string f = Lower(name);
  if (f == "time") return Int(world.time);
  if (f == "isundefined") return Bool(a[0].kind == Val::kUndefined);
  if (f == "iserror") return Bool(a[0].kind == Val::kError);
  if (f == "isstring") return Bool(a[0].kind == Val::kString);
  if (f == "isinteger") return Bool(a[0].kind == Val::kInteger);
  if (f == "isreal") return Bool(a[0].kind == Val::kReal);
  if (f == "isboolean") return Bool(a[0].kind == Val::kBoolean);
  if (f == "islist") return Bool(a[0].kind == Val::kList);
  if (f == "isclassad") return Bool(a[0].kind == Val::kRecord);
  if (f == "ifthenelse") {
    Val condition = AsBoolean(a[0]);
    if (condition.kind != Val::kBoolean) return condition;
    return condition.boolean ? a[1] : a[2];
  }
  if (f == "identicalmember") {
    if (a[1].kind == Val::kUndefined) return Undefined();
    if (a[1].kind != Val::kList || a[0].kind == Val::kList || a[0].kind == Val::kRecord) return Error();
    return Bool(std::any_of(a[1].items.begin(), a[1].items.end(), [&](const Val& item) { return Same(item, a[0]); }));
  }
  const bool compare = f == "anycompare" || f == "allcompare";
  const std::string op = compare ? Lower(a[0].text) : "";
  const bool is = op == "is" || op == "isnt" || op == "=?=" || op == "=!=";
  bool undefined = false, error = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (compare && is && i == 2) continue;  // may be anything there
    undefined |= a[i].kind == Val::kUndefined;
    error |= a[i].kind == Val::kError;
  }
  if (error) return Error();
  if (undefined) return Undefined();
  if (!compare) return Strict(f, a);
  const bool known = is || Holds({"<", "<=", ">", ">=", "==", "!="}, op);
  if (a[0].kind != Val::kString || a[1].kind != Val::kList || !known) return Error();
  if (a[2].kind == Val::kList || a[2].kind == Val::kRecord) return Error();
  std::size_t holds = 0;
  for (const Val& item : a[1].items) holds += Same(Binary(op, item, a[2]), Bool(true));
  return Bool(f == "anycompare" ? holds > 0 : holds == a[1].items.size());
}

}  // namespace allot::expr::naive

// SPDX-License-Identifier: Apache-2.0
#include "match/explain_suggest.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "base/text.h"

namespace allot {
namespace {

using expr::Scope;
using expr::Side;
using Kind = Suggestion::Kind;

// Words to choose from. Whoever has more cannot be helped by guessing.
constexpr std::size_t kMostWords = 4096;
constexpr std::size_t kMostSuggestions = 16;
// Longer words are no names that somebody typed.
constexpr std::size_t kMostBytes = 64;

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = AsciiLower(c);
  return out;
}

class Words {
 public:
  void Add(std::string_view word) {
    if (word.empty() || word.size() > kMostBytes || words_.size() >= kMostWords) return;
    words_.emplace(Lower(word), word);
  }
  // A name, as others wrote it; empty: none is near. Case alone counts as a typo, too.
  std::string NearName(std::string_view given) const {
    return Near(given, [](std::string_view word, std::span<const std::string_view> candidates) {
      return Nearest(word, candidates);
    });
  }
  // A value: only what can hardly be another one that was meant.
  std::string NearValue(std::string_view given) const {
    return Near(given, [](std::string_view word, std::span<const std::string_view> candidates) {
      const auto found =
          std::find_if(candidates.begin(), candidates.end(), [&](std::string_view one) { return IsSlip(word, one); });
      return found == candidates.end() ? std::string_view() : *found;
    });
  }

 private:
  template <typename Choose>
  std::string Near(std::string_view given, Choose choose) const {
    if (given.size() > kMostBytes) return {};
    const std::string lower = Lower(given);
    if (const auto same = words_.find(lower); same != words_.end()) return same->second;
    std::vector<std::string_view> candidates;
    candidates.reserve(words_.size());
    for (const auto& [word, written] : words_) candidates.push_back(word);
    std::sort(candidates.begin(), candidates.end());  // always the same answer
    const std::string_view near = choose(lower, candidates);
    return near.empty() ? std::string() : words_.find(std::string(near))->second;
  }

  std::unordered_map<std::string, std::string> words_;  // in lower case, and as first written
};

class Suggester {
 public:
  Suggester(const MatchSnapshot& s, const Conditions& conditions, const ExplainOptions& options, Explanation& e)
      : s_(s), conditions_(conditions), options_(options), e_(e) {}

  void OfTags() {
    if (std::none_of(e_.tags.begin(), e_.tags.end(), [](const auto& tag) { return tag.status == "never_seen"; }))
      return;
    Words words;
    Each([&](const MatchSnapshot::Worker& worker) {
      for (const std::string& tag : worker.traits->tags) words.Add(tag);
    });
    for (const Explanation::Tag& tag : e_.tags) {
      if (Over()) return;
      if (tag.status != "never_seen") continue;
      Add(Kind::kTag, tag.tag, words.NearValue(tag.tag), "",
          fmt::format("no worker has been seen with the tag `{}`", tag.tag));
    }
  }

  void OfProperties() {
    for (const Explanation::Alternative& alternative : e_.constraints) {
      for (const auto& [key, value, workers] : alternative.pairs) {
        if (Over()) return;
        if (workers > 0) continue;
        Words words;
        Each([&, wanted = &key](const MatchSnapshot::Worker& worker) {
          for (const auto& [name, has] : worker.traits->properties) {
            if (name == *wanted) words.Add(has);
          }
        });
        Add(Kind::kProperty, value, words.NearValue(value), key,
            fmt::format("no worker has the property {}={}", key, value));
      }
    }
  }

  void OfClause(const expr::Expr& clause) {
    for (const expr::Reference& reference : clause.References()) {
      if (Over()) return;
      OfName(reference);
    }
    const auto comparison = clause.AsComparison();
    if (!comparison || !comparison->constant.is(expr::Type::kString)) return;
    if (comparison->op != "==" && comparison->op != "=?=" && comparison->op != "is") return;
    const expr::Reference& attribute = comparison->attribute;
    if (!ReachesWorker(attribute.scope, Side::kJob)) return;
    const std::string_view given = comparison->constant.string();
    const bool any_case = comparison->op == "==";
    bool there = false;
    Words words;
    Each([&](const MatchSnapshot::Worker& worker) {
      const expr::Value* value = conditions_.Find(attribute, worker, Side::kJob);
      if (value == nullptr || !value->is(expr::Type::kString)) return;
      there = there || (any_case ? expr::SameName(value->string(), given) : value->string() == given);
      words.Add(value->string());
    });
    if (there) return;
    Add(Kind::kValue, given, words.NearValue(given), attribute.name,
        fmt::format("no worker has {} as its {}", Cut(expr::Print(comparison->constant)), attribute.name));
  }

 private:
  // Comparing words costs, too: hostile expressions have many names.
  bool Over() const { return e_.suggestions.size() >= kMostSuggestions || (options_.enough && options_.enough()); }
  template <typename F>
  void Each(F f) {
    for (const MatchSnapshot::Worker& worker : s_.workers) {
      if (options_.enough && options_.enough()) return;
      f(worker);
    }
  }

  void OfName(const expr::Reference& reference) {
    const bool of_worker = ReachesWorker(reference.scope, Side::kJob);
    const bool of_job = !of_worker || reference.scope == Scope::kNone;
    bool there = false;
    Words words;
    const expr::NameHash hash = expr::HashName(reference.name);
    const auto add = [&](const expr::Ad& ad) {
      there = there || ad.Find(reference.name, hash) != nullptr;
      if (!there) ad.ForEach([&](std::string_view name, const expr::Value&) { words.Add(name); });
    };
    if (of_job && s_.ad != nullptr) add(*s_.ad);
    if (of_worker && !there) Each([&](const MatchSnapshot::Worker& worker) { add(*worker.traits->ad); });
    if (there) return;
    Add(of_worker ? Kind::kAttribute : Kind::kJobAttribute, reference.name, words.NearName(reference.name), "",
        of_worker ? fmt::format("no worker shows `{}`", reference.name)
                  : fmt::format("the job does not show `{}`", reference.name));
  }

  void Add(Kind kind, std::string_view given, std::string nearest, std::string_view where, const std::string& message) {
    if (nearest.empty() || nearest == given || e_.suggestions.size() >= kMostSuggestions) return;
    for (const Suggestion& known : e_.suggestions) {
      if (known.kind == kind && known.given == given && known.where == where) return;
    }
    e_.suggestions.push_back({kind, std::string(given), nearest, std::string(where),
                              fmt::format("{}; did you mean `{}`?", message, nearest)});
  }

  const MatchSnapshot& s_;
  const Conditions& conditions_;
  const ExplainOptions& options_;
  Explanation& e_;
};

}  // namespace

void Suggest(const MatchSnapshot& snapshot, const Conditions& conditions, const std::vector<std::size_t>& doubtful,
             const ExplainOptions& options, Explanation& explanation) {
  Suggester suggester(snapshot, conditions, options, explanation);
  suggester.OfTags();
  suggester.OfProperties();
  for (const std::size_t i : doubtful) suggester.OfClause(*conditions.clauses()[i]);
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "cli/selector.h"

#include <charconv>

namespace allot::cli {

Result<std::string> FindJob(allotter::Client& client, const std::string& selector) {
  if (selector == "last") return selector;
  if (selector.starts_with("last:")) {
    const std::string_view digits = std::string_view(selector).substr(5);
    unsigned nth = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), nth);
    if (error != std::errc() || end != digits.data() + digits.size() || nth == 0 || nth > 1000) {
      return Error{Code::kBadValue, "`" + selector + "` names no job", "last:1 is the newest, up to last:1000"};
    }
    allotter::JobQuery query;
    unsigned seen = 0;
    for (;;) {
      query.limit = nth - seen;
      auto page = client.jobs().List(query);
      if (!page) return page.error();
      seen += static_cast<unsigned>(page->jobs.size());
      if (seen >= nth) return page->jobs[page->jobs.size() - 1 - (seen - nth)].id;
      if (page->next.empty()) break;
      query.before = page->next;
    }
    return Error{Code::kUnknownJob, "there are fewer than " + std::to_string(nth) + " jobs", ""};
  }
  if (selector.empty() || selector.find_first_not_of("0123456789") != std::string::npos) {
    return Error{Code::kBadValue, "`" + selector + "` is no job's id", "ids are numbers; `last` is the newest job"};
  }
  return selector;
}

}  // namespace allot::cli

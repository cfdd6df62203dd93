// SPDX-License-Identifier: Apache-2.0
#include "server/wire/users_json.h"

#include "base/bounds.h"
#include "base/json.h"
#include "base/try.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "wire/queues.h"
#include "wire/writer.h"

namespace allot {
namespace {

double PartOf(std::uint64_t of, std::uint64_t all) {
  return all == 0 ? 0 : Thousandths(static_cast<double>(of) / static_cast<double>(all));
}

void AppendUser(const UserView& user, const UserPage& page, JsonWriter& json) {
  const bool active = user.queued > 0 || user.running > 0;
  wire::Writer<wire::kUser> w(json);
  w.Text("user", user.user);
  w.Count("weight", user.weight);
  w.Real("share", active ? PartOf(user.weight, page.weights) : 0);
  w.Real("use", PartOf(user.running, page.running));
  w.Count("jobs", user.jobs);
  w.Count("queued", user.queued);
  w.Count("retrying", user.retrying);
  w.Count("running", user.running);
  w.Count("started", user.started);
  w.Real("starts_per_s", Thousandths(user.recent));
  w.Time("oldest_at_ms", user.oldest);
  const std::uint64_t count = user.waited.Count();
  {
    auto waited_ms = w.Open<wire::kWaited>("waited_ms");
    waited_ms.Count("mean", count == 0 ? 0 : user.waited.sum_ms / count);
    waited_ms.Int("p50", user.waited.Quantile(0.5).count());
    waited_ms.Int("p95", user.waited.Quantile(0.95).count());
  }
}

}  // namespace

Result<UserQuery> ParseUserQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"after", "limit", "user"};
  static_assert(wire::SameNames(wire::kUsersQuery, kKnown));
  TRY(const Query query, Query::Parse(text, kKnown));
  UserQuery out;
  for (const std::string_view name : {"after", "user"}) {
    const std::optional<std::string_view> user = query.Get(name);
    if (!user) continue;
    TRY_OK(CheckPlainText(name, *user, bounds::kMaxUserBytes));
    if (name == "after") {
      out.after = *user;
    } else {
      out.only = std::string(*user);
    }
  }
  const auto limit = query.Number("limit", 1, bounds::kMaxPageItems);
  if (!limit.ok()) return limit.error();
  if (*limit) out.limit = static_cast<std::size_t>(**limit);
  return out;
}

void AppendUsers(const UserPage& page, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kUsersPage> w(json);
  w.Value("users").BeginArray();
  for (const UserView& user : page.users) AppendUser(user, page, json);
  json.EndArray();
  w.Text("next", page.next);
  w.Count("active", page.active);
  w.Count("running", page.running);
  w.Real("starts_per_s", Thousandths(page.recent));
}

}  // namespace allot

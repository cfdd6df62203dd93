#include "server/wire/users_json.h"

#include "base/bounds.h"
#include "base/json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

double PartOf(std::uint64_t of, std::uint64_t all) {
  return all == 0 ? 0 : Thousandths(static_cast<double>(of) / static_cast<double>(all));
}

void AppendUser(const UserView& user, const UserPage& page, JsonWriter& w) {
  const bool active = user.ready > 0 || user.running > 0;
  w.BeginObject();
  w.Key("user").String(user.user).Key("weight").Uint(user.weight);
  w.Key("share")
      .Real(active ? PartOf(user.weight, page.weights) : 0)
      .Key("use")
      .Real(PartOf(user.running, page.running));
  w.Key("jobs").Uint(user.jobs).Key("ready").Uint(user.ready).Key("waiting").Uint(user.waiting);
  w.Key("running").Uint(user.running).Key("started").Uint(user.started);
  w.Key("starts_per_s").Real(Thousandths(user.recent));
  w.Key("oldest_at_ms");
  user.oldest ? w.Int(ToMillis(*user.oldest)) : w.Null();
  const std::uint64_t count = user.waited.Count();
  w.Key("waited_ms").BeginObject();
  w.Key("mean").Uint(count == 0 ? 0 : user.waited.sum_ms / count);
  w.Key("p50").Int(user.waited.Quantile(0.5).count()).Key("p95").Int(user.waited.Quantile(0.95).count());
  w.EndObject();
  w.EndObject();
}

}  // namespace

Result<UserQuery> ParseUserQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"after", "limit", "user"};
  const Result<Query> query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  UserQuery out;
  for (const std::string_view name : {"after", "user"}) {
    const std::optional<std::string_view> user = query->Get(name);
    if (!user) continue;
    if (const auto check = CheckPlainText(name, *user, bounds::kMaxUserBytes); !check.ok()) return check.error();
    if (name == "after") {
      out.after = *user;
    } else {
      out.only = std::string(*user);
    }
  }
  const auto limit = query->Number("limit", 1, bounds::kMaxPageItems);
  if (!limit.ok()) return limit.error();
  if (*limit) out.limit = static_cast<std::size_t>(**limit);
  return out;
}

void AppendUsers(const UserPage& page, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  w.Key("users").BeginArray();
  for (const UserView& user : page.users) AppendUser(user, page, w);
  w.EndArray();
  w.Key("next");
  page.next ? w.String(*page.next) : w.Null();
  w.Key("active").Uint(page.active).Key("running").Uint(page.running);
  w.Key("starts_per_s").Real(Thousandths(page.recent));
  w.EndObject();
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "server/ops/access.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "engine/errors.h"

namespace allot {
namespace {

Principal With(const std::string& scopes, std::optional<std::string> user = {}, std::optional<std::string> queue = {}) {
  Principal principal;
  principal.id = "0123456789ab";
  principal.name = "tok";
  principal.scopes = *ScopeSet::Parse(scopes);
  principal.user = std::move(user);
  principal.queue = std::move(queue);
  return principal;
}

std::string Verdict(const Result<void>& result) {
  return result.ok() ? "ok" : std::string(CodeText(result.error().code));
}

struct Asked {
  std::string host;
  std::string origin;
  std::string want;
};
void Expect(const Config& config, const std::vector<Asked>& rows) {
  const OriginPolicy policy(config);
  for (const Asked& row : rows)
    EXPECT_EQ(Verdict(policy.Check(row.host, row.origin)), row.want) << row.host << " " << row.origin;
}

TEST(OriginPolicy, OnLoopback) {
  Config config;
  Expect(config, {
                     {"127.0.0.1:7420", "", "ok"},
                     {"localhost:7420", "", "ok"},
                     {"LOCALHOST", "", "ok"},
                     {"[::1]:7420", "", "ok"},
                     {"127.0.0.1:7420", "http://127.0.0.1:7420", "ok"},
                     {"localhost:7420", "http://localhost:7420", "ok"},
                     {"localhost:7420", "HTTPS://LocalHost:7420", "ok"},
                     {"", "", "bad_request"},
                     {"evil.example", "", "foreign_origin"},
                     {"evil.example:7420", "http://evil.example:7420", "foreign_origin"},  // rebinding
                     {"localhost.evil.example", "", "foreign_origin"},
                     {"localhost:7420", "http://evil.example", "foreign_origin"},
                     {"localhost:7420", "http://localhost:3000", "foreign_origin"},  // another program's pages
                     {"localhost:7420", "http://localhost", "foreign_origin"},
                     {"localhost:7420", "null", "foreign_origin"},
                     {"localhost:7420", "file://", "foreign_origin"},
                     {"localhost:7420", "http://localhost:7420.evil.example", "foreign_origin"},
                     {"localhost:7420", "http://localhost:7420@evil.example", "foreign_origin"},
                     {"10.0.0.1:7420", "", "foreign_origin"},
                     {"localhost:evil", "", "foreign_origin"},
                     {"[::1", "", "foreign_origin"},
                     {"[::1]x", "", "foreign_origin"},
                     {std::string(100'000, 'a'), "", "foreign_origin"},
                 });
}

TEST(OriginPolicy, OnAllAddresses) {
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof name - 1), 0);
  Config config;
  config.listen.host = "0.0.0.0";
  config.allowed_hosts = {"queue.example.com", "other.example:8443"};
  config.allowed_origins = {"https://dash.example.com/"};
  Expect(config, {
                     {"10.0.0.1:7420", "", "ok"},
                     {"[2001:db8::1]:7420", "", "ok"},
                     {"queue.example.com", "", "ok"},
                     {"queue.example.com:443", "https://queue.example.com:443", "ok"},
                     {"other.example", "", "ok"},
                     {std::string(name) + ":7420", "", "ok"},
                     {"queue.example.com", "https://dash.example.com", "ok"},
                     {"queue.example.com", "http://dash.example.com", "foreign_origin"},
                     {"evil.example.com", "", "foreign_origin"},
                     {"10.0.0.1:7420", "http://evil.example", "foreign_origin"},
                 });
}

TEST(OriginPolicy, AStarOpensAll) {
  Config config;
  config.allowed_hosts = {"*"};
  Expect(config, {{"anything", "", "ok"}, {"anything", "http://evil", "foreign_origin"}});
  config.allowed_origins = {"*"};
  Expect(config, {{"anything", "http://evil", "ok"}});
}

TEST(Scopes, OnlyAdminIncludesOthers) {
  const Scope all[] = {Scope::kSubmit, Scope::kWork, Scope::kRead, Scope::kOperate, Scope::kAdmin};
  for (const Scope has : all) {
    for (const Scope needs : all) {
      const auto got = RequireScope(With(std::string(ScopeText(has))), needs);
      EXPECT_EQ(got.ok(), has == needs || has == Scope::kAdmin) << ScopeText(has) << " " << ScopeText(needs);
    }
  }
  EXPECT_NE(RequireScope(With("read"), Scope::kWork).error().message.find("`work`"), std::string::npos);
}

TEST(Scopes, ParseAndPrint) {
  EXPECT_EQ(ScopeSet::Parse("read, submit work")->Text(), "submit,work,read");
  EXPECT_EQ(ScopeSet::All().Text(), "submit,work,read,operate,admin");
  EXPECT_FALSE(ScopeSet::Parse("").ok());
  EXPECT_FALSE(ScopeSet::Parse(" , ").ok());
  EXPECT_NE(ScopeSet::Parse("sumbit").error().hint.find("`submit`"), std::string::npos);
}

TEST(Access, AFixedQueueIsTheOnlyOne) {
  EXPECT_EQ(Verdict(RequireQueue(With("read"), "any")), "ok");
  EXPECT_EQ(Verdict(RequireQueue(With("read", {}, "q"), "q")), "ok");
  EXPECT_EQ(Verdict(RequireQueue(With("admin", {}, "q"), "other")), "forbidden");
}

TEST(Access, AFixedUserCannotBeForged) {
  const auto claim = [](const Principal& principal, std::optional<std::string> given) {
    JobRequest request;
    request.user_given = given.has_value();
    request.spec.user = given.value_or("");
    const auto got = ClaimUser(principal, request);
    return got.ok() ? "as " + request.spec.user : Verdict(got);
  };
  EXPECT_EQ(claim(With("submit"), {}), "as ");
  EXPECT_EQ(claim(With("submit"), "bob"), "as bob");
  EXPECT_EQ(claim(With("submit", "ann"), {}), "as ann");
  EXPECT_EQ(claim(With("submit", "ann"), "ann"), "as ann");
  EXPECT_EQ(claim(With("submit", "ann"), "bob"), "forbidden");
  EXPECT_EQ(claim(With("submit", "ann"), ""), "forbidden");
  EXPECT_EQ(claim(With("admin", "ann"), "bob"), "forbidden");
}

TEST(Access, JobsOfOthersLookAsIfTheyWereNotThere) {
  const Principal ann = With("submit,read", "ann");
  EXPECT_EQ(Verdict(RequireSeen(ann, JobId{5}, "ann")), "ok");
  EXPECT_EQ(Verdict(RequireSeen(ann, JobId{5}, "bob")), "unknown_job");
  EXPECT_EQ(RequireSeen(ann, JobId{5}, "bob").error().message, UnknownJob(JobId{5}).message);
  EXPECT_EQ(Verdict(RequireChange(ann, JobId{5}, "ann")), "ok");
  EXPECT_EQ(Verdict(RequireChange(ann, JobId{5}, "bob")), "unknown_job");
  EXPECT_EQ(Verdict(RequireChange(With("read", "ann"), JobId{5}, "bob")), "unknown_job");
  EXPECT_EQ(Verdict(RequireChange(With("read", "ann"), JobId{5}, "ann")), "forbidden");
  EXPECT_EQ(Verdict(RequireChange(With("operate"), JobId{5}, "bob")), "ok");
  EXPECT_EQ(Verdict(RequireChange(With("work,read"), JobId{5}, "bob")), "forbidden");
}

TEST(Access, ListsAreNarrowed) {
  JobQuery query;
  EXPECT_TRUE(NarrowToSeen(With("read", "ann"), query).ok());
  EXPECT_EQ(query.user, "ann");
  query.user = "bob";
  EXPECT_EQ(Verdict(NarrowToSeen(With("read", "ann"), query)), "forbidden");
  EXPECT_TRUE(NarrowToSeen(With("read"), query).ok());
  EXPECT_EQ(query.user, "bob");
  EXPECT_EQ(LastOf(With("read", "ann")), "ann");
  EXPECT_EQ(LastOf(With("read")), "");
}

}  // namespace
}  // namespace allot

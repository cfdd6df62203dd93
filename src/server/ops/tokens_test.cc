// SPDX-License-Identifier: Apache-2.0
#include "server/ops/tokens.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "server/ops/log.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class TokensTest : public ::testing::Test {
 protected:
  TokensTest()
      : dir_(std::filesystem::temp_directory_path() / ("allot_tokens_" + std::to_string(getpid()))), file_(Path()) {
    std::filesystem::remove_all(dir_);
    InitLogTo(log_, LogLevel::kInfo, LogFormat::kText);
  }
  ~TokensTest() override {
    InitLogTo(Null(), LogLevel::kOff, LogFormat::kText);
    std::filesystem::remove_all(dir_);
  }
  static std::ostream& Null() {
    static std::ostringstream null;
    return null;
  }
  std::string Path() const { return dir_ / "tokens.json"; }
  std::string Text() const {
    std::ifstream in(Path());
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void Put(const std::string& text) {
    std::filesystem::create_directories(dir_);
    std::ofstream(Path()) << text;
  }
  TokenFile::Created Make(const std::string& scopes = "submit,read", const std::string& name = "ann") {
    auto created = file_.Create(
        NewToken{.name = name, .scopes = *ScopeSet::Parse(scopes), .user = {}, .queue = {}, .expires_at = {}},
        now_.wall);
    EXPECT_TRUE(created.ok()) << created.error().message;
    return *created;
  }
  void Later(Duration by) {
    now_.mono += by;
    now_.wall += std::chrono::duration_cast<milliseconds>(by);
  }

  const std::filesystem::path dir_;
  TokenFile file_;
  Now now_{Instant(1h), FromMillis(1'800'000'000'000)};
  std::ostringstream log_;
};

TEST_F(TokensTest, ACreatedTokenIsListedButItsSecretIsNowhere) {
  EXPECT_FALSE(file_.Exists());
  EXPECT_TRUE(file_.List()->empty());
  const auto created = Make();
  EXPECT_EQ(created.text.size(), 6u + 12 + 1 + 64);
  EXPECT_EQ(created.text.find("allot_" + created.record.id + "_"), 0u);
  const auto list = file_.List();
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ((*list)[0].name, "ann");
  EXPECT_EQ((*list)[0].scopes.Text(), "submit,read");
  EXPECT_EQ((*list)[0].created_at, now_.wall);
  EXPECT_EQ(Text().find(created.text.substr(19)), std::string::npos);
  struct stat info {};
  ASSERT_EQ(stat(Path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(dir_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(TokensTest, WrongTokensAreNotCreated) {
  const auto code = [&](NewToken token) {
    const auto got = file_.Create(token, now_.wall);
    return got.ok() ? "ok" : std::string(CodeText(got.error().code));
  };
  NewToken token{.name = "a", .scopes = {}, .user = {}, .queue = {}, .expires_at = {}};
  EXPECT_EQ(code(token), "bad_value");
  token.scopes.Add(Scope::kRead);
  token.name = "a\nb";
  EXPECT_EQ(code(token), "bad_value");
  token.name = "a";
  token.user = "";
  EXPECT_EQ(code(token), "bad_value");
  token.user = "ann";
  token.queue = "../x";
  EXPECT_EQ(code(token), "bad_value");
  token.queue = "q";
  token.expires_at = now_.wall;
  EXPECT_EQ(code(token), "bad_value");
  EXPECT_FALSE(file_.Exists());
  token.expires_at = now_.wall + 1s;
  EXPECT_EQ(code(token), "ok");
}

TEST_F(TokensTest, RevokeByIdOrName) {
  const auto a = Make("read", "a");
  Make("read", "twice");
  Make("read", "twice");
  EXPECT_EQ(file_.Revoke("nobody").error().code, Code::kNotFound);
  EXPECT_EQ(file_.Revoke("").error().code, Code::kNotFound);
  EXPECT_EQ(file_.Revoke("twice").error().code, Code::kBadValue);
  EXPECT_EQ(file_.Revoke("a")->id, a.record.id);
  EXPECT_EQ(file_.Revoke((*file_.List())[0].id)->name, "twice");
  EXPECT_EQ(file_.Revoke("twice")->name, "twice");
  EXPECT_TRUE(file_.List()->empty());
  EXPECT_TRUE(file_.Exists());  // and so a token is still needed
}

TEST_F(TokensTest, WritersAtOnceLoseNothing) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      TokenFile mine(Path());
      for (int i = 0; i < 5; ++i) {
        NewToken token{
            .name = std::to_string(t * 10 + i), .scopes = ScopeSet::All(), .user = {}, .queue = {}, .expires_at = {}};
        EXPECT_TRUE(mine.Create(token, now_.wall).ok());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(file_.List()->size(), 20u);
}

TEST_F(TokensTest, WithoutAFileAnyoneIsLocal) {
  auto book = TokenBook::Open(Path());
  ASSERT_TRUE(book.ok());
  EXPECT_FALSE((*book)->required());
  const auto got = (*book)->Verify("", now_);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->principal->name, "local");
  for (const Scope scope : {Scope::kSubmit, Scope::kWork, Scope::kRead, Scope::kOperate, Scope::kAdmin}) {
    EXPECT_TRUE(got->principal->Has(scope));
  }
}

TEST_F(TokensTest, OnlyTheExactTokenOpens) {
  const auto created = Make();
  const std::string& token = created.text;
  auto book = TokenBook::Open(Path());
  ASSERT_TRUE(book.ok());
  EXPECT_TRUE((*book)->required());
  for (const std::string& header : {"Bearer " + token, "bearer " + token, "BEARER   " + token + " "}) {
    const auto got = (*book)->Verify(header, now_);
    ASSERT_TRUE(got.ok()) << header;
    EXPECT_EQ(got->principal->name, "ann");
    EXPECT_EQ(got->principal->id, created.record.id);
    EXPECT_TRUE(got->principal->Has(Scope::kRead));
    EXPECT_FALSE(got->principal->Has(Scope::kWork));
  }
  std::string changed = token;
  changed.back() = changed.back() == '0' ? '1' : '0';
  std::string other_id = token;
  other_id[6] = other_id[6] == '0' ? '1' : '0';
  for (const std::string& header : std::vector<std::string>{
           std::string(), token, "Basic " + token, "Bearer", "Bearer ", "Bearer " + changed, "Bearer " + other_id,
           "Bearer " + token + "0", "Bearer " + token.substr(0, token.size() - 1), "Bearer x" + token.substr(1),
           "Bearer " + std::string(1'000'000, 'a')}) {
    const auto got = (*book)->Verify(header, now_);
    ASSERT_FALSE(got.ok()) << header.substr(0, 100);
    EXPECT_EQ(got.error().code, Code::kUnauthorized);
    EXPECT_EQ(got.error().message.find(token), std::string::npos);
  }
}

TEST_F(TokensTest, AnAdmissionHoldsUntilTheFileChanges) {
  const auto a = Make("admin", "a");
  auto opened = TokenBook::Open(Path());
  ASSERT_TRUE(opened.ok());
  TokenBook& book = **opened;
  const auto admission = book.Verify("Bearer " + a.text, now_);
  ASSERT_TRUE(admission.ok());
  EXPECT_TRUE(book.Holds(*admission, now_));
  const auto b = Make("read", "b");
  EXPECT_FALSE(book.Verify("Bearer " + b.text, now_).ok());  // not yet looked
  Later(1s);
  EXPECT_FALSE(book.Holds(*admission, now_));
  EXPECT_TRUE(book.Verify("Bearer " + b.text, now_).ok());
  const auto again = book.Verify("Bearer " + a.text, now_);
  ASSERT_TRUE(again.ok());
  // What was begun in its name may go on, whatever becomes of others.
  EXPECT_TRUE(book.StillHolds(*admission->principal, now_));
  EXPECT_FALSE(book.StillHolds(*LocalPrincipal(), now_));
  ASSERT_TRUE(file_.Revoke("a").ok());
  Later(1s);
  EXPECT_TRUE(book.StillHolds(*admission->principal, now_));  // nobody has looked
  EXPECT_FALSE(book.Holds(*again, now_));
  EXPECT_FALSE(book.StillHolds(*admission->principal, now_));
  EXPECT_FALSE(book.Verify("Bearer " + a.text, now_).ok());
}

TEST_F(TokensTest, ExpiryEndsIt) {
  NewToken token{.name = "short", .scopes = ScopeSet::All(), .user = {}, .queue = {}, .expires_at = now_.wall + 10s};
  const auto created = file_.Create(token, now_.wall);
  ASSERT_TRUE(created.ok());
  auto book = TokenBook::Open(Path());
  const auto got = (*book)->Verify("Bearer " + created->text, now_);
  ASSERT_TRUE(got.ok());
  Later(9999ms);
  EXPECT_TRUE((*book)->Holds(*got, now_));
  Later(1ms);
  EXPECT_FALSE((*book)->Holds(*got, now_));
  EXPECT_NE((*book)->Verify("Bearer " + created->text, now_).error().message.find("expired"), std::string::npos);
}

TEST_F(TokensTest, AFirstTokenShutsTheDoorOfARunningServer) {
  auto book = TokenBook::Open(Path());
  const auto open = (*book)->Verify("", now_);
  ASSERT_TRUE(open.ok());
  Make();
  Later(1s);
  EXPECT_FALSE((*book)->Holds(*open, now_));
  EXPECT_FALSE((*book)->Verify("", now_).ok());
  EXPECT_TRUE((*book)->required());
}

TEST_F(TokensTest, ALostOrBrokenFileNeverOpensTheDoor) {
  const auto a = Make();
  auto book = TokenBook::Open(Path());
  std::filesystem::remove(Path());
  Later(2s);
  EXPECT_FALSE((*book)->Verify("", now_).ok());
  EXPECT_TRUE((*book)->Verify("Bearer " + a.text, now_).ok());
  Put("{ broken");
  Later(2s);
  EXPECT_FALSE((*book)->Verify("", now_).ok());
  EXPECT_TRUE((*book)->Verify("Bearer " + a.text, now_).ok());
  EXPECT_NE(log_.str().find("could not be read"), std::string::npos);
}

TEST_F(TokensTest, AFileThatIsNotOneOfTokensIsRefused) {
  const std::string hash(64, 'a');
  const auto with = [&](const std::string& fields) {
    return R"({"version":1,"tokens":[{"id":"0123456789ab","name":"n","hash":")" + hash + R"(","created_at_ms":1,)" +
           fields + "}]}";
  };
  struct Row {
    std::string text;
    const char* want;
  };
  const Row rows[] = {
      {"", "store_corrupt"},
      {"[]", "store_corrupt"},
      {"{}", "store_corrupt"},
      {R"({"version":1})", "store_corrupt"},
      {R"({"version":2,"tokens":[]})", "store_newer"},
      {R"({"version":1,"tokens":[1]})", "store_corrupt"},
      {R"({"version":1,"tokens":[{}]})", "store_corrupt"},
      {with(R"("scopes":"everything")"), "store_corrupt"},
      {with(R"("scopes":"")"), "store_corrupt"},
      {with(R"("scopes":"read","user":5)"), "store_corrupt"},
      {with(R"("scopes":"read","user":null)"), "store_corrupt"},
      {with(R"("scopes":"read","user":"")"), "store_corrupt"},
      {with(R"("scopes":"read","expires_at_ms":"soon")"), "store_corrupt"},
  };
  for (const Row& row : rows) {
    Put(row.text);
    const auto got = TokenBook::Open(Path());
    ASSERT_FALSE(got.ok()) << row.text;
    EXPECT_EQ(CodeText(got.error().code), row.want) << row.text;
    EXPECT_FALSE(file_
                     .Create(NewToken{.name = "", .scopes = ScopeSet::All(), .user = {}, .queue = {}, .expires_at = {}},
                             now_.wall)
                     .ok());
  }
  Put(with(R"("scopes":"read","user":"ann","queue":"q")"));
  EXPECT_EQ((*file_.List())[0].user, "ann");
}

}  // namespace
}  // namespace allot

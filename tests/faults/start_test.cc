// SPDX-License-Identifier: Apache-2.0
// A server that cannot start says why, with an exit code that scripts can use, and leaves the files as they were.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "faults/fixture.h"

namespace allot::testing {
namespace {

namespace fs = std::filesystem;

// Of docs/reference/cli.md.
constexpr int kUsage = 2;
constexpr int kConflict = 6;

Finished Serve(const std::string& data, std::vector<std::string> flags = {}) {
  std::vector<std::string> argv = {AllotBin(), "serve", "--listen", "127.0.0.1:" + std::to_string(FreePort()),
                                   "--data",   data};
  argv.insert(argv.end(), flags.begin(), flags.end());
  return RunProgram(argv, milliseconds(10'000));
}

// A data directory with a job in it, and no server.
std::string Used(const TempDir& dir) {
  LiveServer server({.data = dir / "data"});
  EXPECT_TRUE(server.Start()) << server.Log();
  Http http = server.http();
  SubmitJob(http, R"({"tag":"kept","count":5})");
  EXPECT_EQ(server.Stop().value_or(-1), 0);
  return dir / "data/queues/default.db";
}

TEST(Start, AForeignFileIsRefusedAndLeftAsItWas) {
  // A database of another program: the smallest there is has a table of its own. Built by hand from an empty one is not
  // possible, so a text file and a picture stand for what is no database at all.
  for (const std::string& content :
       {std::string("This is somebody's diary.\n"), std::string(8192, '\0'), "\x89PNG\r\n" + std::string(5000, 'x')}) {
    const TempDir dir;
    fs::create_directories(dir / "data/queues");
    WriteFile(dir / "data/queues/default.db", content);
    const Finished refused = Serve(dir / "data");
    EXPECT_EQ(refused.exit_code, kServerFailed) << refused.err;
    EXPECT_NE(refused.err.find("default.db"), std::string::npos) << refused.err;
    EXPECT_EQ(ReadFile(dir / "data/queues/default.db"), content);
  }
}

// Bytes of SQLite's header: 60 is user_version, 68 application_id, both big-endian.
TEST(Start, AFileOfAnotherProgramOrANewerOneIsRefusedAndLeftAsItWas) {
  struct Row {
    std::size_t at;
    std::string bytes;
    const char* word;
  };
  for (const Row& row : {Row{68, "WXYZ", "another program"}, Row{60, std::string("\0\0\1\0", 4), "newer"}}) {
    const TempDir dir;
    const std::string file = Used(dir);
    ASSERT_FALSE(fs::exists(file + "-wal")) << "a graceful stop leaves one file";
    std::string content = ReadFile(file);
    ASSERT_GT(content.size(), 100u);
    content.replace(row.at, 4, row.bytes);
    WriteFile(file, content);
    const Finished refused = Serve(dir / "data");
    EXPECT_EQ(refused.exit_code, kServerFailed) << refused.err;
    EXPECT_NE(refused.err.find(row.word), std::string::npos) << refused.err;
    EXPECT_EQ(ReadFile(file), content);
  }
}

TEST(Start, ADamagedFileIsRefusedAndLeftAsItWas) {
  const TempDir dir;
  const std::string file = Used(dir);
  const std::string whole = ReadFile(file);
  // The root pages overwritten; cut in the middle.
  std::string torn = whole;
  for (std::size_t i = 100; i < torn.size(); ++i) torn[i] = static_cast<char>(i * 7 + 3);
  for (const std::string& content : {torn, whole.substr(0, whole.size() / 2)}) {
    WriteFile(file, content);
    const Finished refused = Serve(dir / "data");
    EXPECT_EQ(refused.exit_code, kServerFailed) << refused.err;
    EXPECT_NE(refused.err.find("default.db"), std::string::npos) << refused.err;
    EXPECT_EQ(ReadFile(file), content);
  }
  WriteFile(file, whole);
  LiveServer server({.data = dir / "data"});
  EXPECT_TRUE(server.Start()) << server.Log();
}

TEST(Start, ASecondServerOnTheSameDataIsRefused) {
  const TempDir dir;
  LiveServer first({.data = dir / "data"});
  ASSERT_TRUE(first.Start()) << first.Log();
  Http http = first.http();
  SubmitJob(http, R"({"tag":"kept"})");
  const Finished second = Serve(dir / "data");
  EXPECT_EQ(second.exit_code, kConflict) << second.err;
  EXPECT_NE(second.err, "");
  EXPECT_EQ(http.Get(std::string(kJobs) + "/last").status, 200);
  // The lock goes with its owner, however that ends.
  first.Kill();
  LiveServer third({.data = dir / "data"});
  ASSERT_TRUE(third.Start()) << third.Log();
  EXPECT_EQ(third.http().Get(std::string(kJobs) + "/last").status, 200);
}

TEST(Start, APortInUseIsSaidSo) {
  const TempDir dir;
  LiveServer first;
  ASSERT_TRUE(first.Start()) << first.Log();
  const std::string listen = "127.0.0.1:" + std::to_string(first.port());
  const Finished second =
      RunProgram({AllotBin(), "serve", "--listen", listen, "--data", dir / "data"}, milliseconds(10'000));
  EXPECT_NE(second.exit_code, 0);
  EXPECT_NE(second.exit_code, 137) << "it did not end";
  EXPECT_NE(second.err.find(listen), std::string::npos) << second.err;
  EXPECT_EQ(first.http().Get("/readyz").status, 200);
}

TEST(Start, ADirectoryThatCannotBeWrittenIsSaidSo) {
  const TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  fs::create_directories(dir / "data");
  ASSERT_EQ(::chmod((dir / "data").c_str(), 0555), 0);
  // For root nothing is read-only: be somebody else.
  const uid_t nobody = ::getuid() == 0 ? 65534 : 0;
  LiveServer server({.data = dir / "data", .uid = nobody});
  server.Launch();
  const std::optional<int> code = server.WaitExit(milliseconds(10'000));
  ASSERT_TRUE(code.has_value()) << "it runs";
  if (*code == 127) GTEST_SKIP() << "the program cannot be run by another user";
  EXPECT_EQ(*code, kServerFailed) << server.Log();
  EXPECT_NE(server.Log().find(dir / "data"), std::string::npos) << server.Log();
  EXPECT_TRUE(fs::is_empty(dir / "data"));
}

TEST(Start, AWrongConfigurationNamesThePlace) {
  const TempDir dir;
  WriteFile(dir / "bad.toml", "listen = \"127.0.0.1:1\"\nworker_grcae = \"1s\"\n");
  struct Row {
    std::vector<std::string> flags;
    const char* part;
  };
  for (const Row& row :
       {Row{{"--config", dir / "bad.toml"}, "worker_grace"}, Row{{"--config", dir / "missing.toml"}, "missing.toml"},
        Row{{"--worker-grace", "soon"}, "worker"}, Row{{"--listen", "nonsense:port"}, "listen"},
        Row{{"--no-such-flag"}, "no-such-flag"}, Row{{"--tls-cert", "/nonexistent.pem"}, "tls"}}) {
    std::vector<std::string> argv = {AllotBin(), "serve", "--data", dir / "data"};
    argv.insert(argv.end(), row.flags.begin(), row.flags.end());
    const Finished refused = RunProgram(argv, milliseconds(10'000));
    EXPECT_EQ(refused.exit_code, kUsage) << row.flags[0] << refused.err;
    EXPECT_NE(refused.err.find(row.part), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace allot::testing

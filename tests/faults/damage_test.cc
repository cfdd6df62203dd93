// SPDX-License-Identifier: Apache-2.0
// Files that were damaged between a kill and the next start, or taken away under a running server: it says so instead
// of answering for what is gone.
#include <cstring>
#include <filesystem>
#include <thread>

#include "faults/fixture.h"

namespace allot::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kJobsKept = 300;

void Flip(const std::string& file, std::uint64_t at) {
  std::string content = ReadFile(file);
  ASSERT_LT(at, content.size());
  content[at] = static_cast<char>(content[at] ^ 0x10);
  WriteFile(file, content);
}

int CountJobs(Http& http) {
  const Document page(http.Get(std::string(kJobs) + "?limit=1000").body);
  int n = 0;
  page.ForEach("/jobs", [&](const Json&) { ++n; });
  return n;
}

// A data directory whose server was killed after 300 jobs, or fewer.
class DamagedData : public ::testing::Test {
 protected:
  explicit DamagedData(int jobs = kJobsKept) : jobs_(jobs) {}
  void SetUp() override {
    LiveServer server({.data = dir_ / "data"});
    ASSERT_TRUE(server.Start()) << server.Log();
    Http http = server.http();
    for (int i = 0; i < jobs_; ++i) SubmitJob(http, R"({"tag":"kept"})");
    server.Kill();
    ASSERT_TRUE(fs::exists(journal_));
  }
  Finished Serve(std::vector<std::string> flags = {}) {
    std::vector<std::string> argv = {AllotBin(), "serve",      "--listen", "127.0.0.1:" + std::to_string(FreePort()),
                                     "--data",   dir_ / "data"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    return RunProgram(argv, milliseconds(20'000));
  }
  // It does not start, says why and what to do; with --accept-loss it starts, and logs what is gone.
  void ExpectRefused(const std::string& says) {
    const Finished refused = Serve();
    EXPECT_EQ(refused.exit_code, kServerFailed) << refused.err;
    EXPECT_NE(refused.err.find(says), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("--accept-loss"), std::string::npos) << refused.err;
    LiveServer server({.data = dir_ / "data", .flags = {"--accept-loss"}});
    ASSERT_TRUE(server.Start()) << server.Log();
    EXPECT_NE(server.Log().find(says), std::string::npos) << server.Log();
    EXPECT_EQ(server.Stop().value_or(-1), 0);
    LiveServer again({.data = dir_ / "data"});
    EXPECT_TRUE(again.Start()) << again.Log();
  }

  const int jobs_;
  TempDir dir_;
  const std::string file_ = dir_ / "data/queues/default.db";
  const std::string journal_ = file_ + ".journal-1";
};

TEST_F(DamagedData, AKilledServerStartsWithAllItsJobs) {
  LiveServer server({.data = dir_ / "data"});
  ASSERT_TRUE(server.Start()) << server.Log();
  Http http = server.http();
  EXPECT_EQ(CountJobs(http), kJobsKept);
}

// So few that the journal has them all, however slowly they came: half of it is not full, so nothing of it was written
// over.
class YoungDamagedData : public DamagedData {
 protected:
  YoungDamagedData() : DamagedData(12) {}
};

TEST_F(YoungDamagedData, WithoutItsLogItStartsWithAllItsJobs) {
  fs::remove(file_ + "-wal");
  LiveServer server({.data = dir_ / "data"});
  ASSERT_TRUE(server.Start()) << server.Log();
  Http http = server.http();
  EXPECT_EQ(CountJobs(http), jobs_);
}

TEST_F(DamagedData, ARemovedJournalRefusesToStart) {
  fs::remove(journal_);
  ExpectRefused(".journal-1 is missing");
}

TEST_F(DamagedData, AJournalThatWasCutRefusesToStart) {
  fs::resize_file(journal_, 50'000);
  ExpectRefused(".journal-1 was cut at byte 50000");
}

TEST_F(DamagedData, AFlippedBitInTheLastCommitRefusesToStart) {
  // The last one is behind the others, or in another segment; whatever is not zeros at its end.
  std::string segment = journal_;
  std::uint64_t newest = 0;
  std::uint64_t at = 0;
  for (int n = 1; n <= 8; ++n) {
    const std::string name = file_ + ".journal-" + std::to_string(n);
    if (!fs::exists(name)) break;
    const std::string content = ReadFile(name);
    for (std::uint64_t block = 0; block + 64 <= content.size(); block += 4096) {
      if (content.compare(block, 7, "AlltGrp") != 0) continue;
      std::uint64_t sequence = 0;
      std::memcpy(&sequence, content.data() + block + 24, sizeof sequence);
      if (sequence < newest) continue;
      newest = sequence;
      segment = name;
      at = block + 70;
    }
  }
  ASSERT_GT(newest, 0u);
  Flip(segment, at);
  ExpectRefused(" is damaged at byte " + std::to_string(at - 70));
}

TEST_F(DamagedData, AnEmptyFileBesideItsLogRefusesToStart) {
  WriteFile(file_, "");
  ExpectRefused("default.db is empty");
}

TEST_F(DamagedData, AMissingFileBesideItsLogRefusesToStart) {
  fs::remove(file_);
  ExpectRefused("default.db is missing");
}

TEST_F(DamagedData, ARemovedJournalIsNoticedThoughAllBesideTheFileWent) {
  for (const auto& entry : fs::directory_iterator(dir_ / "data/queues")) {
    if (entry.path() != file_) fs::remove(entry.path());
  }
  ExpectRefused("the file was not closed");
}

TEST(RemovedFiles, StopTheServerBeforeItAnswersForLong) {
  for (const char* suffix : {"", "-wal", ".journal-1"}) {
    LiveServer server;
    ASSERT_TRUE(server.Start()) << server.Log();
    Http http = server.http();
    SubmitJob(http, R"({"tag":"kept"})");
    fs::remove(server.data() + "/queues/default.db" + suffix);
    int answered = 0;
    for (int i = 0; i < 400 && server.Running(); ++i) {
      if (http.Post(kJobs, R"({"tag":"lost"})").status == 201) ++answered;
      std::this_thread::sleep_for(milliseconds(10));
    }
    EXPECT_FALSE(server.Running()) << answered << " submits were answered";
    // A log that was removed is made anew by SQLite, and so is found to be another.
    EXPECT_NE(server.Log().find(std::string("default.db") + suffix + " was re"), std::string::npos) << server.Log();
    EXPECT_NE(server.Log().find(" while it was in use"), std::string::npos) << server.Log();
  }
}

TEST(DeletedQueues, StayDeletedAndLeaveNothing) {
  TempDir dir;
  LiveServer server({.data = dir / "data"});
  ASSERT_TRUE(server.Start()) << server.Log();
  Http http = server.http();
  ASSERT_EQ(http.Post("/v1/queues", R"({"name":"gone"})").status, 201);
  EXPECT_TRUE(fs::exists(dir / "data/queues/gone.db"));
  ASSERT_EQ(http.Call("DELETE", "/v1/queues/gone").status, 200);
  for (const auto& entry : fs::directory_iterator(dir / "data/queues")) {
    EXPECT_EQ(entry.path().filename().string().find("gone"), std::string::npos) << entry.path();
  }
}

TEST(DamagedPayload, FailsItsTaskAloneAndIsNeverServed) {
  TempDir dir;
  const std::string file = dir / "data/queues/default.db";
  std::string damaged, whole;
  {
    LiveServer server({.data = dir / "data"});
    ASSERT_TRUE(server.Start()) << server.Log();
    Http http = server.http();
    damaged = SubmitJob(http, R"({"tag":"t","payload":"a-payload-that-rots"})");
    whole = SubmitJob(http, R"({"tag":"t","payload":"a-payload-that-keeps"})");
    ASSERT_EQ(server.Stop().value_or(-1), 0);
  }
  const std::size_t at = ReadFile(file).find("a-payload-that-rots");
  ASSERT_NE(at, std::string::npos);
  Flip(file, at + 3);
  LiveServer server({.data = dir / "data"});
  ASSERT_TRUE(server.Start()) << server.Log();
  Http http = server.http();
  const Answer shown = http.Get(std::string(kJobs) + "/" + damaged + "/tasks/0");
  EXPECT_EQ(shown.status, 500) << shown.body;
  EXPECT_NE(shown.body.find("store_corrupt"), std::string::npos) << shown.body;
  const HttpWorker worker(http, "t");
  std::string seen;
  for (int i = 0; i < 20 && seen.find("a-payload-that-keeps") == std::string::npos; ++i) {
    seen += worker.Pull(http, R"(,"pull":10,"wait_ms":200)").body;
  }
  EXPECT_NE(seen.find("a-payload-that-keeps"), std::string::npos) << seen;
  EXPECT_EQ(seen.find(damaged), std::string::npos) << seen;
  const Answer job = http.Get(std::string(kJobs) + "/" + damaged);
  EXPECT_EQ(Document(job.body).Text("/state"), "failed") << job.body;
  const Answer results = http.Get(std::string(kJobs) + "/" + damaged + "/results");
  EXPECT_NE(results.body.find("damaged in the queue's file"), std::string::npos) << results.body;
  EXPECT_NE(server.Log().find("a payload is damaged"), std::string::npos);
  EXPECT_EQ(server.Stop().value_or(-1), 0);
}

TEST(Restore, GrantsNoLeaseOfTheLostTimeAgain) {
  TempDir dir;
  LiveServer server({.data = dir / "data", .flags = {"--restart-grace", "0s"}});
  ASSERT_TRUE(server.Start()) << server.Log();
  Http http = server.http();
  SubmitJob(http, R"({"tag":"t","count":3})");
  const std::string backup = dir / "backup";
  const Finished copied = RunProgram({AllotBin(), "backup", backup, "--server", server.url()});
  ASSERT_EQ(copied.exit_code, 0) << copied.err;
  const auto lease_of = [](Http& to) {
    const HttpWorker worker(to, "t");
    const Answer pulled = worker.Pull(to, R"(,"pull":1,"wait_ms":2000)");
    return Document(pulled.body).Dump("/tasks/0/lease");
  };
  const std::string lost = lease_of(http);
  EXPECT_NE(lost, "");
  ASSERT_EQ(server.Stop().value_or(-1), 0);
  const Finished restored = RunProgram({AllotBin(), "restore", backup, "--data", dir / "data", "--force"});
  ASSERT_EQ(restored.exit_code, 0) << restored.err;
  ASSERT_TRUE(server.Start()) << server.Log();
  Http again = server.http();
  EXPECT_NE(lease_of(again), lost) << "the same id for two workers";
}

}  // namespace
}  // namespace allot::testing

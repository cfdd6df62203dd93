// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/testing_cluster.h"

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/check.h"

namespace allot::postgres {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kStartTime = 60s;

// Where Debian has the programs, of the newest version; ALLOT_POSTGRES_BIN names another place.
std::string ProgramFolder() {
  if (const char* const named = std::getenv("ALLOT_POSTGRES_BIN"); named != nullptr) return named;
  std::error_code ec;
  std::string newest;
  int highest = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator("/usr/lib/postgresql", ec)) {
    const int version = std::atoi(entry.path().filename().c_str());
    if (version <= highest || !fs::exists(entry.path() / "bin" / "initdb", ec)) continue;
    highest = version;
    newest = entry.path() / "bin";
  }
  return newest;
}

// PostgreSQL refuses to run as root.
const passwd* User() {
  if (geteuid() != 0) return nullptr;
  for (const char* name : {"postgres", "nobody"}) {
    if (const passwd* const user = getpwnam(name); user != nullptr) return user;
  }
  return nullptr;
}

pid_t Spawn(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const passwd* const user = User();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid != 0) return pid;
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(open("/dev/null", O_RDONLY), 0);
  dup2(out, 1);
  dup2(out, 2);
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  if (user != nullptr) {
    if (setgroups(0, nullptr) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0) _exit(126);
  }
  // It ends with the test, however that ends.
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (getppid() != parent) _exit(126);
  execv(argv[0], argv.data());
  _exit(127);
}

// A cluster as initdb makes it, once for the program.
const std::string& Template() {
  static const struct Made {
    std::string folder;
    Made() {
      std::string name = (fs::temp_directory_path() / "allot-pg-XXXXXX").string();
      CHECK(mkdtemp(name.data()) != nullptr);
      folder = name;
      if (const passwd* const user = User()) CHECK(chown(name.c_str(), user->pw_uid, user->pw_gid) == 0);
      const pid_t pid = Spawn({ProgramFolder() + "/initdb", "-D", folder + "/data", "-U", "allot", "-A", "trust", "-E",
                               "UTF8", "--locale=C", "--no-sync", "--no-instructions"},
                              folder + "/log");
      int status = -1;
      waitpid(pid, &status, 0);
      CHECK(status == 0);
    }
    ~Made() {
      std::error_code ec;
      fs::remove_all(folder, ec);
    }
  } made;
  return made.folder;
}

}  // namespace

std::optional<std::string> TestCluster::Missing() {
  if (!ProgramFolder().empty()) return std::nullopt;
  return "PostgreSQL is not here: apt-get install postgresql, or name its programs' folder in ALLOT_POSTGRES_BIN";
}

TestCluster& TestCluster::Shared() {
  static TestCluster cluster;
  return cluster;
}

TestCluster::TestCluster(const std::vector<std::string>& settings) : settings_(settings) {
  const std::string& made = Template();
  std::string name = (fs::temp_directory_path() / "allot-pg-XXXXXX").string();
  CHECK(mkdtemp(name.data()) != nullptr);
  folder_ = name;
  const passwd* const user = User();
  if (user != nullptr) CHECK(chown(folder_.c_str(), user->pw_uid, user->pw_gid) == 0);
  Run({"/bin/cp", "-a", made + "/data", folder_ + "/data"});
  Start();
}

TestCluster::~TestCluster() {
  if (pid_ > 0) Kill();
  std::error_code ec;
  fs::remove_all(folder_, ec);
}

void TestCluster::Run(const std::vector<std::string>& command) const {
  int status = -1;
  waitpid(Spawn(command, folder_ + "/log"), &status, 0);
  CHECK(status == 0);
}

std::string TestCluster::Url(const std::string& user, const std::string& database) const {
  return "host=" + folder_ + " port=5432 user=" + user + " dbname=" + database;
}

void TestCluster::Start() {
  CHECK(pid_ <= 0);
  std::vector<std::string> command = {ProgramFolder() + "/postgres",
                                      "-D",
                                      folder_ + "/data",
                                      "-k",
                                      folder_,
                                      "-h",
                                      "",
                                      "-c",
                                      "max_connections=100",
                                      "-c",
                                      "shared_buffers=64MB",
                                      "-c",
                                      "dynamic_shared_memory_type=mmap"};
  for (const std::string& setting : settings_) {
    command.emplace_back("-c");
    command.push_back(setting);
  }
  pid_ = Spawn(command, folder_ + "/log");
  const auto until = std::chrono::steady_clock::now() + kStartTime;
  while (PQping(Url().c_str()) != PQPING_OK) {
    CHECK(std::chrono::steady_clock::now() < until);
    std::this_thread::sleep_for(20ms);
  }
}

void TestCluster::Kill() {
  kill(pid_, SIGQUIT);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void TestCluster::Stop() {
  kill(pid_, SIGINT);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string TestCluster::Sql(const std::string& text, const std::string& database) const {
  PGconn* const db = PQconnectdb(Url("allot", database).c_str());
  CHECK(PQstatus(db) == CONNECTION_OK);
  PGresult* const result = PQexec(db, text.c_str());
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    fputs(PQerrorMessage(db), stderr);
    CHECK(false);
  }
  std::string out = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  PQfinish(db);
  return out;
}

}  // namespace allot::postgres

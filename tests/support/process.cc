// SPDX-License-Identifier: Apache-2.0
#include "support/process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace allot::testing {

TempDir::TempDir() {
  const char* base = std::getenv("TMPDIR");
  path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/allot-test-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::uint64_t ResidentBytes(pid_t pid) {
  std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::uint16_t FreePort() {
  std::random_device device;
  for (int i = 0; i < 1000; ++i) {
    const auto port = static_cast<std::uint16_t>(12'000 + device() % 20'000);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool free = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(fd, 1) == 0;
    ::close(fd);
    if (free) return port;
  }
  throw std::runtime_error("no free port");
}

std::string AllotBin() {
  const char* bin = std::getenv("ALLOT_BIN");
  if (bin == nullptr) throw std::runtime_error("ALLOT_BIN names no program");
  return bin;
}

Process::Process(const Options& options) {
  // Everything is prepared before the fork: a child of a program with threads may call little.
  std::vector<char*> argv;
  for (const std::string& arg : options.argv) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  std::vector<std::string> env_text;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : options.env) replaced |= text.rfind(name + "=", 0) == 0;
    if (!replaced) env_text.push_back(text);
  }
  for (const auto& [name, value] : options.env) env_text.push_back(name + "=" + value);
  std::vector<char*> env;
  for (std::string& entry : env_text) env.push_back(entry.data());
  env.push_back(nullptr);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = ::open(options.out_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int err = ::open(options.err_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that dies leaves nothing behind
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(err, 2);
    if (options.max_file_bytes != 0) {
      const rlimit limit{options.max_file_bytes, options.max_file_bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      ::signal(SIGXFSZ, SIG_IGN);
    }
    if (options.uid != 0 && ::setuid(options.uid) != 0) ::_exit(126);
    ::execve(argv[0], argv.data(), env.data());
    ::_exit(127);
  }
  ::close(in);
  ::close(out);
  ::close(err);
  if (pid_ < 0) throw std::runtime_error("cannot fork");
}

Process::~Process() {
  if (!Running()) return;
  Signal(SIGKILL);
  Wait(milliseconds(10'000));
}

bool Process::Running() { return !Wait(milliseconds(0)).has_value(); }

void Process::Signal(int signal) {
  if (!exit_code_) ::kill(pid_, signal);
}

std::optional<int> Process::Wait(milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!exit_code_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (std::chrono::steady_clock::now() >= deadline) {
      break;
    } else {
      std::this_thread::sleep_for(milliseconds(2));
    }
  }
  return exit_code_;
}

Finished RunProgram(std::vector<std::string> argv, milliseconds timeout,
                    std::vector<std::pair<std::string, std::string>> env) {
  const TempDir dir;
  Process process({.argv = std::move(argv), .env = std::move(env), .out_file = dir / "out", .err_file = dir / "err"});
  Finished finished;
  std::optional<int> code = process.Wait(timeout);
  if (!code) {
    process.Signal(SIGKILL);
    code = process.Wait(milliseconds(10'000));
  }
  finished.exit_code = code.value_or(-1);
  finished.out = ReadFile(dir / "out");
  finished.err = ReadFile(dir / "err");
  return finished;
}

}  // namespace allot::testing

// SPDX-License-Identifier: Apache-2.0
#include "cli/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/close_on_exec.h"

extern char** environ;

namespace allot::cli {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 16 * 1024;

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(-1); }
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read, write;
};

// Neither end is below 3, so that dup2 in the child never meets one of them.
bool MakePipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read.reset(ends[0]);
  pipe.write.reset(ends[1]);
  for (Fd* end : {&pipe.read, &pipe.write}) {
    if (end->get() >= 3) continue;
    const int moved = ::fcntl(end->get(), F_DUPFD_CLOEXEC, 3);
    if (moved < 0) return false;
    end->reset(moved);
  }
  return true;
}

Error CannotStart(const std::string& what, int error) {
  return {Code::kUnavailable, "cannot start `" + what + "`: " + std::strerror(error), ""};
}

class Spawned final : public Process, public std::enable_shared_from_this<Spawned> {
 public:
  Spawned(asio::io_context& context, ProcessSpec&& spec, OnEnd on_end)
      : spec_(std::move(spec)),
        on_end_(std::move(on_end)),
        in_(context),
        out_(context),
        err_(context),
        exit_(context),
        killer_(context) {}

  Result<void> Launch() {
    Pipe in, out, err;
    if (!MakePipe(in) || !MakePipe(out) || !MakePipe(err)) return CannotStart(spec_.argv[0], errno);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_adddup2(&actions, in.read.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), STDERR_FILENO);
    // Nothing else of this process: what a task may touch are its three streams, not the connection to the server.
    ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    // A group of its own, and signals as a program expects them.
    sigset_t none, defaults;
    ::sigemptyset(&none);
    ::sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&defaults, signal);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> argv, variables;
    for (std::string& arg : spec_.argv) argv.push_back(arg.data());
    argv.push_back(nullptr);
    for (std::string& variable : spec_.variables) variables.push_back(variable.data());
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (!Overridden(*variable)) variables.push_back(*variable);
    }
    variables.push_back(nullptr);
    const int error = ::posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), variables.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0) return CannotStart(spec_.argv[0], error);
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    if (pidfd < 0) {
      const int why = errno;
      ::kill(-pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      return CannotStart(spec_.argv[0], why);
    }
    CloseOnExec(pidfd);
    exit_.assign(pidfd);
    out_.assign(out.read.release());
    err_.assign(err.read.release());
    out_.non_blocking(true);
    err_.non_blocking(true);
    GiveInput(std::move(in.write));
    ReadOutput();
    ReadError();
    exit_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](error_code ec) {
      if (!ec) self->Exited();
    });
    return {};
  }

  void Stop(std::chrono::milliseconds grace) override {
    if (pid_ <= 0 || ended_) return;
    stopped_ = true;
    if (grace.count() <= 0) {
      ::kill(-pid_, SIGKILL);
      return;
    }
    ::kill(-pid_, SIGTERM);
    killer_.expires_after(grace);
    killer_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec && !self->ended_) ::kill(-self->pid_, SIGKILL);
    });
  }

 private:
  bool Overridden(const char* variable) const {
    const char* equals = std::strchr(variable, '=');
    if (equals == nullptr) return false;
    const std::string_view name(variable, static_cast<std::size_t>(equals - variable) + 1);
    for (const std::string& own : spec_.variables) {
      if (own.starts_with(name)) return true;
    }
    return false;
  }

  void GiveInput(Fd end) {
    // Most inputs fit into the pipe: then nothing needs to be waited for.
    ::fcntl(end.get(), F_SETFL, O_NONBLOCK);
    std::size_t given = 0;
    while (given < spec_.input.size()) {
      const ssize_t n = ::write(end.get(), spec_.input.data() + given, spec_.input.size() - given);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n < 0) return;  // it does not want to read
      given += static_cast<std::size_t>(n);
    }
    if (given == spec_.input.size()) return;
    in_.assign(end.release());
    asio::async_write(in_, asio::buffer(spec_.input.data() + given, spec_.input.size() - given),
                      [self = shared_from_this()](error_code, std::size_t) { self->Shut(self->in_); });
  }

  static void Shut(asio::posix::stream_descriptor& descriptor) {
    error_code ignored;
    if (descriptor.is_open()) descriptor.close(ignored);
  }

  // Takes what is there now; false at the end.
  template <typename Take>
  static bool Slurp(asio::posix::stream_descriptor& from, Take take) {
    char buffer[kReadBytes];
    for (;;) {
      const ssize_t n = ::read(from.native_handle(), buffer, sizeof buffer);
      if (n > 0) {
        take(std::string_view(buffer, static_cast<std::size_t>(n)));
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      return n < 0 && errno == EAGAIN;
    }
  }

  bool SlurpOutput() {
    return Slurp(out_, [this](std::string_view piece) {
      const std::size_t room = spec_.max_output - std::min(spec_.max_output, end_.output.size());
      end_.output.append(piece.substr(0, room));
      if (piece.size() > room) end_.output_cut = true;
    });
  }

  bool SlurpError() {
    return Slurp(err_, [this](std::string_view piece) {
      if (spec_.pass_stderr) {
        std::string_view rest = piece;
        while (!rest.empty()) {
          const ssize_t n = ::write(STDERR_FILENO, rest.data(), rest.size());
          if (n < 0 && errno != EINTR) break;
          if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
        }
      }
      end_.error_tail.append(piece);
      if (end_.error_tail.size() > 2 * spec_.max_error_tail)
        end_.error_tail.erase(0, end_.error_tail.size() - spec_.max_error_tail);
    });
  }

  void ReadOutput() {
    out_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](error_code ec) {
      if (ec || self->ended_) return;
      self->SlurpOutput() ? self->ReadOutput() : Shut(self->out_);
    });
  }

  void ReadError() {
    err_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](error_code ec) {
      if (ec || self->ended_) return;
      self->SlurpError() ? self->ReadError() : Shut(self->err_);
    });
  }

  void Exited() {
    ended_ = true;
    // What it leaves behind may go on, unless it was to stop: then its group ends with it. The group is still its own
    // before it is waited for.
    if (stopped_) ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
    if (WIFEXITED(status)) end_.status = WEXITSTATUS(status);
    if (out_.is_open()) SlurpOutput();
    if (err_.is_open()) SlurpError();
    killer_.cancel();
    for (auto* descriptor : {&in_, &out_, &err_, &exit_}) Shut(*descriptor);
    if (end_.error_tail.size() > spec_.max_error_tail)
      end_.error_tail.erase(0, end_.error_tail.size() - spec_.max_error_tail);
    OnEnd on_end = std::move(on_end_);
    on_end(std::move(end_));
  }

  ProcessSpec spec_;
  OnEnd on_end_;
  ProcessEnd end_;
  pid_t pid_ = 0;
  bool ended_ = false;
  bool stopped_ = false;
  asio::posix::stream_descriptor in_, out_, err_, exit_;
  asio::steady_timer killer_;
};

}  // namespace

Result<std::shared_ptr<Process>> Process::Start(asio::io_context& context, ProcessSpec spec, OnEnd on_end) {
  auto process = std::make_shared<Spawned>(context, std::move(spec), std::move(on_end));
  if (auto launched = process->Launch(); !launched) return launched.error();
  return std::shared_ptr<Process>(std::move(process));
}

std::string FindProgram(const std::string& name) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : std::string();
  const char* variable = std::getenv("PATH");
  const std::string path = variable == nullptr ? "/bin:/usr/bin" : variable;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    std::string candidate = end == at ? "." : path.substr(at, end - at);
    candidate.append("/").append(name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return {};
}

}  // namespace allot::cli

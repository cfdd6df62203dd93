// SPDX-License-Identifier: Apache-2.0
// allot backup FILE, allot restore FILE.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/setting_flags.h"
#include "server/queue/queue_set.h"
#include "server/wire/request_json.h"
#include "store/postgres/transfer.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/queue_files.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/sync_directory.h"

namespace allot::cli {
namespace {

namespace fs = std::filesystem;

Error FileError(const std::string& what, const std::string& file) {
  return {errno == ENOSPC ? Code::kDiskFull : Code::kStoreFailed, what + " `" + file + "`: " + std::strerror(errno),
          ""};
}

// A file that appears under its name only once it is whole and durable.
class NewFile {
 public:
  explicit NewFile(std::string file) : file_(std::move(file)), part_(file_ + ".part") {}
  ~NewFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!done_ && opened_) ::unlink(part_.c_str());
  }
  Result<void> Open() {
    fd_ = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd_ < 0) return FileError("cannot write", part_);
    opened_ = true;
    return {};
  }
  bool Write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        error_ = FileError("cannot write", part_);
        return false;
      }
      size_ += static_cast<std::uint64_t>(n);
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  const std::optional<Error>& error() const { return error_; }
  std::uint64_t size() const { return size_; }
  const std::string& part() const { return part_; }
  Result<void> Sync() {
    if (::fsync(fd_) != 0) return FileError("cannot sync", part_);
    return {};
  }
  Result<void> Finish() {
    if (::rename(part_.c_str(), file_.c_str()) != 0) return FileError("cannot write", file_);
    done_ = true;
    return sqlite::SyncDirectoryOf(file_);
  }

 private:
  const std::string file_, part_;
  int fd_ = -1;
  bool opened_ = false, done_ = false;
  std::uint64_t size_ = 0;
  std::optional<Error> error_;
};

Result<void> Backup(Context& context, allotter::Client& client, const std::string& file, bool force) {
  const std::string& queue = client.options().queue;
  if (!force && fs::exists(file))
    return Error{Code::kBadValue, "`" + file + "` is there already", "--force replaces it"};
  NewFile out(file);
  if (auto opened = out.Open(); !opened) return opened;
  auto copied = client.queues().Backup(queue, [&](std::string_view piece) { return out.Write(piece); });
  if (out.error()) return *out.error();
  if (!copied) return copied;
  if (auto synced = out.Sync(); !synced) return synced;
  // A transfer that was cut short must not pass for a backup.
  if (auto whole = SqliteStore::VerifyBackup(out.part()); !whole) return whole;
  if (auto finished = out.Finish(); !finished) return finished;
  Show(context,
       "{\"queue\":" + JsonString(queue) + ",\"file\":" + JsonString(file) +
           ",\"bytes\":" + std::to_string(out.size()) + "}",
       file, [&] { std::cout << Visible(queue) << " → " << Visible(file) << ", " << FormatSize(out.size()) << '\n'; });
  return {};
}

Result<void> CopyInto(const std::string& from, NewFile& to) {
  const int fd = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError("cannot read", from);
  std::string buffer(1 << 20, '\0');
  Result<void> result;
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) result = FileError("cannot read", from);
    if (n <= 0) break;
    if (!to.Write(std::string_view(buffer).substr(0, static_cast<std::size_t>(n)))) {
      result = *to.error();
      break;
    }
  }
  ::close(fd);
  return result;
}

// As a copy, which is brought into today's form, and without what must not be restored.
Result<void> PrepareCopy(const std::string& from, NewFile& copy) {
  if (auto opened = copy.Open(); !opened) return opened;
  if (auto copied = CopyInto(from, copy); !copied) return copied;
  // Leases that were granted since the backup was made must not be granted again: under a new key no id is the same.
  constexpr std::string_view kForget[] = {kQueueKeySetting};
  return SqliteStore::PrepareRestored(copy.part(), kForget);
}

void ShowRestored(Context& context, const std::string& file, const std::string& queue, const std::string& where,
                  std::uint64_t bytes) {
  Show(context, "{\"queue\":" + JsonString(queue) + ",\"bytes\":" + std::to_string(bytes) + "}", queue, [&] {
    std::cout << Visible(file) << " → queue " << queue << " in " << Visible(where) << ", " << FormatSize(bytes) << '\n';
  });
}

Result<void> RestoreIntoDatabase(Context& context, const Config& config, const std::string& file,
                                 const std::string& queue, bool force) {
  PostgresOptions options;
  options.url = config.store;
  options.allow_no_standby = config.allow_no_standby;
  auto database = PostgresDatabase::Open(std::move(options));
  if (!database) return database.error();
  std::error_code ec;
  fs::create_directories(config.data, ec);
  NewFile copy(config.data + "/restore-" + std::to_string(::getpid()));  // never gets this name: it goes at the end
  if (auto prepared = PrepareCopy(file, copy); !prepared) return prepared;
  auto restored = RestoreIntoPostgres(**database, {.file = copy.part(), .queue = queue, .replace = force});
  if (!restored) return restored;
  ShowRestored(context, file, queue, (*database)->Where(), copy.size());
  return {};
}

Result<void> Restore(Context& context, const SettingFlags& flags, const std::string& file, const std::string& queue,
                     bool force) {
  auto config = flags.Load();
  if (!config) return config.error();
  if (auto valid = CheckQueueName("queue", queue); !valid) return valid;
  if (auto whole = SqliteStore::VerifyBackup(file); !whole) return whole;
  if (!config->store.empty()) return RestoreIntoDatabase(context, *config, file, queue, force);
  const sqlite::QueueFiles files(config->data);
  const std::string target = files.FileOf(queue);
  std::error_code ec;
  fs::create_directories(files.folder(), ec);
  if (ec) return Error{Code::kStoreFailed, "cannot make `" + files.folder() + "`: " + ec.message(), ""};
  // A running server holds the lock of every queue; `default` always exists.
  const auto locked = [&](const std::string& path) -> Result<sqlite::FileLock> {
    auto lock = sqlite::FileLock::Take(path);
    if (lock || lock.error().code != Code::kStoreLocked) return lock;
    return Error{Code::kStoreLocked, "a server is running on `" + config->data + "`",
                 "stop it first; a queue is restored offline"};
  };
  auto server_lock = locked(files.FileOf("default"));
  if (!server_lock) return server_lock.error();
  std::optional<sqlite::FileLock> queue_lock;
  if (queue != "default") {
    auto taken = locked(target);
    if (!taken) return taken.error();
    queue_lock = std::move(*taken);
  }
  if (!force && fs::exists(target)) {
    return Error{Code::kQueueExists, "the queue `" + queue + "` is there already",
                 "--force replaces it; --queue names another"};
  }
  NewFile copy(target);
  if (auto prepared = PrepareCopy(file, copy); !prepared) return prepared;
  if (auto synced = copy.Sync(); !synced) return synced;
  if (auto gone = SqliteStore::MakeWay(target); !gone) return gone;
  if (auto finished = copy.Finish(); !finished) return finished;
  ShowRestored(context, file, queue, config->data, copy.size());
  return {};
}

}  // namespace

void AddBackupCommands(CLI::App& app, Context& context) {
  CLI::App& backup = *app.add_subcommand("backup", "Copy a queue of a running server into a file");
  auto file = std::make_shared<std::string>();
  auto force = std::make_shared<bool>(false);
  backup.add_option("FILE", *file, "The new file")->required();
  backup.add_flag("--force", *force, "Replace the file if it is there");
  OnRun(backup, context,
        [&context, file, force](allotter::Client& client) { return Backup(context, client, *file, *force); });

  CLI::App& restore =
      *app.add_subcommand("restore", "Put a backup into the data directory, or the database, of a stopped server");
  auto from = std::make_shared<std::string>();
  auto queue = std::make_shared<std::string>("default");
  auto flags = std::make_shared<SettingFlags>();
  auto replace = std::make_shared<bool>(false);
  restore.add_option("FILE", *from, "The backup")->required();
  restore.add_option("-q,--queue", *queue, "The queue that it becomes (default)")->type_name("NAME");
  restore.add_flag("--force", *replace, "Replace the queue if it is there");
  AddSettingFlags(restore, *flags, {"data", "store", "store_file", "allow_no_standby"});
  AddOutputOption(restore, context);
  restore.callback([&context, from, queue, flags, replace] {
    if (auto restored = Restore(context, *flags, *from, *queue, *replace); !restored) context.Fail(restored.error());
  });
}

}  // namespace allot::cli

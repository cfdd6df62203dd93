// SPDX-License-Identifier: Apache-2.0
// For tests: how to open each kind of store, crash it, fill its disk. A new kind is one line at the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "store/memory/memory_store.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/testing_cluster.h"
#include "store/postgres/transfer.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/testing_powerloss.h"
#include "store/store.h"

namespace allot {

// A directory of its own, removed at the end.
class TempDirectory {
 public:
  TempDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "allot-store-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string Contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}
inline void WriteFile(const std::string& file, const std::string& contents) {
  std::ofstream(file, std::ios::binary) << contents;
}

// One disk, and the stores on it.
class StoreHarness {
 public:
  virtual ~StoreHarness() = default;
  // On what the last one left; that one must be destroyed.
  virtual Result<std::unique_ptr<Store>> Open() = 0;
  virtual void SetDiskFull(bool full) = 0;
  // A name that Backup() takes, and the store that is in it then.
  virtual std::string BackupName(const std::string& name) = 0;
  virtual Result<std::unique_ptr<Store>> OpenBackup(const std::string& file) = 0;
};

class MemoryHarness final : public StoreHarness {
 public:
  Result<std::unique_ptr<Store>> Open() override { return MemoryStore::Open(disk_); }
  void SetDiskFull(bool full) override { disk_->SetFull(full); }
  std::string BackupName(const std::string& name) override { return name; }
  Result<std::unique_ptr<Store>> OpenBackup(const std::string& file) override {
    return MemoryStore::Open(disk_->FindBackup(file));
  }

 private:
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
};

class SqliteHarness final : public StoreHarness {
 public:
  SqliteHarness() {
    PowerLoss::Register();
    PowerLoss::SetChance(0, 1);
  }
  ~SqliteHarness() override { PowerLoss::SetDiskFull(false); }
  Result<std::unique_ptr<Store>> Open() override { return OpenBackup(directory_ / "queue.db"); }
  void SetDiskFull(bool full) override { PowerLoss::SetDiskFull(full); }
  std::string BackupName(const std::string& name) override { return directory_ / name; }
  Result<std::unique_ptr<Store>> OpenBackup(const std::string& file) override {
    SqliteOptions options;
    options.file = file;
    options.vfs = kPowerLossVfs;
    options.payload_cache_bytes = 64 * 1024;  // small, so that the file is read as well
    return SqliteStore::Open(options);
  }

 private:
  TempDirectory directory_;
};

// A queue of its own in the database that all tests share.
class PostgresHarness final : public StoreHarness {
 public:
  PostgresHarness() {
    static int serial = 0;
    name_ = "test-" + std::to_string(++serial);
    auto database = PostgresDatabase::Open(Options(postgres::TestCluster::Shared().Url()));
    CHECK(database.ok());
    database_ = *database;
  }
  ~PostgresHarness() override { SetDiskFull(false); }
  static PostgresOptions Options(const std::string& url) {
    PostgresOptions options;
    options.url = url;
    options.allow_no_standby = true;
    options.payload_cache_bytes = 64 * 1024;  // small, so that the database is asked as well
    options.claim_patience = std::chrono::milliseconds(200);
    return options;
  }
  Result<std::unique_ptr<Store>> Open() override { return PostgresStore::Open(database_, name_); }
  // What a server without space answers, to whoever writes to this queue.
  void SetDiskFull(bool full) override {
    const postgres::TestCluster& cluster = postgres::TestCluster::Shared();
    const std::string trigger = "\"full " + name_ + "\"";
    if (full) {
      cluster.Sql(
          "CREATE OR REPLACE FUNCTION allotter.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
          "EXCEPTION 'no space' USING ERRCODE = '53100'; END $$; CREATE TRIGGER " +
          trigger + " BEFORE UPDATE ON allotter.heads FOR EACH ROW WHEN (NEW.queue = " +
          cluster.Sql("SELECT number FROM allotter.queues WHERE name = '" + name_ + "'") +
          ") EXECUTE FUNCTION allotter.full()");
    } else if (full_) {
      cluster.Sql("DROP TRIGGER " + trigger + " ON allotter.heads");
    }
    full_ = full;
  }
  std::string BackupName(const std::string& name) override { return directory_ / name; }
  // As another queue of the database.
  Result<std::unique_ptr<Store>> OpenBackup(const std::string& file) override {
    const std::string copy = name_ + " restored";
    if (Result<void> done = SqliteStore::VerifyBackup(file); !done) return done.error();
    if (Result<void> done = RestoreIntoPostgres(*database_, {.file = file, .queue = copy}); !done) return done.error();
    return PostgresStore::Open(database_, copy);
  }
  const std::string& name() const { return name_; }
  const std::shared_ptr<PostgresDatabase>& database() const { return database_; }

 private:
  TempDirectory directory_;
  std::string name_;
  std::shared_ptr<PostgresDatabase> database_;
  bool full_ = false;
};

struct StoreKind {
  const char* name;
  std::function<std::unique_ptr<StoreHarness>()> make;
  std::function<std::optional<std::string>()> missing = [] { return std::nullopt; };  // why there can be none here
  friend std::ostream& operator<<(std::ostream& out, const StoreKind& kind) { return out << kind.name; }
};

inline std::vector<StoreKind> AllStoreKinds() {
  return {
      {"Memory", [] { return std::make_unique<MemoryHarness>(); }},
      {"Sqlite", [] { return std::make_unique<SqliteHarness>(); }},
      {"Postgres", [] { return std::make_unique<PostgresHarness>(); }, postgres::TestCluster::Missing},
  };
}

}  // namespace allot

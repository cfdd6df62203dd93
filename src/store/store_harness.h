// For tests: how to open each kind of store, crash it, fill its disk. A new kind is one line at the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "store/memory/memory_store.h"
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

struct StoreKind {
  const char* name;
  std::function<std::unique_ptr<StoreHarness>()> make;
  friend std::ostream& operator<<(std::ostream& out, const StoreKind& kind) { return out << kind.name; }
};

inline std::vector<StoreKind> AllStoreKinds() {
  return {
      {"Memory", [] { return std::make_unique<MemoryHarness>(); }},
      {"Sqlite", [] { return std::make_unique<SqliteHarness>(); }},
  };
}

}  // namespace allot

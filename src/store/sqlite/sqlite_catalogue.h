// SPDX-License-Identifier: Apache-2.0
// The queues of a data directory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/catalogue.h"
#include "store/sqlite/queue_files.h"
#include "store/sqlite/sqlite_store.h"

namespace allot {

class SqliteCatalogue final : public Catalogue {
 public:
  // `options` are those of every queue; its file is set here.
  explicit SqliteCatalogue(std::string data, SqliteOptions options = {})
      : data_(std::move(data)), files_(data_), options_(std::move(options)) {}

  std::string Where() const override { return data_; }
  Result<void> Prepare() override {
    std::error_code ec;
    std::filesystem::create_directories(files_.folder(), ec);
    if (!ec) return {};
    return Error{Code::kStoreFailed, "cannot make the directory " + files_.folder() + ": " + ec.message(),
                 "choose another one with --data"};
  }
  Result<std::vector<std::string>> List() override {
    Result<std::vector<std::string>> listed = files_.List();
    if (listed.ok()) return listed;
    return Error{Code::kStoreFailed, "cannot read the directory " + files_.folder() + ": " + listed.error().message,
                 ""};
  }
  Result<bool> FinishDeletion(const std::string& queue) override { return files_.FinishDeletion(queue); }
  Result<std::unique_ptr<Store>> Open(const std::string& queue) override {
    SqliteOptions options = options_;
    options.file = files_.FileOf(queue);
    return SqliteStore::Open(options);
  }
  Result<void> Delete(const std::string& queue) override { return files_.Delete(queue); }

 private:
  const std::string data_;
  const sqlite::QueueFiles files_;
  const SqliteOptions options_;
};

}  // namespace allot

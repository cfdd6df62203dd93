// The queues of a data directory.
#pragma once

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
  Result<void> Prepare() override;
  Result<std::vector<std::string>> List() override;
  Result<bool> FinishDeletion(const std::string& queue) override { return files_.FinishDeletion(queue); }
  Result<std::unique_ptr<Store>> Open(const std::string& queue) override;
  Result<void> Delete(const std::string& queue) override { return files_.Delete(queue); }

 private:
  const std::string data_;
  const sqlite::QueueFiles files_;
  const SqliteOptions options_;
};

}  // namespace allot

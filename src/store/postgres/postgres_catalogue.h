// SPDX-License-Identifier: Apache-2.0
// The queues of a database.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/catalogue.h"
#include "store/postgres/database.h"

namespace allot {

class PostgresCatalogue final : public Catalogue {
 public:
  explicit PostgresCatalogue(PostgresOptions options) : options_(std::move(options)) {}
  // Of one that is open already.
  explicit PostgresCatalogue(std::shared_ptr<PostgresDatabase> database)
      : options_(database->options()), database_(std::move(database)) {}

  std::string Where() const override { return postgres::RedactedUrl(options_.url); }
  Result<void> Prepare() override;
  Result<std::vector<std::string>> List() override;
  // What a deleted queue left behind is swept by the others' Tidy().
  Result<bool> FinishDeletion(const std::string&) override { return false; }
  Result<std::unique_ptr<Store>> Open(const std::string& queue) override;
  Result<void> Delete(const std::string& queue) override;

 private:
  const PostgresOptions options_;
  std::shared_ptr<PostgresDatabase> database_;  // from Prepare() on
};

}  // namespace allot

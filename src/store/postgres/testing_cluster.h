// SPDX-License-Identifier: Apache-2.0
// For tests: PostgreSQL itself, in a temporary folder, reached by a Unix socket, as a user without privileges. It waits
// for its disk as it would anywhere.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace allot::postgres {

class TestCluster {
 public:
  // Why there can be none; nothing if there can.
  static std::optional<std::string> Missing();
  // One for all tests of the program, started when it is first asked for. Its settings are the usual ones.
  static TestCluster& Shared();

  // With these settings, `name=value` each. REQUIRES: !Missing().
  explicit TestCluster(const std::vector<std::string>& settings = {});
  ~TestCluster();
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  std::string Url(const std::string& user = "allot", const std::string& database = "postgres") const;
  // As an administrator; the first field of the first row, if there is one.
  std::string Sql(const std::string& text, const std::string& database = "postgres") const;
  void Start();
  // As by a power cut, but that files keep what was written.
  void Kill();
  void Stop();

 private:
  void Run(const std::vector<std::string>& command) const;

  std::string folder_;
  std::vector<std::string> settings_;
  pid_t pid_ = -1;
};

}  // namespace allot::postgres

// SPDX-License-Identifier: Apache-2.0
// A server with tokens, for those who have none, or the wrong one, or bad intentions.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "faults/fixture.h"

namespace allot::testing {

// Made by the command line, as an operator would.
inline std::string MakeToken(const std::string& data, std::vector<std::string> flags) {
  std::vector<std::string> argv = {AllotBin(), "token", "create", "--data", data, "-o", "json"};
  argv.insert(argv.end(), flags.begin(), flags.end());
  const Finished created = RunProgram(argv);
  EXPECT_EQ(created.exit_code, 0) << created.err;
  return Document(created.out).Text("/token");
}

// By its name. The server follows the file within a second.
inline void RevokeToken(const std::string& data, const std::string& name) {
  const Finished revoked = RunProgram({AllotBin(), "token", "revoke", "--data", data, name});
  EXPECT_EQ(revoked.exit_code, 0) << revoked.err;
}

class HostileSuite : public LiveSuite {
 protected:
  static void StartWithTokens(std::vector<std::string> flags) {
    dir_ = std::make_unique<TempDir>();
    const std::string data = *dir_ / "data";
    admin_ = MakeToken(data, {"--scope", "admin"});
    work_ = MakeToken(data, {"--scope", "work"});
    submit_ = MakeToken(data, {"--scope", "submit"});
    StartServer({.data = data, .flags = std::move(flags)});
  }
  static void TearDownTestSuite() {
    LiveSuite::TearDownTestSuite();
    dir_.reset();
  }
  void TearDown() override {
    ASSERT_TRUE(server().Running()) << server().Log();
    Http admin = server().http(admin_);
    EXPECT_EQ(MetricOf(admin, "allotter_connection_errors_total"), 0) << server().Log();
  }
  static std::string HostLine() { return "Host: 127.0.0.1:" + std::to_string(server().port()) + "\r\n"; }

  static inline std::unique_ptr<TempDir> dir_;
  static inline std::string admin_, work_, submit_;
};

}  // namespace allot::testing

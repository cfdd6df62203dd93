// SPDX-License-Identifier: Apache-2.0
// What objects of the protocol are made of, and where the server is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace allotter {

using std::chrono::milliseconds;
using MetaValue = std::variant<std::string, std::int64_t, double, bool>;
using Meta = std::vector<std::pair<std::string, MetaValue>>;
// Declared key=value pairs: what a worker is, or what a job demands of it.
using Properties = std::vector<std::pair<std::string, std::string>>;

// Where the server is, and as whom to speak to it.
struct ConnectionOptions {
  std::string server = "http://127.0.0.1:7420";  // http:// or https://
  std::string token = {};                        // empty: none
  std::string queue = "default";
  std::string ca_file = {};      // https: trust these authorities instead of the system's
  milliseconds timeout{30'000};  // to connect, and for each answer beyond what the request itself waits
};

}  // namespace allotter

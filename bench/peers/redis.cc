// SPDX-License-Identifier: Apache-2.0
// Redis as a queue that loses nothing: a list of waiting jobs and one of those that are being worked on. Without a
// file, or with one that is synced before each answer (always) or once a second (everysec).
#include <cstdlib>

#include "peers/support/peer.h"

namespace allot::bench {
namespace {

constexpr std::string_view kTake =
    "*6\r\n$6\r\nBLMOVE\r\n$1\r\nw\r\n$1\r\nr\r\n$4\r\nLEFT\r\n$5\r\nRIGHT\r\n$1\r\n0\r\n";

std::string Bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

class Redis final : public Peer {
 public:
  std::string_view name() const override { return "redis"; }
  std::vector<std::string_view> durabilities() const override { return {"none", "always", "everysec"}; }
  std::vector<std::string> Command(std::string_view durability, std::uint16_t port,
                                   const std::string& folder) const override {
    const bool file = durability != "none";
    return {"redis-server",
            "--bind",
            "127.0.0.1",
            "--port",
            std::to_string(port),
            "--dir",
            folder,
            "--save",
            "",
            "--appendonly",
            file ? "yes" : "no",
            "--appendfsync",
            file ? std::string(durability) : "no"};
  }

  std::string Put(std::string_view payload) const override {
    return "*3\r\n$5\r\nRPUSH\r\n$1\r\nw\r\n" + Bulk(payload);
  }
  std::string Take() const override { return std::string(kTake); }
  Reply Next(std::string_view data) const override {
    const std::size_t end = data.find("\r\n");
    if (end == std::string_view::npos) return {};
    const std::string_view line = data.substr(0, end);
    Reply reply{end + 2, Kind::kOther, line};
    if (line.starts_with(':')) {
      reply.kind = Kind::kOk;  // how long the list is, or how many were removed
    } else if (line.starts_with('$') && line != "$-1") {
      const std::size_t size = std::strtoul(line.substr(1).data(), nullptr, 10);
      reply.kind = Kind::kTaken;
      reply.size += size + 2;
      if (data.size() < reply.size) return {};
      reply.what = data.substr(end + 2, size);
    }
    return reply;
  }
  void FinishAndTake(std::string_view what, std::string& message) const override {
    message.append("*4\r\n$4\r\nLREM\r\n$1\r\nr\r\n$1\r\n1\r\n").append(Bulk(what)).append(kTake);
  }
};

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) { return allot::bench::PeerMain(allot::bench::Redis(), argc, argv); }

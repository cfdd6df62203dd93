// SPDX-License-Identifier: Apache-2.0
// beanstalkd: without a log, or with one that is synced at every write (f0) or every 50 ms (f50).
#include <cstdlib>

#include "peers/support/peer.h"

namespace allot::bench {
namespace {

class Beanstalkd final : public Peer {
 public:
  std::string_view name() const override { return "beanstalkd"; }
  std::vector<std::string_view> durabilities() const override { return {"none", "f0", "f50"}; }
  std::vector<std::string> Command(std::string_view durability, std::uint16_t port,
                                   const std::string& folder) const override {
    std::vector<std::string> command = {"beanstalkd", "-l", "127.0.0.1", "-p", std::to_string(port)};
    if (durability != "none") command.insert(command.end(), {"-b", folder, "-" + std::string(durability)});
    return command;
  }

  std::string Put(std::string_view payload) const override {
    return "put 0 0 60 " + std::to_string(payload.size()) + "\r\n" + std::string(payload) + "\r\n";
  }
  std::string Take() const override { return "reserve\r\n"; }
  Reply Next(std::string_view data) const override {
    const std::size_t end = data.find("\r\n");
    if (end == std::string_view::npos) return {};
    const std::string_view line = data.substr(0, end);
    Reply reply{end + 2, Kind::kOther, line};
    if (line.starts_with("INSERTED ") || line == "DELETED") {
      reply.kind = Kind::kOk;
    } else if (line.starts_with("RESERVED ")) {
      reply.kind = Kind::kTaken;
      reply.what = line.substr(9, line.find(' ', 9) - 9);
      reply.size += std::strtoul(line.substr(line.rfind(' ') + 1).data(), nullptr, 10) + 2;
      if (data.size() < reply.size) return {};
    }
    return reply;
  }
  void FinishAndTake(std::string_view what, std::string& message) const override {
    message.append("delete ").append(what).append("\r\nreserve\r\n");
  }
};

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) { return allot::bench::PeerMain(allot::bench::Beanstalkd(), argc, argv); }

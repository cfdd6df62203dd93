// SPDX-License-Identifier: Apache-2.0
// A fuzzer of the grammar over real sockets: the server lives, its memory does not grow, and others are served.
//
// ALLOT_FUZZ_REQUESTS: how many requests and frames (20,000). ALLOT_FUZZ_SEED: to repeat what a failure printed.
#include <cstdlib>
#include <random>

#include "base/sanitizers.h"
#include "hostile/grammar.h"
#include "hostile/hostile.h"

namespace allot::testing {
namespace {

// A sanitizer keeps what was freed for a while.
constexpr std::uint64_t kMaxGrowth = (ALLOT_SANITIZED ? 1024 : 64) * std::uint64_t{1024 * 1024};
constexpr std::uint64_t kProbeEvery = 1000;
constexpr std::size_t kOpenAtOnce = 50;

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class GrammarFuzzer : public HostileSuite {
 protected:
  static void SetUpTestSuite() {
    StartWithTokens({"--request-timeout", "2s", "--write-timeout", "2s", "--idle-timeout", "2s", "--heartbeat", "1s",
                     "--worker-grace", "1s", "--retention", "0s"});
  }
};

// An answer is one of ours, and never a failure of the server itself.
void ExpectAnswer(const std::string& got, const std::string& sent) {
  if (got.empty()) return;
  ASSERT_EQ(got.compare(0, 9, "HTTP/1.1 "), 0) << got.substr(0, 200) << "\nfor\n" << sent.substr(0, 2000);
  ASSERT_NE(got.compare(9, 3, "500"), 0) << got.substr(0, 500) << "\nfor\n" << sent.substr(0, 2000);
}

TEST_F(GrammarFuzzer, LeavesTheServerAliveAndItsMemoryAsItWas) {
  const std::uint64_t seed = FromEnvironment("ALLOT_FUZZ_SEED", std::random_device()());
  const std::uint64_t most = FromEnvironment("ALLOT_FUZZ_REQUESTS", 20'000);
  SCOPED_TRACE("ALLOT_FUZZ_SEED=" + std::to_string(seed));
  const std::string worker = MakeToken(server().data(), {"--scope", "work,read"});
  const std::string reader = MakeToken(server().data(), {"--scope", "read"});
  Grammar grammar(seed, {"127.0.0.1:" + std::to_string(server().port()), {worker, submit_, reader}});
  Http admin = server().http(admin_);
  std::uint64_t baseline = 0, peak = 0;
  std::vector<Socket> open;  // left behind for a while, with what they began
  std::uint64_t next_probe = 0;
  for (std::uint64_t sent = 0; sent < most;) {
    if (sent >= next_probe) {
      next_probe = sent + kProbeEvery;
      ASSERT_TRUE(server().Running()) << sent << "\n" << server().Log();
      ASSERT_EQ(admin.Get("/v1/queues").status, 200) << sent;
      const std::uint64_t resident = ResidentBytes(server().pid());
      // Pools and tables have their size after the first thousands.
      if (sent <= 2 * kProbeEvery || sent * 10 < most) baseline = std::max(baseline, resident);
      peak = std::max(peak, resident);
      ASSERT_LE(resident, baseline + kMaxGrowth) << "after " << sent;
    }
    Socket socket(server().port());
    ASSERT_TRUE(socket.connected()) << sent;
    std::string got;
    if (grammar.OneIn(4)) {
      const std::string handshake = grammar.Handshake();
      const std::string frames = grammar.SomeFrames();
      // Sometimes all at once, sometimes after the answer.
      if (grammar.OneIn(2)) {
        socket.Send(handshake + frames, milliseconds(500));
      } else if (socket.Send(handshake, milliseconds(500))) {
        socket.ReadSome(got, SteadyNow() + milliseconds(100));
        socket.Send(frames, milliseconds(500));
      }
      ExpectAnswer(got, handshake);
      ++sent;
    } else {
      const Grammar::Requests requests = grammar.SomeRequests();
      if (grammar.OneIn(10) && requests.bytes.size() > 1) {
        const std::size_t cut = grammar.Below(requests.bytes.size());
        socket.Send(std::string_view(requests.bytes).substr(0, cut), milliseconds(500));
        socket.Send(std::string_view(requests.bytes).substr(cut), milliseconds(500));
      } else {
        socket.Send(requests.bytes, milliseconds(500));
      }
      if (!grammar.OneIn(4)) socket.ReadSome(got, SteadyNow() + milliseconds(grammar.OneIn(10) ? 20 : 2));
      ExpectAnswer(got, requests.bytes);
      sent += static_cast<std::uint64_t>(requests.count);
    }
    if (HasFatalFailure()) return;
    if (grammar.OneIn(8)) {
      if (grammar.OneIn(2)) socket.ShutdownWrite();
      open.push_back(std::move(socket));
      if (open.size() > kOpenAtOnce) {
        open[grammar.Below(open.size())].Reset();
        std::swap(open[grammar.Below(open.size())], open.back());
        open.back().Reset();
        open.pop_back();
      }
    } else {
      socket.Reset();  // leaves no port behind
    }
  }
  open.clear();
  ASSERT_TRUE(server().Running()) << server().Log();
  EXPECT_EQ(admin.Get("/v1/queues").status, 200);
  std::printf("%llu requests and frames: resident %llu MB at first, %llu MB at most\n",
              static_cast<unsigned long long>(most), static_cast<unsigned long long>(baseline >> 20),
              static_cast<unsigned long long>(peak >> 20));
}

}  // namespace
}  // namespace allot::testing

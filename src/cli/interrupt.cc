// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "cli/exit_code.h"

namespace allot::cli {
namespace {

// For the signal handler: a text is complete before it is the one that counts.
char g_texts[2][1024];
std::atomic<int> g_text{0};
static_assert(std::atomic<int>::is_always_lock_free);

void OnInterrupt(int) {
  const char* const text = g_texts[g_text.load()];
  // Nothing to be done if it fails.
  [[maybe_unused]] const auto n = ::write(STDERR_FILENO, text, std::strlen(text));
  ::_exit(static_cast<int>(ExitCode::kInterrupted));
}

}  // namespace

void SayOnInterrupt(const std::string& text) {
  const int next = 1 - g_text.load();
  const std::string line = "\n" + text + "\n";
  const std::size_t length = line.copy(g_texts[next], sizeof g_texts[next] - 1);
  g_texts[next][length] = '\0';
  g_text.store(next);
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace allot::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/world.h"

#include <algorithm>

namespace allot::cli::demo {
namespace {

constexpr std::string_view kCrmErrors[] = {"timeout: crm.example did not answer within 5 s",
                                           "503 Service Unavailable from crm.example",
                                           "record is locked by another session"};
constexpr std::string_view kImportErrors[] = {"row has 11 columns, expected 12"};

constexpr Trade kTrades[] = {
    {.tag = "thumbnails", .least_ms = 60, .most_ms = 250, .result = R"({"width":320,"height":240})"},
    {.tag = "emails", .least_ms = 40, .most_ms = 120, .result = R"({"sent":true})"},
    {.tag = "crm-sync",
     .least_ms = 100,
     .most_ms = 400,
     .failing = 0.25,
     .errors = kCrmErrors,
     .result = R"({"records":50})"},
    {.tag = "reports", .least_ms = 1000, .most_ms = 4000, .result = R"({"pages":12})"},
    {.tag = "imports",
     .least_ms = 20,
     .most_ms = 80,
     .failing = 0.0005,
     .errors = kImportErrors,
     .result = R"({"rows":1000})"},
    {.tag = "video", .least_ms = 3000, .most_ms = 9000, .result = R"({"frames":1440})"},
};

constexpr Producer kProducers[] = {
    // A user whose few tasks are never behind another's many: the queue's policy is fair.
    {.user = "ann",
     .tag = "thumbnails",
     .least_tasks = 20,
     .most_tasks = 60,
     .every_ms = 3000,
     .most_open = 4,
     .more = R"(,"priority":5,"async":false,"meta":{"customer":"acme"})"},
    {.user = "bob",
     .tag = "thumbnails",
     .least_tasks = 2000,
     .most_tasks = 5000,
     .every_ms = 20000,
     .most_open = 3,
     .more = R"(,"meta":{"customer":"globex"})"},
    // Under the limit.
    {.user = "cho",
     .tag = "emails",
     .least_tasks = 50,
     .most_tasks = 200,
     .every_ms = 8000,
     .most_open = 3,
     .more = R"(,"meta":{"customer":"initech"})"},
    // Only on workers in one zone, with enough memory.
    {.user = "dana",
     .tag = "reports",
     .least_tasks = 2,
     .most_tasks = 6,
     .every_ms = 5000,
     .most_open = 4,
     .more = R"(,"constraints":{"zone":"eu"},"requirements":"TARGET.memory >= 8192","meta":{"customer":"acme"})"},
    // One large job in the background.
    {.user = "eli",
     .tag = "imports",
     .least_tasks = 1'000'000,
     .most_tasks = 1'000'000,
     .every_ms = 1000,
     .most_open = 1,
     .more = R"(,"priority":-10,"max_failed_tasks":"1%","meta":{"customer":"globex"})"},
    // Fails now and then, and is tried again.
    {.user = "fay",
     .tag = "crm-sync",
     .least_tasks = 10,
     .most_tasks = 30,
     .every_ms = 5000,
     .most_open = 3,
     .more = R"(,"max_attempts":3,"max_failed_tasks":"10%","backoff":{"first_ms":2000},"meta":{"customer":"initech"})"},
    // What no worker here can do: the reason says so.
    {.user = "gus",
     .tag = "video",
     .least_tasks = 12,
     .most_tasks = 12,
     .every_ms = 1000,
     .most_open = 1,
     .more = R"(,"requirements":"TARGET.gpus >= 1","meta":{"customer":"acme"})"},
};

constexpr std::string_view kWeb[] = {"thumbnails", "emails", "crm-sync", "imports", "video"};
constexpr std::string_view kBatch[] = {"reports", "imports"};
constexpr Machine kMachines[] = {
    {"web-1", kWeb, 4, "eu", 4096},      {"web-2", kWeb, 4, "us", 4096},      {"web-3", kWeb, 4, "us", 4096},
    {"batch-1", kBatch, 3, "eu", 16384}, {"batch-2", kBatch, 3, "us", 16384},
};

}  // namespace

const Trade* FindTrade(std::string_view tag) {
  const auto found = std::find_if(std::begin(kTrades), std::end(kTrades), [&](const Trade& t) { return t.tag == tag; });
  return found == std::end(kTrades) ? nullptr : &*found;
}

std::span<const Producer> Producers() { return kProducers; }

std::span<const Machine> Machines() { return kMachines; }

}  // namespace allot::cli::demo

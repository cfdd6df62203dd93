// SPDX-License-Identifier: Apache-2.0
// LiveView: what a GET shows, again whenever it changed, over a connection of its own.
//
//   auto view = allotter::LiveView::Open({}, allotter::OverviewPath("default"));
//   view->Run({.on_view = [](const std::string& json) {
//     auto overview = allotter::FromView<allotter::Overview>(json);
//     …
//   }});
//
// A connection that is lost is made anew, after pauses that grow up to ten seconds, for as long as it takes; then the
// view comes as it is now. What the server refuses (a job that is gone, a token that was revoked) ends it.
// Threading: Run() belongs to one thread, and calls its handlers there; Stop() may be called from any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "allotter/explanation.h"
#include "allotter/limits.h"
#include "allotter/overview.h"
#include "allotter/result.h"
#include "allotter/types.h"

namespace allotter {

class LiveView {
 public:
  struct Handlers {
    // The body as the plain GET would answer it. At most once a second; what came meanwhile is passed over.
    std::function<void(const std::string& json)> on_view = {};
    // The server is not there, or was lost; it will be tried again.
    std::function<void(const Error& error)> on_lost = {};
  };
  // `path` is that of a GET that docs/reference/protocol/watching.md lists under "Live views". Connects to nothing
  // yet.
  // kBadValue for options, or a path, that cannot be.
  static Result<LiveView> Open(const ConnectionOptions& options, std::string path);
  LiveView(LiveView&&) noexcept;
  LiveView& operator=(LiveView&&) noexcept;
  ~LiveView();

  // Blocks until Stop(), or with the error that ended it. REQUIRES: called once.
  Result<void> Run(const Handlers& handlers);
  // Makes Run() return soon; for good.
  void Stop();

 private:
  class Impl;
  explicit LiveView(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What a view's JSON says. For the types that the paths below are of.
template <typename T>
Result<T> FromView(const std::string& json);

std::string QueuesPath();                                               // std::vector<Queue>
std::string OverviewPath(std::string_view queue);                       // Overview
std::string JobsPath(std::string_view queue, const JobQuery& query);    // JobPage
std::string ExplainPath(std::string_view queue, std::string_view job);  // Explanation
std::string WorkersPath(std::string_view queue, std::string_view after = {}, std::size_t limit = 1000);  // WorkerPage
std::string WorkerPath(std::string_view queue, std::string_view worker);                                 // WorkerInfo
std::string UsersPath(std::string_view queue, const UserQuery& query = {});                              // UserPage
std::string LimitsPath(std::string_view queue, const LimitFilter& filter = {});  // std::vector<Limit>

}  // namespace allotter

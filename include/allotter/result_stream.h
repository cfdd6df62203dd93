// SPDX-License-Identifier: Apache-2.0
// ResultStream: a job's results as they complete, in whatever order that is.
//
//   auto stream = allotter::ResultStream::Open({}, job);
//   for (;;) {
//     auto results = stream->Next();
//     if (!results || results->empty()) break;
//     for (const allotter::TaskResult& result : *results) …
//   }
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allotter/result.h"
#include "allotter/tasks.h"
#include "allotter/values.h"

namespace allotter {

// Each result comes once, also where the connection was lost and the server was started again meanwhile.
// Threading: one call at a time.
class ResultStream {
 public:
  // Needs a server with the feature `results_as_completed`.
  static Result<ResultStream> Open(const ConnectionOptions& options, std::string job);
  ResultStream(ResultStream&&) noexcept;
  ResultStream& operator=(ResultStream&&) noexcept;
  ~ResultStream();

  // The next ones; empty: the job has ended, and all were told. Blocks. A connection that is lost is made anew, for as
  // long as ConnectionOptions::timeout says; then it fails with kUnavailable, and may be called again.
  Result<std::vector<TaskResult>> Next();

 private:
  class Impl;
  explicit ResultStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace allotter

// SPDX-License-Identifier: Apache-2.0
// Child processes on an io_context: no thread each, nothing blocks.
//
// A child runs in a process group of its own, gets `input` on stdin, and its output is collected. It inherits no
// descriptor of this process but these streams. It has ended when it has exited: what a process that it left behind
// writes later is not waited for. Threading: confined to the io_context's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace allot::cli {

struct ProcessSpec {
  std::vector<std::string> argv;
  std::vector<std::string> variables;  // `NAME=value`, on top of this process's own
  std::string input;
  std::size_t max_output = 1 << 20;   // more is read, and dropped
  std::size_t max_error_tail = 2048;  // the end of stderr that is kept
  bool pass_stderr = true;            // written to this process's stderr too
};

struct ProcessEnd {
  int status = 0;  // exit status, if no signal
  int signal = 0;  // that ended it; 0: none
  std::string output;
  bool output_cut = false;  // there was more than max_output
  std::string error_tail;
};

class Process {
 public:
  using OnEnd = std::function<void(ProcessEnd&& end)>;
  // `on_end` is called once, later. kUnavailable if it cannot be started.
  static Result<std::shared_ptr<Process>> Start(boost::asio::io_context& context, ProcessSpec spec, OnEnd on_end);
  virtual ~Process() = default;
  // Asks the whole group to end (SIGTERM), and makes it (SIGKILL) after `grace`, or when the child itself has ended.
  virtual void Stop(std::chrono::milliseconds grace) = 0;
};

// Where a program of that name would be found, as execvp does; empty if nowhere.
std::string FindProgram(const std::string& name);

}  // namespace allot::cli

// SPDX-License-Identifier: Apache-2.0
// The queues of a place, be it a data directory or a database: which there are, how each one is opened, and how one is
// removed. What names its parts have there, nobody else knows.
//
// Threading: any thread. All of it may wait for a disk or a network.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace allot {

class Catalogue {
 public:
  virtual ~Catalogue() = default;

  // For people: where the queues are. Without secrets.
  virtual std::string Where() const = 0;
  // Once, first.
  virtual Result<void> Prepare() = 0;
  // The names of all queues, in order. Some may be no valid names of queues: they belong to others.
  virtual Result<std::vector<std::string>> List() = 0;
  // Whether the queue was deleted; if so, what is left of it goes.
  virtual Result<bool> FinishDeletion(const std::string& queue) = 0;
  // Makes it if it is not there. Fails as the store says.
  virtual Result<std::unique_ptr<Store>> Open(const std::string& queue) = 0;
  // When nobody writes to it any more. It does not come back after a loss of power.
  virtual Result<void> Delete(const std::string& queue) = 0;
};

}  // namespace allot

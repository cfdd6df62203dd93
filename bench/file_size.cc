// SPDX-License-Identifier: Apache-2.0
// How large a queue's file is when a tenth of a job's tasks are done, in order and at random.
//
//   allot_file_size [TASKS]     (default 100,000,000)
//
// Writes the journal that such a life leaves, a million events at a time, lets the engine fold it and the store tidy
// up, as a server does, and looks at the file. Doing it through leases would take the same path, only longer.
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "cli/bench/child.h"
#include "engine/jobs/events.h"
#include "permutation.h"
#include "store/sqlite/sqlite_store.h"
#include "support.h"

namespace allot::bench {
namespace {

constexpr std::uint64_t kEventsPerRound = 1'000'000;
constexpr std::uint64_t kEventsPerRow = 1'000;
constexpr JobId kJob{1};

// The queue as a server holds it, opened anew for every round.
class Queue {
 public:
  explicit Queue(const std::string& file) : engine_(EngineOptions{}) {
    SqliteOptions options;
    options.file = file;
    store_ = Must(SqliteStore::Open(options));
    Store::Loader loader;
    loader.on_record = [this](const Record& record) {
      return engine_.records().Load(record.job, record.page, record.blob);
    };
    loader.on_events = [this](Position position, std::string_view events) {
      return engine_.records().Replay(position, events);
    };
    Must(store_->Load(loader, [this](JobId set) { return engine_.looks().UsesPayloadSet(set); }));
    next_ = store_->LastPosition() + 1;
  }

  void Submit(std::uint32_t count) {
    engine_.records().FinishLoad(At(1), Duration(0));
    JobSpec spec;
    spec.count = count;
    Must(engine_.jobs().Submit(At(1), kJob, spec));
    auto [position, effects] = engine_.Take();
    Batch batch;
    batch.position = position;
    batch.events = std::move(effects.events);
    Commit(std::move(batch));
  }

  void Done(const std::vector<TaskIndex>& indices) {
    for (std::size_t at = 0; at < indices.size();) {
      Batch batch;
      ByteWriter out(batch.events);
      for (std::uint64_t i = 0; i < kEventsPerRow && at < indices.size(); ++i, ++at) {
        out.U8(static_cast<std::uint8_t>(EventType::kDone));
        out.Varint(kJob.value);
        out.Varint(indices[at]);
        out.Varint(0);
      }
      batch.position = next_++;
      Must(engine_.records().Replay(batch.position, batch.events));
      Commit(std::move(batch));
    }
    engine_.records().FinishLoad(At(1), Duration(0));
  }

  void Fold() {
    for (;;) {
      if (engine_.HasEffects()) {
        auto [position, effects] = engine_.Take();
        Batch batch;
        batch.position = effects.events.empty() ? 0 : position;
        batch.events = std::move(effects.events);
        Commit(std::move(batch));
      }
      if (engine_.looks().UnfoldedEvents() == 0) break;
      FoldStep step = engine_.records().Fold(64 * 1024);
      Batch batch;
      batch.records = std::move(step.records);
      batch.floor = step.floor;
      Commit(std::move(batch));
    }
    while (Must(store_->Tidy())) {
    }
  }

 private:
  void Commit(Batch batch) { Must(store_->Commit(std::span<const Batch>(&batch, 1))); }

  Engine engine_;
  std::unique_ptr<Store> store_;
  Position next_ = 1;
};

double FileBytes(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) throw Failure("there is no file");
  return static_cast<double>(info.st_size);
}

void Measure(std::uint32_t tasks, bool random, Figures& figures) {
  TemporaryDirectory directory;
  const std::string file = directory.path() + "/queue.db";
  {
    Queue queue(file);
    queue.Submit(tasks);
    queue.Fold();
  }
  const std::uint64_t done = tasks / 10;
  const Permutation permutation(tasks, 1);
  for (std::uint64_t at = 0; at < done;) {
    std::vector<TaskIndex> indices;
    for (; at < done && indices.size() < kEventsPerRound; ++at) {
      indices.push_back(static_cast<TaskIndex>(random ? permutation(at) : at));
    }
    Queue queue(file);
    queue.Done(indices);
    queue.Fold();
  }
  const std::string name = std::string("file_size/") + (random ? "random" : "in_order");
  figures.Add(name, FileBytes(file) / static_cast<double>(done), "bytes/done_task");
}

void MeasureBoth(std::uint32_t tasks, Figures& figures) {
  if (tasks < 10) throw Failure("needs ten tasks at least");
  Measure(tasks, false, figures);
  Measure(tasks, true, figures);
}

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) {
  const auto tasks = static_cast<std::uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000'000);
  return allot::bench::PrintFigures(
      "allot_file_size", [tasks](allot::bench::Figures& figures) { allot::bench::MeasureBoth(tasks, figures); });
}

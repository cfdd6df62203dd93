// SPDX-License-Identifier: Apache-2.0
// What older programs have stored is read for ever: records and journal of each format, kept as files.
//
// testdata/format_N.txt has lines `record JOB PAGE HEX` and `journal POSITION HEX`, as a store would give them back,
// and then what the queue looked like, as lines `want TEXT`.
//
// Changing it: a file that is there never changes. After a change of kRecordVersion, of the header or of events, write
// the next one: ALLOT_WRITE_FORMAT=src/engine/testdata/format_3.txt build/engine_tests --gtest_filter=Format.*
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/testing.h"
#include "expr/expr.h"
#include "expr/testing.h"

namespace allot::testing {
namespace {

const std::filesystem::path kFolder = "src/engine/testdata";

std::string ToHex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text.push_back(kDigits[static_cast<unsigned char>(byte) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(byte) & 15]);
  }
  return text;
}

std::string FromHex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string TextOf(const MetaValue& value) {
  std::ostringstream out;
  std::visit([&](const auto& of) { out << value.index() << ':' << std::boolalpha << of; }, value);
  return out.str();
}

// All that can be seen of a queue and is stored.
std::vector<std::string> Look(const Engine& engine) {
  std::vector<std::string> lines;
  JobQuery query;
  query.limit = 1000;
  for (const JobView& job : engine.looks().List(query).jobs) {
    std::ostringstream out;
    out << ToText(job.id) << ' ' << StateText(job.state) << " reason=" << job.reason << " tags=";
    for (const std::string& tag : *job.tags) out << tag << ',';
    for (const std::string& tag : *job.constraint_tags) out << " constraint=" << tag;
    if (job.requirements) out << " requirements=" << job.requirements->source();
    if (job.rank) out << " rank=" << job.rank->source();
    if (job.priority) out << " priority=" << *job.priority;
    out << " user=" << job.user << " async=" << job.async;
    for (const auto& [key, value] : *job.meta) out << " meta." << key << '=' << TextOf(value);
    out << " payload=" << job.payload.set.value << '/' << job.payload.common << '/' << job.payload.per_task
        << " prefix=" << job.payload_prefix << " key=" << job.idempotency_key << " trace=" << job.trace
        << " count=" << job.count << " queued=" << job.queued << " running=" << job.running
        << " retrying=" << job.retrying << " done=" << job.done << " failed=" << job.failed
        << " skipped=" << job.skipped << " attempts=" << job.max_attempts << " allowed=" << job.max_failed_tasks
        << " backoff=" << job.backoff.first.count() << '/' << job.backoff.factor << '/' << job.backoff.max.count()
        << '/' << job.backoff.jitter << " lease=" << job.lease.count() << " timeout=" << job.timeout.count()
        << " retention=" << job.retention.count() << " submitted=" << ToMillis(job.submitted_at)
        << " scheduled=" << ToMillis(job.scheduled_for);
    if (job.started_at) out << " started=" << ToMillis(*job.started_at);
    if (job.ended_at) out << " ended=" << ToMillis(*job.ended_at);
    if (job.next_retry_at) out << " retry=" << ToMillis(*job.next_retry_at);
    lines.push_back(out.str());
    for (TaskIndex index = 0; index < std::min(job.count, 8u); ++index) {
      const TaskView task = *engine.looks().Task(job.id, index);
      std::ostringstream of;
      of << ToText(job.id) << '/' << index << " state=" << static_cast<int>(task.state) << " attempts=" << task.attempts
         << " worker=" << task.worker.value;
      lines.push_back(of.str());
    }
  }
  lines.push_back("paused=" + std::to_string(engine.looks().Stats().paused) +
                  " highest=" + std::to_string(engine.looks().HighestId()));
  return lines;
}

class FormatWriter : public EngineTest {
 public:
  void TestBody() override {}
  void Write(const std::string& path) {
    options_.dispatch.mode = DispatchMode::kFanout;
    Load(30s);
    // What is folded.
    const WorkerId worker = Register();
    JobSpec full = Spec(6);
    full.constraints = {{{"arch", "arm64"}}, {{"arch", "x86_64"}, {"zone", "a b"}}};
    full.requirements = testing::MustParse("TARGET.memory >= 4096 && MY.size < 9");
    full.rank = testing::MustParse("TARGET.speed");
    full.priority = -7;
    full.user = "ann";
    full.async = false;
    full.meta = {{"name", std::string("été")}, {"ratio", 0.25}, {"size", std::int64_t{-3}}, {"urgent", true}};
    full.payload = {JobId{90}, true, true};
    full.payload_prefix = "s3://bucket/prefix";
    full.max_attempts = 3;
    full.backoff = {milliseconds(100), 1.5, milliseconds(9000), 0};
    full.lease = milliseconds(20'000);
    full.timeout = milliseconds(50'000);
    full.max_failed_tasks.percent = 50.0;
    full.retention = milliseconds(7'200'000);
    full.idempotency_key = "once";
    full.content = {1, 2};
    full.trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    Submit(full);
    Submit(Spec(8));
    const JobId large = Submit(Spec(100'000, {"l"}));
    const JobId later = [&] {
      JobSpec spec = Spec(2);
      spec.delay = 1h;
      return Submit(spec);
    }();
    const JobId cancelled = Submit(Spec(3));
    const JobId retried = Submit(Spec(4, {"r"}));
    JobSpec brief = Spec(1, {"brief"});
    brief.retention = milliseconds(10);
    const JobId removed = Submit(brief);
    const auto work = [&](WorkerId by, std::initializer_list<ReportKind> kinds) {
      for (const ReportKind kind : kinds) {
        for (const Grant& grant : Pull(by)) EXPECT_EQ(Say(by, grant.task, kind), ReportVerdict::kTaken);
      }
    };
    work(worker, {ReportKind::kDone, ReportKind::kDone, ReportKind::kFailed, ReportKind::kReleased});
    const WorkerId on_large = Register({"l"});
    work(on_large, {ReportKind::kDone, ReportKind::kFailed, ReportKind::kReleased});
    Pull(on_large, 2);
    work(Register({"r"}), {ReportKind::kDone, ReportKind::kRejected});
    EXPECT_TRUE(engine_->jobs().Cancel(now_, cancelled).ok());
    EXPECT_TRUE(engine_->jobs().Cancel(now_, removed).ok());
    EXPECT_TRUE(engine_->jobs().Pause(now_, later).ok());
    Fold(9);
    // Now what stays in the journal: events of all kinds.
    EXPECT_TRUE(engine_->jobs().Retry(now_, retried).ok());
    Pass(20ms);  // `removed` is past its retention
    work(on_large, {ReportKind::kDone, ReportKind::kFailed, ReportKind::kReleased});
    work(worker, {ReportKind::kRejected});
    Pull(on_large, 2);
    Submit(Spec(0));
    JobChange change;
    change.tags = std::vector<std::string>{"c", "d"};
    change.priority = std::optional<std::int64_t>(12);
    change.meta = Meta{{"changed", true}};
    EXPECT_TRUE(engine_->jobs().Change(now_, large, change).ok());
    EXPECT_TRUE(engine_->jobs().Resume(now_, later).ok());
    engine_->queue().Pause(now_);
    Grants();

    std::ofstream out(path);
    for (const auto& [key, blob] : records_) {
      out << "record " << key.first << ' ' << key.second << ' ' << ToHex(blob) << '\n';
    }
    for (const auto& [position, events] : journal_) {
      if (position > floor_) out << "journal " << position << ' ' << ToHex(events) << '\n';
    }
    for (const std::string& line : Look(*Loaded(30s))) out << "want " << line << '\n';
  }
  // A queue from such a file, compared with what it says.
  void Read(const std::filesystem::path& path) {
    options_.dispatch.mode = DispatchMode::kFanout;
    std::ifstream in(path);
    std::vector<std::string> want;
    for (std::string word; in >> word;) {
      if (word == "record") {
        std::uint64_t job = 0;
        std::uint32_t page = 0;
        std::string hex;
        in >> job >> page >> hex;
        records_[{job, page}] = FromHex(hex);
      } else if (word == "journal") {
        Position position = 0;
        std::string hex;
        in >> position >> hex;
        journal_[position] = FromHex(hex);
      } else {
        std::string line;
        std::getline(in >> std::ws, line);
        want.push_back(line);
      }
    }
    EXPECT_GT(records_.size(), 3u);
    EXPECT_GT(journal_.size(), 3u);
    now_.wall = FromMillis(kStart + 40);
    EXPECT_EQ(Look(*Loaded(30s)), want);
  }
};

TEST(Format, EveryOneThatThereWasIsRead) {
  if (const char* path = std::getenv("ALLOT_WRITE_FORMAT")) FormatWriter().Write(path);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    SCOPED_TRACE(entry.path());
    FormatWriter().Read(entry.path());
    ++files;
  }
  EXPECT_GE(files, 1u);
}

}  // namespace
}  // namespace allot::testing

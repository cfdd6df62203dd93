// SPDX-License-Identifier: Apache-2.0
#include "server/api/submit_stream.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bounds.h"
#include "base/try.h"
#include "server/api/payload_packer.h"
#include "server/api/submit_core.h"
#include "server/net/call.h"
#include "server/ops/access.h"
#include "server/ops/clock.h"
#include "server/queue/on_drop.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

// What a payload costs beside its bytes.
constexpr std::size_t kPayloadOverhead = sizeof(std::string);
// Segments that may be on their way to the disk before the client has to wait.
constexpr std::size_t kMaxUnwritten = 32;
constexpr std::size_t kGoOnBelow = 16;
constexpr std::size_t kMaxSpecBytes = 2 * bounds::kMaxPayloadBytes;
constexpr std::size_t kMaxLineBytes = bounds::kMaxPayloadBytes + 4096;  // white space around a payload is not counted

}  // namespace

class SubmitStream::State : public std::enable_shared_from_this<State> {
 public:
  State(ServerContext& server, QueuePtr queue, PrincipalPtr principal, std::string peer,
        std::shared_ptr<BodySource> connection)
      : server_(server),
        queue_(std::move(queue)),
        principal_(std::move(principal)),
        peer_(std::move(peer)),
        connection_(std::move(connection)),
        buffered_(server.inflight) {
    queue_->streams().fetch_add(1);
  }
  ~State() { queue_->streams().fetch_sub(1); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::uint64_t lines() const { return line_; }

  Result<bool> OnBody(std::string_view bytes) {
    if (set_ || !spec_read_) {
      TRY_OK(Take(bytes));
    } else {
      pending_.append(bytes);  // at most one read: more is not asked for before the set has its id
    }
    crowded_ = !buffered_.Grow(principal_->id, pending_.size() + unwritten_bytes_);
    // What is being stored goes away by itself; a line that is not complete does not.
    if (crowded_ && unwritten_ == 0)
      return Error{Code::kUnavailable, "too many large requests at once", "try again soon"};
    waits_ = !Ready();
    return !waits_;
  }

  void OnEnd(Reply reply) {
    reply_.emplace(std::move(reply));
    if (!spec_read_) {
      if (pending_.empty()) return Fail({Code::kBadRequest, "the first line must be the job's spec", ""});
      const std::string line = std::exchange(pending_, {});
      const Result<void> read = ReadSpec(line);
      if (!read.ok()) return Fail(read.error());
    }
    if (set_) Finish();
  }

  void OnBroken() {
    if (over_) return;
    over_ = true;
    reply_.reset();
    Drop();
    LetGo();
  }

 private:
  NetThread& net() const { return connection_->home(); }
  bool Ready() const { return !spec_read_ || (set_ && !crowded_ && unwritten_ < kMaxUnwritten); }
  AskerId asker() const { return AskerOf(*principal_, peer_); }

  Result<void> Take(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::size_t limit = spec_read_ ? kMaxLineBytes : kMaxSpecBytes;
      if (pending_.size() + std::min(end, bytes.size()) > limit) {
        return Error{Code::kTooLarge,
                     "line " + std::to_string(line_ + 1) + " is longer than " + std::to_string(limit) + " bytes", ""};
      }
      if (end == std::string_view::npos) {
        pending_.append(bytes);
        return {};
      }
      std::string_view line = bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      std::string joined;
      if (!pending_.empty()) {
        joined = std::exchange(pending_, {});
        joined.append(line);
        line = joined;
      }
      ++line_;
      if (!spec_read_) {
        TRY_OK(ReadSpec(line));
        pending_.assign(bytes);  // goes on once the set has its id
        return {};
      }
      TRY_OK(AddLine(line));
    }
    return {};
  }

  Result<void> ReadSpec(std::string_view line) {
    SpecOptions options;
    options.now = began_ = ReadClock().wall;
    options.default_retention = server_.config.default_retention;
    options.stream = true;
    options.property_keys = queue_->property_keys();
    Result<JobRequest> request = ParseJobSpec(line, options);
    if (!request.ok()) return AtLine(request.error());
    TRY_OK(ClaimUser(*principal_, *request));
    if (!request->spec.idempotency_key.empty()) hasher_.emplace(*request);
    if (request->spec.payload.common) common_ = request->payload;
    spec_ = std::move(request->spec);
    spec_read_ = true;
    OnDrop gone(net(), [self = shared_from_this()] { self->OnSet(self->queue_->WhyFinished()); });
    net().Post(queue_,
               Command::Look([self = shared_from_this(), &home = net(), gone = std::move(gone)](Round& round) mutable {
                 gone.Release();
                 Result<JobId> set = JobId{round.ids.Next(round.now.wall)};
                 if (const Result<void> room = RefuseNew(round); !room.ok()) set = room.error();
                 round.Send(home, [self, set] { self->OnSet(set); });
               }).By(asker()));
    return {};
  }

  void OnSet(const Result<JobId>& set) {
    if (over_) return;
    if (!set.ok()) return Break(set.error());
    set_ = *set;
    if (common_) {
      PayloadSegment segment;
      segment.first = kCommonPayload;
      segment.payloads.push_back(std::move(*common_));
      const Result<void> stored = Store(std::move(segment));
      if (!stored.ok()) return Break(stored.error());
    }
    const std::string bytes = std::exchange(pending_, {});
    const Result<void> taken = Take(bytes);
    if (!taken.ok()) return Break(taken.error());
    if (reply_) return Finish();
    waits_ = !Ready();
    if (!waits_) connection_->ResumeBody();
  }

  Error AtLine(Error error) const {
    error.message = "line " + std::to_string(line_ == 0 ? 1 : line_) + ": " + error.message;
    return error;
  }

  Result<void> AddLine(std::string_view line) {
    const Result<std::string_view> payload = ValidateJsonLine(line);
    if (!payload.ok()) return AtLine(payload.error());
    if (!spec_.payload.per_task) {
      return AtLine({Code::kBadValue, "the first line says that there are no tasks", "leave its `count` out"});
    }
    if (packer_.count() >= bounds::kMaxTasksPerJob) {
      return Error{Code::kTooLarge, "a job has at most " + std::to_string(bounds::kMaxTasksPerJob) + " tasks", ""};
    }
    if (hasher_) hasher_->AddTaskPayload(*payload);
    packer_.Add(*payload);
    return packer_.HasSegments() ? StoreFull() : Result<void>();
  }

  Result<void> StoreFull() {
    for (PayloadSegment& segment : packer_.TakeSegments()) {
      TRY_OK(Store(std::move(segment)));
    }
    return {};
  }

  // kUnknownQueue where it was deleted meanwhile.
  Result<void> Store(PayloadSegment segment) {
    segment.set = *set_;
    std::size_t bytes = 0;
    for (const std::string& payload : segment.payloads) bytes += payload.size() + kPayloadOverhead;
    CommitWork work;
    work.batch.payloads.push_back(std::move(segment));
    work.outbox.push_back({&net(), [self = shared_from_this(), bytes] { self->OnStored(bytes); }});
    if (!queue_->PostWork(std::move(work))) return queue_->WhyFinished();
    stored_ = true;
    ++unwritten_;
    unwritten_bytes_ += bytes;
    return {};
  }

  void OnStored(std::size_t bytes) {
    --unwritten_;
    unwritten_bytes_ -= bytes;
    buffered_.Shrink(over_ ? unwritten_bytes_ : pending_.size() + unwritten_bytes_);
    if (over_ || reply_ || !waits_ || unwritten_ > (crowded_ ? 0 : kGoOnBelow)) return;
    crowded_ = waits_ = false;
    connection_->ResumeBody();
  }

  void Finish() {
    if (!pending_.empty()) {
      ++line_;
      const std::string last = std::exchange(pending_, {});
      const Result<void> added = AddLine(last);
      if (!added.ok()) return Fail(added.error());
    }
    if (spec_.payload.per_task && packer_.count() == 0) {
      return Fail(
          {Code::kBadRequest, "the stream has no tasks", "if there are none, the first line has a `count` of 0"});
    }
    packer_.Seal();
    const Result<void> stored = StoreFull();
    if (!stored.ok()) return Fail(stored.error());
    over_ = true;
    spec_.count = static_cast<std::uint32_t>(packer_.count());
    if (hasher_) spec_.content = hasher_->Finish(packer_.count());
    Request request;
    request.principal = principal_;
    request.peer = peer_;
    Call call{server_, std::move(request), std::move(*reply_), queue_};
    reply_.reset();
    SubmitStreamed(std::move(call), std::move(spec_), *set_, began_).Start();
    connection_.reset();
  }

  // Takes back what was stored.
  void Drop() {
    if (!stored_) return;
    CommitWork work;
    work.batch.removals.push_back({JobId{}, *set_});
    queue_->PostWork(std::move(work));
  }

  // An error that comes with no call from the connection.
  void Break(const Error& error) {
    if (reply_) return Fail(error);
    connection_->BreakBody(error);
  }

  void Fail(const Error& error) {
    over_ = true;
    Drop();
    reply_->Fail(error);
    reply_.reset();
    LetGo();
  }

  // Of all but what is still being stored.
  void LetGo() {
    pending_ = {};
    buffered_.Shrink(unwritten_bytes_);
    connection_.reset();
  }

  ServerContext& server_;
  const QueuePtr queue_;
  const PrincipalPtr principal_;
  const std::string peer_;
  std::shared_ptr<BodySource> connection_;
  bool over_ = false;
  WallTime began_{};
  bool spec_read_ = false;
  bool stored_ = false;
  std::uint64_t line_ = 0;
  std::string pending_;  // an unfinished line, or what waits for the set's id
  std::optional<JobId> set_;
  std::optional<std::string> common_;
  std::optional<ContentHasher> hasher_;
  JobSpec spec_;
  PayloadPacker packer_;
  std::size_t unwritten_ = 0;  // segments, and their bytes
  std::size_t unwritten_bytes_ = 0;
  InflightBudget::Share buffered_;  // for those, and for pending_
  bool crowded_ = false;            // there is no room for more
  bool waits_ = false;              // nothing is read until some are stored
  std::optional<Reply> reply_;
};

SubmitStream::SubmitStream(std::shared_ptr<State> state) : state_(std::move(state)) {}
SubmitStream::~SubmitStream() = default;

std::unique_ptr<SubmitStream> SubmitStream::Open(ServerContext& server, QueuePtr queue, PrincipalPtr principal,
                                                 std::string peer, std::shared_ptr<BodySource> connection) {
  return std::unique_ptr<SubmitStream>(new SubmitStream(
      std::make_shared<State>(server, std::move(queue), std::move(principal), std::move(peer), std::move(connection))));
}

Result<bool> SubmitStream::OnBody(std::string_view bytes) { return state_->OnBody(bytes); }
void SubmitStream::OnEnd(Reply reply) { state_->OnEnd(std::move(reply)); }
void SubmitStream::OnBroken() { state_->OnBroken(); }
std::uint64_t SubmitStream::complete() const { return state_->lines(); }

}  // namespace allot

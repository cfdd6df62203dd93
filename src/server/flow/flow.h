// SPDX-License-Identifier: Apache-2.0
// A request's way through the server as one function: a coroutine in which `co_await` names the place where it goes on
// (places.h).
//
//   Flow ShowThing(Call call) {
//     CO_TRY(const ThingQuery query, ParseThingQuery(call.request.query));
//     RoundHere round = co_await Look(call);  // the queue's engine thread
//     CO_TRY(const Thing thing, round->engine.looks().Thing(query));
//     co_await AfterCommit(round);            // the network thread, once what was seen is durable
//     std::string out;
//     AppendThing(thing, out);
//     co_return Answer(200, std::move(out));
//   }
//
// It ends with an Answer, with an Error, or with kAnswered where somebody else has the reply. From wherever that is,
// the answer leaves on the network thread, from the engine thread after the commit.
//
// Ownership: a flow that is on its way is owned by what will resume it: a command, a closure, a wait. Where that is
//            dropped, the flow is destroyed as it stands, with its call, and its Reply says so to the client.
//            What a flow has as a local when it ends is destroyed there, the rest (its parameters) on the network
//            thread. So on the engine thread it ends only where that is little; what is large goes on from there, or is
//            in call.parsed.
// Exceptions: one that leaves the function destroys the flow and goes on into whoever ran it: on network threads and
//            lanes that is ExceptionLog::Survives(), on an engine thread the end of the process. One in a Step is
//            thrown in the function that awaits it.
// Writing one: parameters by value; no braces and no lambdas with captures inside a `co_await`: compilers of this age
//            destroy such temporaries twice, or never. Nothing of the C library that is kept for each thread, such as
//            errno, is read on both sides of a `co_await`.
//
// Threading: one thread at a time, passed on from thread to thread.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/result.h"
#include "base/try.h"
#include "server/net/call.h"
#include "server/queue/closure.h"
#include "server/queue/round.h"

namespace allot {

class FlowState;

struct FlowDrop {
  void operator()(FlowState* flow) const noexcept;
};
// Whoever has it resumes the flow, or ends it by letting go.
using FlowPtr = std::unique_ptr<FlowState, FlowDrop>;

struct Answer {
  Answer(int its_status, std::string its_body, std::string_view its_type = kJsonType)
      : status(its_status), body(std::move(its_body)), type(its_type) {}
  int status;
  std::string body;
  std::string_view type;
};
// Somebody else answers, or nobody waits for an answer any more.
enum class Answered { kElsewhere };
inline constexpr Answered kAnswered = Answered::kElsewhere;

// The way to a place. It is in the frame of the function that awaits it, and needs no destructor.
class Hop {
 public:
  // Called once the flow is suspended: gives it to who resumes it at the place, or ends it.
  virtual void Leave(FlowPtr flow) = 0;

 protected:
  ~Hop() = default;
};

// What the frames of one request share. It is in the outermost one.
class FlowState : private Closure::Target, private UniqueFunction<void(Round&)>::Target {
 public:
  enum class Place : std::uint8_t {
    kHome,    // the network thread of its connection
    kEngine,  // the engine thread of its queue
    kLane,    // any other
  };
  using Ending = std::variant<std::monostate, Answered, Answer, Error>;

  FlowState(const FlowState&) = delete;
  FlowState& operator=(const FlowState&) = delete;

  Call& call() const { return call_; }
  NetThread& home() const { return home_; }
  AskerId asker() const { return asker_; }
  Place place() const { return place_; }
  // The round that it runs in; null elsewhere.
  Round* round() const { return round_; }

  // For whoever takes it elsewhere: being called there, it goes on. It is not where it was.
  static Closure ToHome(FlowPtr flow) { return Closure(Released(std::move(flow), Place::kHome)); }
  static Closure ToLane(FlowPtr flow) { return Closure(Released(std::move(flow), Place::kLane)); }
  static UniqueFunction<void(Round&)> ToEngine(FlowPtr flow) {
    return UniqueFunction<void(Round&)>(Released(std::move(flow), Place::kEngine));
  }
  // It changes something.
  void Changes() { only_looked_ = false; }
  // It stays on the engine thread, for a later round.
  void Wait() { round_ = nullptr; }
  // It goes on, in this round.
  static void GoOn(FlowPtr flow, Round& round);
  // It ends as it stands, whatever it would have done: where it is, or in this round.
  static void End(FlowPtr flow, Ending ending);
  static void End(FlowPtr flow, Round& round, Ending ending);

 protected:
  explicit FlowState(Call& call) : call_(call), home_(call.reply.net()), asker_(call.asker()) {}
  virtual ~FlowState() = default;

  std::coroutine_handle<> outermost_;
  std::coroutine_handle<> innermost_;  // that goes on next
  Ending ending_;
  std::exception_ptr thrown_;
  bool over_ = false;  // what is left to do is to answer

 private:
  friend struct FlowDrop;
  friend class Flow;
  friend class HopAwaiter;
  template <typename T>
  friend class Step;

  static FlowState& Released(FlowPtr flow, Place place) {
    flow->place_ = place;
    flow->round_ = nullptr;
    return *flow.release();
  }
  // Until it is suspended, or at its end.
  static void Run(FlowPtr flow);
  // At its end: takes it home, and answers there.
  static void Finish(FlowPtr flow);
  void Invoke(Closure& self) override;
  void Invoke(UniqueFunction<void(Round&)>& self, Round& round) override;
  void Drop() noexcept override { outermost_.destroy(); }
  Call& call_;
  NetThread& home_;
  const AskerId asker_;
  Place place_ = Place::kHome;
  Round* round_ = nullptr;
  Hop* hop_ = nullptr;  // where to, once it is suspended
  bool only_looked_ = true;
};

inline void FlowDrop::operator()(FlowState* flow) const noexcept { flow->Drop(); }

// The round that a flow runs in. Once the flow has left the engine thread there is none, and using it is a mistake that
// is found.
class RoundHere {
 public:
  explicit RoundHere(FlowState& flow) : flow_(&flow) {}
  Round& operator*() const {
    CHECK(flow_->round() != nullptr);
    return *flow_->round();
  }
  Round* operator->() const { return &**this; }
  FlowState& flow() const { return *flow_; }

 private:
  FlowState* flow_;
};

// What every `co_await` of a place does.
class HopAwaiter : public Hop {
 public:
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) noexcept {
    flow_ = &awaiting.promise().flow();
    flow_->hop_ = this;
  }

 protected:
  ~HopAwaiter() = default;
  FlowState& flow() const { return *flow_; }

 private:
  FlowState* flow_ = nullptr;
};

// A handler. Its first parameter is the Call.
class [[nodiscard]] Flow {
 public:
  class promise_type final : public FlowState {  // NOLINT(readability-identifier-naming)
   public:
    template <typename... More>
    explicit promise_type(Call& call, More&... /*more*/) : FlowState(call) {}
    Flow get_return_object() {
      innermost_ = outermost_ = std::coroutine_handle<promise_type>::from_promise(*this);
      return Flow(FlowPtr(this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() noexcept {
      over_ = true;
      return {};
    }
    void return_value(Answer answer) { ending_.emplace<Answer>(std::move(answer)); }
    void return_value(Error error) { ending_.emplace<Error>(std::move(error)); }
    void return_value(Result<Answer> result) {
      if (result.ok()) return return_value(std::move(*result));
      return_value(result.error());
    }
    void return_value(Answered answered) { ending_.emplace<Answered>(answered); }
    void unhandled_exception() noexcept { thrown_ = std::current_exception(); }
    FlowState& flow() { return *this; }
  };

  // On the network thread of its call.
  void Start() && { FlowState::Run(std::move(flow_)); }

 private:
  explicit Flow(FlowPtr flow) : flow_(std::move(flow)) {}
  FlowPtr flow_;
};

}  // namespace allot

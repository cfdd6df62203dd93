// SPDX-License-Identifier: Apache-2.0
#include "server/queue/queue_runtime.h"

#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/memory_owner.h"
#include "server/ops/clock.h"
#include "server/ops/log.h"
#include "server/queue/queue_set.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxCommandsPerRound = 4096;
// Of the thread, in nanoseconds: so that what was decided leaves, and others are served.
constexpr std::int64_t kRoundTime = 2'000'000;
constexpr std::int64_t kShortTime = 500'000;  // for commands, where a tick or a look is late
constexpr std::int64_t kBrowseTime = 1'000'000;
constexpr Duration kHereTime = 2ms;            // of rounds that a network thread runs, one after the other
constexpr std::size_t kMaxBrowsesOfOne = 256;  // that wait
// Steps that are logged: those that miss what is promised, and those that miss what is aimed for.
constexpr std::int64_t kTooLong = 20'000'000, kLong = 5'000'000;
constexpr Duration kPublishStepsEvery = 100ms;
constexpr std::size_t kFoldBytes = 64 * 1024;
constexpr std::uint64_t kFoldSoon = 50'000;      // unfolded events that make folding go along with every round
constexpr std::uint64_t kFoldFirst = 1'000'000;  // that make everything else wait
constexpr Duration kLookForSpace = 20ms;
constexpr Duration kBusyTickEvery = 250ms;
constexpr Duration kLate = 10ms;  // a tick or a look that comes though the round is long already
constexpr Duration kFoldEvery = 1s;
constexpr Duration kFoldPause = 1ms;  // while the store is busy

constexpr std::string_view kSettingsSetting = "settings";
constexpr std::string_view kCreatedSetting = "created_at_ms";

Result<SipKey> NewKey() {
  SipKey key;
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return Error{Code::kInternal, "no random bytes to be had", ""};
  std::memcpy(&key.k0, bytes, 8);
  std::memcpy(&key.k1, bytes + 8, 8);
  return key;
}

// What is kept as a setting; made and put there if it is missing.
template <typename Make>
Result<std::string> GetOrPut(Store& store, std::string_view name, Make make) {
  Result<std::optional<std::string>> found = store.GetSetting(name);
  if (!found.ok()) return found.error();
  if (found->has_value()) return std::move(**found);
  Result<std::string> made = make();
  if (!made.ok()) return made;
  const Result<void> put = store.PutSetting(name, *made);
  if (!put.ok()) return put.error();
  return made;
}

StrategyPtr PolicyOf(const QueueSettings& settings) { return ParseStrategy(settings.policy, true).strategy; }

void LogNotice(const std::string& queue, const LimitNotice& notice) {
  const LimitName& limit = notice.limit;
  switch (notice.kind) {
    case LimitNotice::Kind::kExpired:
      return LogInfo("limit expired",
                     {{"queue", queue}, {"limit", limit.uuid}, {"tag", limit.tag}, {"name", limit.name}});
    case LimitNotice::Kind::kCostFailed:
      return LogWarning("the cost of a start cannot be evaluated, and counts as 1",
                        {{"queue", queue}, {"limit", limit.uuid}, {"tag", limit.tag}, {"name", limit.name}});
    case LimitNotice::Kind::kSummary:
      return LogInfo("limit blocked starts", {{"queue", queue},
                                              {"limit", limit.uuid},
                                              {"tag", limit.tag},
                                              {"name", limit.name},
                                              {"skipped", notice.summary.skipped},
                                              {"ignored_matches", notice.summary.ignored_matches},
                                              {"blocked_s", static_cast<double>(notice.summary.blocked.count()) * 1e-6},
                                              {"users", notice.summary.users}});
  }
}

}  // namespace

QueueRuntime::QueueRuntime(std::unique_ptr<Store> store, Options options)
    : store_(std::move(store)), options_(std::move(options)) {}

Result<std::shared_ptr<QueueRuntime>> QueueRuntime::Open(std::unique_ptr<Store> store, Options options) {
  std::shared_ptr<QueueRuntime> queue(new QueueRuntime(std::move(store), std::move(options)));
  const Result<void> loaded = queue->Load();
  if (!loaded.ok()) {
    queue->finished_ = true;
    return loaded.error();
  }
  auto on_fatal = [q = queue.get()](const Error& error) {
    if (error.code != Code::kFenced || !q->options_.on_lost) return q->options_.on_fatal(error);
    q->Lose();
    q->options_.on_lost();
  };
  queue->committer_ = std::make_unique<Committer>(*queue->store_, std::move(on_fatal), queue->options_.metrics);
  queue->engine_thread_ = std::thread([q = queue.get()] { q->EngineLoop(); });
  return queue;
}

QueueRuntime::~QueueRuntime() { Finish(); }

Result<void> QueueRuntime::Load() {
  const Now now = ReadClock();
  const Result<std::string> key_bytes = GetOrPut(*store_, kQueueKeySetting, [&]() -> Result<std::string> {
    const Result<SipKey> key = NewKey();
    if (!key.ok()) return key.error();
    std::string bytes;
    ByteWriter writer(bytes);
    writer.Fixed64(key->k0);
    writer.Fixed64(key->k1);
    return bytes;
  });
  if (!key_bytes.ok()) return key_bytes.error();
  const Result<std::string> created =
      GetOrPut(*store_, kCreatedSetting, [&]() -> Result<std::string> { return std::to_string(ToMillis(now.wall)); });
  if (!created.ok()) return created.error();
  const Result<std::string> settings_json = GetOrPut(*store_, kSettingsSetting, [&]() -> Result<std::string> {
    std::string json;
    AppendQueueSettings(options_.defaults, json);
    return json;
  });
  if (!settings_json.ok()) return settings_json.error();

  created_at_ = FromMillis(std::strtoll(created->c_str(), nullptr, 10));
  settings_ = options_.defaults;
  // Files of earlier versions do not name them; what the configuration says is for new queues.
  settings_.policy = QueueSettings().policy;
  settings_.weights.clear();
  settings_.max_limit_expiration = QueueSettings().max_limit_expiration;
  settings_.limit_ban_window = QueueSettings().limit_ban_window;
  settings_.demand_lookahead = QueueSettings().demand_lookahead;
  settings_.dispatch = {};
  settings_.memory_budget = 0;
  const Result<QueueSettingsChange> stored = ParseQueueSettings(*settings_json);
  if (!stored.ok())
    return Error{Code::kStoreCorrupt, "the queue's settings cannot be read: " + stored.error().message, ""};
  stored->ApplyTo(settings_);
  max_result_bytes_ = settings_.max_result_bytes;
  dispatch_ = settings_.dispatch.mode;
  memory_budget_ = settings_.memory_budget;
  property_keys_ = std::make_shared<const PropertyKeys>(settings_.property_keys);

  EngineOptions options;
  ByteReader reader(*key_bytes);
  options.key.k0 = reader.Fixed64();
  options.key.k1 = reader.Fixed64();
  if (!reader.ok()) return Error{Code::kStoreCorrupt, "the queue's key cannot be read", ""};
  const Result<SipKey> seed = NewKey();
  if (!seed.ok()) return seed.error();
  options.seed = seed->k0;
  options.worker_grace = settings_.worker_grace;
  options.max_finished_jobs = static_cast<std::size_t>(settings_.max_finished_jobs);
  options.max_limit_expiration = settings_.max_limit_expiration;
  options.limit_ban_window = settings_.limit_ban_window;
  options.policy = PolicyOf(settings_);
  if (options.policy == nullptr) return Error{Code::kStoreCorrupt, "the queue's policy cannot be read", ""};
  options.weights = settings_.weights;
  options.dispatch = settings_.dispatch;
  options.traced = options_.spans != nullptr;
  engine_ = std::make_unique<Engine>(options);

  Store::Loader loader;
  loader.on_record = [this](const Record& record) {
    return engine_->records().Load(record.job, record.page, record.blob);
  };
  loader.on_events = [this](Position position, std::string_view events) {
    return engine_->records().Replay(position, events);
  };
  const Result<void> loaded = store_->Load(loader, [this](JobId set) {
    // Also a broken upload's id is used up: its payloads may still be there.
    options_.ids->NeverBelow(set.value);
    return engine_->looks().UsesPayloadSet(set);
  });
  if (!loaded.ok()) return loaded.error();
  engine_->records().FinishLoad(ReadClock(), options_.restart_grace);
  options_.ids->NeverBelow(engine_->looks().HighestId());
  last_position_ = store_->LastPosition();
  return {};
}

void QueueRuntime::Fatal(const Error& error) {
  options_.on_fatal(error);
  CHECK(false);
  std::abort();
}

QueueSettings QueueRuntime::settings() const {
  std::lock_guard lock(settings_mutex_);
  return settings_;
}

KeySource QueueRuntime::property_keys() const {
  return [this] {
    std::lock_guard lock(settings_mutex_);
    return property_keys_;
  };
}

void QueueRuntime::ChangeSettings(const QueueSettingsChange& change, UniqueFunction<void(Result<void>)> done) {
  CommitWork work;
  work.task = [this, change, done = std::move(done)](Store& store) mutable {
    const QueueSettings before = settings();
    QueueSettings next = before;
    change.ApplyTo(next);
    Result<void> check = CheckSettings(next);
    if (!check.ok()) return done(std::move(check));
    std::string json;
    AppendQueueSettings(next, json);
    const Result<void> put = store.PutSetting(kSettingsSetting, json);
    if (!put.ok()) {
      if (put.error().code == Code::kFenced && options_.on_lost) {
        Lose();
        options_.on_lost();
        return done(WhyFinished());
      }
      if (StallOf(put.error()) == Stall::kNone) options_.on_fatal(put.error());
      return done(put.error());
    }
    {
      std::lock_guard lock(settings_mutex_);
      settings_ = next;
      property_keys_ = std::make_shared<const PropertyKeys>(next.property_keys);
    }
    max_result_bytes_ = next.max_result_bytes;
    dispatch_ = next.dispatch.mode;
    memory_budget_ = next.memory_budget;
    const bool reorder = next.policy != before.policy || next.weights != before.weights;
    const bool redispatch = next.dispatch != before.dispatch;
    Post([next, reorder, redispatch](Round& round) {
      round.engine.queue().Configure(next.worker_grace, static_cast<std::size_t>(next.max_finished_jobs));
      round.engine.queue().SetMaxLimitExpiration(next.max_limit_expiration);
      round.engine.queue().SetLimitBanWindow(next.limit_ban_window);
      if (reorder) round.engine.queue().SetPolicy(round.now, PolicyOf(next), next.weights);
      if (redispatch) round.engine.queue().SetDispatch(round.now, next.dispatch);
    });
    done({});
  };
  committer_->Push(std::move(work));
}

void QueueRuntime::BeginStop() {
  Post([this](Round& round) {
    stopping_ = true;
    round.stopping = true;
    workers_.OnStop(round);
    waits_.OnStop(round);
  });
}

void QueueRuntime::Finish(Instant fold_until, bool leaving) {
  if (finished_.exchange(true)) return;
  stop_folding_at_ = fold_until.time_since_epoch().count();
  commands_.Close();
  if (engine_thread_.joinable()) engine_thread_.join();
  if (options_.memory != nullptr) options_.memory->Renew(std::exchange(memory_used_, 0), 0, 0);
  if (leaving) {
    // Still known, so that no tool takes it for lost.
    static std::mutex mutex;
    static std::vector<Engine*>* const left = new std::vector<Engine*>;
    std::lock_guard lock(mutex);
    left->push_back(engine_.release());
  }
  // Nobody else looks at it: what is posted from now on is dropped.
  engine_.reset();
  // It stays, closed: a stream that breaks off later still asks for its payloads to be dropped.
  if (committer_) committer_->Close();
  if (options_.lease != nullptr && !lost_) store_->Release();
}

Stall QueueRuntime::stall() const {
  const Stall stall = committer_->stall();
  // As long as this server may not answer, it does not know whether it still has the queue.
  return stall != Stall::kNone || MayAnswer() ? stall : Stall::kUnavailable;
}

Error QueueRuntime::WhyFinished() const {
  if (moved_) return {Code::kStopping, "another server has the queue " + options_.name + " now", "try again soon"};
  if (!deleted_) return {Code::kStopping, "the server is going down", "try again soon"};
  return {Code::kUnknownQueue, "the queue " + options_.name + " was deleted", ""};
}

void QueueRuntime::FinishDeleted() {
  // Connections that wait for nothing notice by themselves.
  deleted_ = true;
  Post([this](Round& round) {
    stopping_ = true;
    round.stopping = true;
    waits_.OnQueueGone(round, WhyFinished());
    workers_.CloseAll(round, WhyFinished());
  });
  Finish();
}

void QueueRuntime::Lose() {
  lost_.store(true, std::memory_order_release);
  moved_ = true;
  if (committer_) committer_->GiveUp();
}

void QueueRuntime::FinishLost() { Finish(); }

void QueueRuntime::FinishMoved() {
  moved_ = true;
  Post([this](Round& round) {
    stopping_ = true;
    round.stopping = true;
    waits_.OnStop(round);
    workers_.CloseAll(round, WhyFinished());
  });
  Finish();
}

CommandBox::Deadline QueueRuntime::NextWake() {
  const Now now = ReadClock();
  std::optional<Instant> wake = engine_->NextWake(now);
  const auto sooner = [&wake](Instant at) {
    if (!wake || at < *wake) wake = at;
  };
  if (const std::optional<Instant> deadline = waits_.NextDeadline()) sooner(*deadline);
  if (engine_->looks().UnfoldedEvents() > 0)
    sooner(folding_ ? (committer_->idle() ? now.mono : now.mono + kFoldPause) : last_fold_ + kFoldEvery);
  if (stall() != Stall::kNone || !deferred_.empty()) wake = now.mono + kLookForSpace;
  if (const std::optional<Instant> limits = history_.NextLimits()) sooner(*limits);
  if (tick_soon_) sooner(last_tick_ + kBusyTickEvery);
  if (!wake) return std::nullopt;
  return ToSteady(*wake);
}

void QueueRuntime::Sample(const Now& now) {
  if (options_.memory != nullptr) {
    const std::uint64_t used = engine_->looks().Memory().total();
    engine_->queue().SetMemoryBudget(options_.memory->Renew(std::exchange(memory_used_, used), used, memory_budget_));
  }
  if (history_.Due(now)) history_.Advance(now, engine_->looks().Stats());
  if (!history_.LimitsDue(now)) return;
  std::vector<QueueHistory::LimitLevel> levels;
  engine_->looks().ForEachLimit(now, [&levels](const std::string& uuid, double tokens, std::size_t waiting) {
    levels.push_back({uuid, tokens, waiting});
  });
  history_.AdvanceLimits(now, levels);
}

void QueueRuntime::EngineLoop() {
  const MemoryOwner owner(this);  // while it waits it deletes nothing
  last_fold_ = ReadMonotonic();
  Sample(ReadClock());
  std::vector<Command> commands;
  for (;;) {
    commands.clear();
    const bool waiting = Waiting();
    const bool open = commands_.Take(commands, waiting ? CommandBox::Time() : NextWake());
    if (!open && !waiting && !Waiting()) break;
    RunRound(commands, Runner::kEngineThread);
  }
  Round round = NewRound();
  round.stopping = true;
  deferred_.clear();  // nothing was promised to them
  if (lost_) {
    waits_.OnQueueGone(round, WhyFinished());
    workers_.CloseAll(round, WhyFinished());
    round.news.MoveTo(round.outbox);
    Release(round.outbox);
  } else {
    FoldAll(round);
  }
  // Connections keep their queue: as long as it kept them, neither could go.
  workers_.Clear();
  waits_.Clear();
}

bool QueueRuntime::Bring(std::vector<Command>& commands, const std::function<void()>& after_round) {
  const CommandBox::Brought brought = commands_.Bring(commands);
  if (brought != CommandBox::Brought::kRun) return brought == CommandBox::Brought::kLeft;
  CommandBox::Deadline wake;
  {
    const MemoryOwner owner(this);
    const Instant until = ReadMonotonic() + kHereTime;
    do {
      RunRound(commands, Runner::kBringer);
      commands.clear();
      after_round();
    } while (!Waiting() && ReadMonotonic() < until && commands_.TakeMore(commands));
    wake = Waiting() ? CommandBox::Time() : NextWake();
  }
  commands_.Leave(wake);
  return true;
}

Round QueueRuntime::NewRound() {
  Round round{*engine_, *options_.ids, waits_, workers_};
  round.now = ReadClock();
  round.stopping = stopping_;
  round.stall = stall();
  return round;
}

void QueueRuntime::PublishSteps() {
  if (options_.metrics != nullptr && meter_.any()) options_.metrics->Stepped(meter_.Take());
}

std::int64_t QueueRuntime::EndStep(StepKind kind, const Round& round) {
  const std::int64_t took = meter_.End(kind);
  if (took >= kLong) [[unlikely]] {
    Log(took >= kTooLong ? LogLevel::kWarning : LogLevel::kDebug, "a step of the engine thread took long",
        {{"queue", options_.name},
         {"kind", kStepWords[static_cast<std::size_t>(kind)]},
         {"cpu_ms", static_cast<double>(took) * 1e-6},
         {"request", round.what}});
  }
  return took;
}

void QueueRuntime::Line(Round& round, Command command) {
  const AskerId asker = command.asker();
  if (command.refuses() && browses_.WaitingOf(asker) >= kMaxBrowsesOfOne) {
    round.crowded = true;
    command(round);
    round.crowded = false;
    return;
  }
  browses_.Push(asker, std::move(command));
}

void QueueRuntime::Run(Round& round, Command& command) {
  if (command.browses()) return Line(round, std::exchange(command, {}));
  command(round);
  command = {};
}

void QueueRuntime::RunCommands(Round& round, std::vector<Command>& commands, std::int64_t nanoseconds) {
  std::size_t& ran = round.commands;
  const auto enough = [&] { return ran >= kMaxCommandsPerRound || meter_.SinceBegin() >= nanoseconds; };
  std::size_t next = 0;
  if (changes_.empty()) {
    for (; next < commands.size() && !enough(); ++next, ++ran) {
      Run(round, commands[next]);
      EndStep(StepKind::kCommand, round);
    }
  }
  for (; next < commands.size(); ++next) {
    const AskerId asker = commands[next].asker();
    // What looks need not wait for what others change.
    if (commands[next].browses() && changes_.WaitingOf(asker) == 0) {
      Line(round, std::move(commands[next]));
    } else {
      changes_.Push(asker, std::move(commands[next]));
    }
  }
  while (!changes_.empty() && !enough()) {
    auto [asker, command] = changes_.Pop();
    Run(round, command);
    changes_.Charge(asker, EndStep(StepKind::kCommand, round));
    ++ran;
  }
}

bool QueueRuntime::BrowseNext(Round& round, std::int64_t& nanoseconds) {
  if (browses_.empty() || nanoseconds <= 0) return false;
  auto [asker, command] = browses_.Pop();
  command(round);
  command = {};
  const std::int64_t took = EndStep(StepKind::kLook, round);
  browses_.Charge(asker, took);
  nanoseconds -= took;
  return true;
}

void QueueRuntime::RunStalledRound(std::vector<Command>& commands, Stall stall) {
  // The engine stands still meanwhile: what is not durable yet is what was under way when the disk ran full. Deadlines
  // do not pass either; the engine takes it for a stall.
  if (unsaved_.empty()) {
    ForgetDurable();
    for (const Touched& touched : touched_) {
      unsaved_.insert(touched.jobs.begin(), touched.jobs.end());
      uncreated_.insert(touched.created.begin(), touched.created.end());
    }
  }
  const auto let_go = [this](Round& round) {
    if (round.depends) return PushWork(round);
    round.news.MoveTo(round.outbox);
    Outbox outbox = std::move(round.outbox);
    round.outbox.clear();
    Release(outbox);
    PushWork(round);
  };
  const auto fresh = [this, stall] {
    Round round = NewRound();
    round.stall = stall;
    round.unsaved = &unsaved_;
    round.uncreated = &uncreated_;
    return round;
  };
  meter_.BeginRound();
  Sample(ReadClock());
  const auto run_or_defer = [&](Command& command) {
    if (!command.looks()) return deferred_.push_back(std::move(command));
    Round round = fresh();
    Run(round, command);
    let_go(round);
    meter_.End(StepKind::kCommand);
  };
  while (!changes_.empty()) {
    auto [asker, command] = changes_.Pop();
    run_or_defer(command);
    changes_.Charge(asker, 0);
  }
  for (Command& command : commands) run_or_defer(command);
  std::int64_t nanoseconds = kBrowseTime;
  for (bool more = true; more;) {
    Round round = fresh();
    more = BrowseNext(round, nanoseconds);
    let_go(round);
  }
  Round round = fresh();
  waits_.OnTime(round);
  let_go(round);
  meter_.End(StepKind::kEffects);
  meter_.EndRound();
}

void QueueRuntime::TickIfDue(Round& round, bool tick_late, bool look_late) {
  const std::optional<Instant> wake = engine_->NextWake(round.now);
  tick_waits_ = wake && *wake <= round.now.mono;
  // A busy queue ticks, too: the engine sees by its ticks how long it was held up.
  const bool may = tick_late || (!look_late && meter_.SinceBegin() < kRoundTime);
  if (!(tick_waits_ && may) && round.now.mono - last_tick_ < kBusyTickEvery) return;
  engine_->Tick(round.now);
  last_tick_ = round.now.mono;
  tick_waits_ = tick_soon_ = false;
  round.what = {};
  EndStep(StepKind::kTick, round);
}

void QueueRuntime::DropAll(std::vector<Command>& commands) {
  commands.clear();
  deferred_.clear();
  while (!changes_.empty()) changes_.Pop();
  while (!browses_.empty()) browses_.Pop();
}

void QueueRuntime::RunRound(std::vector<Command>& commands, Runner runner) {
  if (lost_.load(std::memory_order_acquire)) return DropAll(commands);
  if (const Stall why = stall(); why != Stall::kNone) return RunStalledRound(commands, why);
  if (!unsaved_.empty() || !deferred_.empty()) {
    unsaved_.clear();
    uncreated_.clear();
    for (Command& command : commands) deferred_.push_back(std::move(command));
    commands = std::exchange(deferred_, {});
  }
  meter_.BeginRound();
  Round round = NewRound();
  Sample(round.now);
  // Tick and look wait for the next round where this one is long already. What is late need not, but then there is less
  // time for commands, and never both: whoever comes meanwhile is served between them.
  const bool own = runner == Runner::kEngineThread;
  const bool tick_late = own && tick_waits_ && round.now.mono - last_tick_ >= kLate;
  const bool look_late = own && !tick_late && !browses_.empty() && round.now.mono - last_look_ >= kLate;
  RunCommands(round, commands, tick_late || look_late ? kShortTime : kRoundTime);
  if (own) {
    TickIfDue(round, tick_late, look_late);
    waits_.OnTime(round);
  } else {
    tick_soon_ = true;
  }
  TakeEffects(round);
  meter_.End(StepKind::kEffects);
  if (options_.metrics != nullptr) options_.metrics->Decided(ReadMonotonic() - round.now.mono, round.starts, own);
  if (own) FoldSome(round);
  PushWork(round, runner);
  meter_.End(StepKind::kFold);
  if (own && !browses_.empty() && (look_late || meter_.SinceBegin() < kRoundTime)) {
    last_look_ = round.now.mono;
    Round looking = NewRound();
    for (std::int64_t nanoseconds = kBrowseTime; BrowseNext(looking, nanoseconds);) {
    }
    TakeEffects(looking);
    PushWork(looking);
    meter_.End(StepKind::kEffects);
  }
  meter_.EndRound();
  if (round.now.mono - published_steps_ >= kPublishStepsEvery) {
    published_steps_ = round.now.mono;
    PublishSteps();
  }
}

void QueueRuntime::TakeEffects(Round& round) {
  // What follows from effects (a pull that ends because of a cancel) may have effects of its own.
  for (bool first = true; first || engine_->HasEffects(); first = false) {
    if (engine_->HasEffects()) {
      auto [position, effects] = engine_->Take();
      if (!round.batch.events.empty() && !effects.events.empty()) PushWork(round);
      if (!effects.events.empty()) {
        CHECK(position > last_position_);  // the store drops what it takes for folded
        round.batch.position = last_position_ = position;
        round.events += effects.event_count;
        round.batch.events = std::move(effects.events);
      }
      // The last outcome of a task counts, so what became of an attempt goes before what was reported in this round: a
      // late result must not be hidden by the end of its lease.
      std::vector<Outcome> ends;
      for (const EngineError& error : effects.errors) {
        ends.push_back({error.job, error.index, OutcomeKind::kError, error.attempt, std::string(error.text)});
      }
      round.batch.outcomes.insert(round.batch.outcomes.begin(), std::make_move_iterator(ends.begin()),
                                  std::make_move_iterator(ends.end()));
      for (const Removal& removal : effects.removed) round.batch.removals.push_back(removal);
      for (const EngineError& error : effects.errors) round.Touch(error.job);
      for (const JobId job : effects.ended) round.Touch(job);
      for (const JobId job : effects.progressed) round.Touch(job);
      for (const LimitNotice& notice : effects.limit_notices) LogNotice(options_.name, notice);
      for (const GrantBatch& batch : effects.grant_batches) round.starts += batch.grants.size();
      if (!effects.traced.empty()) SendSpans(round, *options_.spans, options_.name, std::move(effects.traced));
      workers_.OnEffects(round, effects);
      for (const JobId job : effects.ended) waits_.OnEnded(round, job);
      for (const JobId job : effects.progressed) waits_.OnProgress(round, job);
    }
    workers_.EndOfRound(round);
  }
}

void QueueRuntime::PushWork(Round& round, Runner runner) {
  round.news.MoveTo(round.outbox);
  if (lost_.load(std::memory_order_acquire)) return round.outbox.clear();
  const bool content = HasContent(round.batch);
  if (!content && round.outbox.empty()) return;
  if (!content && committer_->idle()) return Release(round.outbox);
  CommitWork work;
  work.batch = std::move(round.batch);
  // Payloads of submits come with the submits' own events; those of streams do not come this way.
  work.batch.payloads_spoken_for = !work.batch.events.empty();
  work.outbox = std::move(round.outbox);
  work.events = std::exchange(round.events, 0);
  work.commands = std::exchange(round.commands, 0);
  round.batch = {};
  round.outbox.clear();
  if (runner == Runner::kBringer && committer_->CommitHere(work)) {
    touched_.clear();
    round.touched.clear();
    round.created.clear();
    return;
  }
  ForgetDurable();
  if (!round.touched.empty()) {
    work.touch = ++last_touch_;
    touched_.push_back({work.touch, std::exchange(round.touched, {}), std::exchange(round.created, {})});
  }
  committer_->Push(std::move(work));
}

void QueueRuntime::ForgetDurable() {
  while (!touched_.empty() && touched_.front().number <= committer_->durable_touch()) touched_.pop_front();
}

void QueueRuntime::FoldSome(Round& round) {
  std::uint64_t unfolded = engine_->looks().UnfoldedEvents();
  if (unfolded == 0) {
    folding_ = false;
    last_fold_ = round.now.mono;
    return;
  }
  if (!folding_) {
    if (unfolded < kFoldSoon && round.now.mono - last_fold_ < kFoldEvery) return;
    folding_ = true;
    fold_until_ = last_position_;
  }
  // One step a round, and not while the store is behind, unless there is too much.
  if (committer_->stall() != Stall::kNone || (committer_->pending() > 1 && unfolded < kFoldFirst)) return;
  Position floor = 0;
  do {
    FoldStep step = engine_->records().Fold(kFoldBytes);
    for (Record& record : step.records) round.batch.records.push_back(std::move(record));
    round.batch.floor = floor = std::max(round.batch.floor, step.floor);
    unfolded = engine_->looks().UnfoldedEvents();
    if (unfolded >= kFoldFirst) PushWork(round);
  } while (unfolded >= kFoldFirst && committer_->stall() == Stall::kNone);
  // A sweep ends with what was there when it began; what came since can wait for the next one.
  if (unfolded == 0 || floor >= fold_until_) folding_ = false;
  last_fold_ = round.now.mono;
}

void QueueRuntime::FoldAll(Round& round) {
  TakeEffects(round);
  PushWork(round);
  // What is left is replayed at the next start.
  const Instant until{Duration(stop_folding_at_.load())};
  while (engine_->looks().UnfoldedEvents() > 0 && committer_->stall() == Stall::kNone && ReadMonotonic() < until) {
    FoldStep step = engine_->records().Fold(kFoldBytes * 16);
    round.batch.records = std::move(step.records);
    round.batch.floor = step.floor;
    PushWork(round);
  }
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// What could start if workers were there.
#include <algorithm>
#include <deque>
#include <limits>
#include <unordered_map>

#include "base/sharded_map.h"
#include "base/sharded_set.h"
#include "engine/jobs/job_ad.h"
#include "engine/looks/demand_walk.h"
#include "engine/looks/prepared_looks.h"
#include "engine/parts.h"
#include "limits/limit_forecast.h"
#include "strategy/blocks/block.h"

namespace allot {
namespace {

// What a look at a job costs, and beside it each key that is looked up, and to find its group, with each expression
// that is evaluated for that; a row; a part.
constexpr std::int64_t kDemandJobNanoseconds = 400;
constexpr std::int64_t kDemandKeyNanoseconds = 300;
constexpr std::int64_t kDemandGroupNanoseconds = 1500;
constexpr std::int64_t kDemandEvaluationNanoseconds = 1000;
constexpr std::int64_t kDemandRowNanoseconds = 5000;
constexpr std::int64_t kDemandDivideNanoseconds = 150;
constexpr std::int64_t kDemandNewNanoseconds = 1500;  // a cell, a group, or a user
constexpr std::int64_t kDemandCutNanoseconds = 20;    // for each limit that is in the way
// What a walk remembers at most: what comes behind it is not looked at.
constexpr std::size_t kDemandMostKept = 1'000'000;
constexpr std::size_t kDemandMostRows = 100'000;
// Limits that a row names, and what they add to its requirements.
constexpr std::size_t kDemandMostNamed = 20;
constexpr std::size_t kDemandMostExcludedBytes = 16 * 1024;

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

// The maxima of a policy that hold however many workers there are. Tasks of a cell (alike in all values below) start as
// long as the first of them may: each adds one to all of its values, so that what is left to them is a number.
class Maxima {
 public:
  explicit Maxima(const Strategy& policy) : root_(Compile(policy)) {
    per_job_ = std::any_of(columns_.begin(), columns_.end(), [](const Column& column) {
      return !column.select && column.key.kind == StrategyKey::Kind::kJob;
    });
  }

  struct Column {
    StrategyKey key;
    bool select = false;  // of interest is only whether it is `wanted`
    std::string wanted;   // as GroupText; under the key `tag` the tag
    std::unordered_map<std::string, std::uint32_t> ids;
    std::vector<std::uint64_t> running{0};  // by value; the first: jobs without the key, which have no maximum
  };
  std::size_t columns() const { return columns_.size(); }
  // Is a maximum for each job among them?
  bool per_job() const { return per_job_; }
  std::size_t kept() const {
    std::size_t kept = 0;
    for (const Column& column : columns_) kept += column.running.size();
    return kept;
  }

  // A job is there: its leases count. Appends its values, one for each column.
  void Know(const JobKeys& keys, const PickJob& job, std::u32string& values) {
    for (Column& column : columns_) {
      std::uint32_t id = 0;
      if (column.select) {
        id = Selected(column, keys, job) ? 1 : 0;
      } else if (column.key.kind != StrategyKey::Kind::kJob) {
        if (const GroupText text = keys.Get(job, column.key)) {
          id = column.ids.try_emplace(*text, static_cast<std::uint32_t>(column.running.size())).first->second;
          if (id == column.running.size()) column.running.push_back(0);
          column.running[id] += job.running;
        }
      }
      values.push_back(static_cast<char32_t>(id));
    }
  }
  // How many more tasks with these values may start; `own`: running ones of their job.
  std::uint64_t Room(const char32_t* values, std::uint64_t own) const { return Room(root_, values, own); }
  void Start(const char32_t* values, std::uint64_t tasks) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].select && values[i] != 0) columns_[i].running[values[i]] += tasks;
    }
  }

 private:
  struct Node {
    enum class Kind : std::uint8_t { kEverything, kSelect, kMost, kAny };
    Kind kind = Kind::kEverything;
    std::size_t column = 0;
    std::uint64_t most = 0;
    std::vector<Node> inner;
  };

  static bool Selected(const Column& column, const JobKeys& keys, const PickJob& job) {
    if (column.key.kind == StrategyKey::Kind::kTag) return keys.HasTag(job, column.wanted);
    return keys.Get(job, column.key) == column.wanted;
  }

  Node Compile(const Strategy& block) {
    if (block.inner.empty()) return {};
    const Passes passes = BlockOf(block).traits().passes;
    Node node;
    if (passes == Passes::kBranches) {
      // Leases count, whichever branch gave them. So a task may start as long as any of them lets it.
      node.kind = Node::Kind::kAny;
      const std::size_t before = columns_.size();
      for (const StrategyPtr& inner : block.inner) {
        node.inner.push_back(Compile(*inner));
        if (node.inner.back().kind != Node::Kind::kEverything) continue;
        columns_.resize(before);  // what the others look at does not matter
        return {};
      }
      return node;
    }
    const bool selects = passes == Passes::kWanted;
    if (!selects && (passes != Passes::kBelowMax || block.percent)) return Compile(*block.inner[0]);
    node.kind = selects ? Node::Kind::kSelect : Node::Kind::kMost;
    node.most = block.max;
    Column column;
    column.key = block.key;
    column.select = selects;
    if (selects) {
      column.wanted =
          block.key.kind == StrategyKey::Kind::kTag ? std::get<std::string>(block.value) : *TextOf(block.value);
    }
    const auto found = std::find_if(columns_.begin(), columns_.end(), [&](const Column& known) {
      return known.key == column.key && known.select == column.select && known.wanted == column.wanted;
    });
    node.column = static_cast<std::size_t>(found - columns_.begin());
    if (found == columns_.end()) columns_.push_back(std::move(column));
    node.inner.push_back(Compile(*block.inner[0]));
    return node;
  }

  std::uint64_t Room(const Node& node, const char32_t* values, std::uint64_t own) const {
    switch (node.kind) {
      case Node::Kind::kEverything:
        return kAll;
      case Node::Kind::kSelect:
        return values[node.column] != 0 ? Room(node.inner[0], values, own) : 0;
      case Node::Kind::kMost: {
        const Column& column = columns_[node.column];
        const bool job = column.key.kind == StrategyKey::Kind::kJob;
        if (!job && values[node.column] == 0) return Room(node.inner[0], values, own);
        const std::uint64_t running = job ? own : column.running[values[node.column]];
        return std::min(node.most - std::min(node.most, running), Room(node.inner[0], values, own));
      }
      case Node::Kind::kAny:
        break;
    }
    std::uint64_t room = 0;
    for (const Node& inner : node.inner) room = std::max(room, Room(inner, values, own));
    return room;
  }

  std::vector<Column> columns_;
  bool per_job_ = false;
  Node root_;
};

// As text; where brackets change nothing, without them.
std::string Bracketed(const std::string& text) {
  const expr::Parsed bare = expr::Expr::Parse(text + " && true"), safe = expr::Expr::Parse("(" + text + ") && true");
  const bool alike = bare.expr && safe.expr && bare.expr->Print() == safe.expr->Print();
  return alike ? text : "(" + text + ")";
}

struct Pair {
  std::uint64_t a, b;
  friend bool operator==(const Pair&, const Pair&) = default;
};
struct PairHash {
  std::size_t operator()(const Pair& pair) const {
    return static_cast<std::size_t>((pair.a * 0x9E3779B97F4A7C15ull) ^ (pair.b * 0xC2B2AE3D27D4EB4Full));
  }
};
using PairMap = ShardedMap<Pair, std::uint32_t, PairHash>;
struct SerialHash {
  std::size_t operator()(std::uint64_t serial) const { return Mixed(serial); }
};
struct RowKey {
  std::uint64_t cls;
  std::uint32_t user, excluded;
  friend bool operator==(const RowKey&, const RowKey&) = default;
};
struct RowHash {
  std::size_t operator()(const RowKey& key) const {
    return PairHash()({key.cls, std::uint64_t{key.user} << 32 | key.excluded});
  }
};
struct TextHash {
  std::size_t operator()(const std::u32string& text) const { return Mixed(std::hash<std::u32string>()(text)); }
};

}  // namespace

struct DemandWalk::State {
  State(const Strategy& policy, LimitForecast limits) : maxima(policy), forecast(std::move(limits)) {}

  struct Row {
    DemandRow row;
    std::uint64_t cls;  // serial
    std::uint32_t user;
    bool shown;
    std::vector<LimitMatcher::Slot> cut;
  };
  // Tasks that may start under the same conditions: of one row and group, alike in what the policy's maxima look at.
  // With a maximum per job also alike in their jobs' numbers of tasks.
  struct Cell {
    std::uint32_t row, group;
    std::uint64_t jobs = 0, queued = 0;  // tasks: of all jobs, or of each
    std::uint64_t own = 0;               // running, of each
  };
  // What limits that read the worker add to the requirements.
  struct Excluded {
    std::string text;
    std::vector<LimitName> limits;
  };

  std::uint32_t GroupOf(const LimitTable& table, GroupId group) {
    const std::uint64_t serial = table.matcher().SerialOf(group);
    const auto [at, fresh] = group_ids.Insert(serial, static_cast<std::uint32_t>(groups.size()));
    if (fresh) groups.push_back(LimitForecast::GroupOf(table.matcher(), group));
    return *at;
  }

  std::uint32_t ExcludedFor(const LimitTable& table, GroupId id, std::uint32_t group, std::uint32_t user,
                            const std::string& name, const Now& now) {
    if (table.matcher().Terms(id).empty()) return 0;
    const auto [at, fresh] = excluded_for.Insert(Pair{group, user}, 0);
    if (!fresh) return *at;
    Excluded excluded;
    for (LimitLooks::Exclusion& one : table.looks().Exclusions(id, name, now)) {
      // What is left out would only have ruled out more workers: they are met, and turned away.
      if (excluded.limits.size() >= kDemandMostNamed || excluded.text.size() >= kDemandMostExcludedBytes) break;
      if (!excluded.text.empty()) excluded.text += " && ";
      excluded.text += "((" + one.expr->Print() + ") =!= true)";
      excluded.limits.push_back(std::move(one.limit));
    }
    if (excluded.text.empty()) return 0;
    const auto [known, other] = excluded_ids.try_emplace(excluded.text, static_cast<std::uint32_t>(exclusions.size()));
    if (other) exclusions.push_back(std::move(excluded));
    return *at = known->second;
  }

  std::size_t kept() const { return cells.size() + groups.size() + users.size() + maxima.kept() + excluded_for.size(); }
  bool full() const { return kept() >= kDemandMostKept || rows.size() >= kDemandMostRows; }
  // Divides what can start among the cells. True: through.
  bool Divide(std::int64_t& left);
  void Finish();

  JobCursor cursor;
  bool seen = false, seen_all = false, finished = false;
  bool paused = false;  // the queue
  Maxima maxima;
  LimitForecast forecast;
  ShardedMap<std::string, std::uint32_t> users;
  std::deque<Row> rows;
  ShardedMap<RowKey, std::uint32_t, RowHash> row_ids;
  std::deque<LimitForecast::Group> groups;
  ShardedMap<std::uint64_t, std::uint32_t, SerialHash> group_ids;  // by serial
  PairMap excluded_for;                                            // by group and user
  std::vector<Excluded> exclusions{1};                             // the first: none
  std::unordered_map<std::string, std::uint32_t> excluded_ids;
  std::deque<Cell> cells;  // in the order of their first jobs
  std::u32string values;   // of each cell, one after the other
  ShardedMap<std::u32string, std::uint32_t, TextHash> cell_ids;
  std::u32string key;
  std::unordered_map<Pair, std::uint64_t, PairHash> running;  // of jobs that are not open, by class and user
  std::size_t next_cell = 0;
  std::vector<DemandRow> shown;
};

DemandWalk::DemandWalk(DemandRequest request) : request_(std::move(request)) {}
DemandWalk::~DemandWalk() = default;

const std::vector<DemandRow>& DemandWalk::rows() const {
  static const std::vector<DemandRow> kNone;
  if (!state_) return kNone;
  if (!state_->finished) {
    std::int64_t left = std::numeric_limits<std::int64_t>::max();
    state_->Divide(left);
    state_->Finish();
  }
  return state_->shown;
}

bool DemandWalk::State::Divide(std::int64_t& left) {
  for (; next_cell < cells.size(); ++next_cell) {
    Cell& cell = cells[next_cell];
    Row& row = rows[cell.row];
    const char32_t* of_cell = &values[next_cell * maxima.columns()];
    // All at once, or one job after the other.
    for (; cell.jobs > 0; cell.jobs -= maxima.per_job() ? 1 : cell.jobs) {
      if (left <= 0) return false;
      left -= kDemandDivideNanoseconds;
      const std::uint64_t wanted = std::min(cell.queued, maxima.Room(of_cell, cell.own));
      const std::uint64_t starts = forecast.Take(groups[cell.group], wanted);
      left -= static_cast<std::int64_t>(forecast.cut().size()) * kDemandCutNanoseconds;
      for (const LimitMatcher::Slot slot : forecast.cut()) {
        if (row.cut.size() >= kDemandMostNamed) break;
        if (std::find(row.cut.begin(), row.cut.end(), slot) == row.cut.end()) row.cut.push_back(slot);
      }
      maxima.Start(of_cell, starts);
      row.row.startable += starts;
      if (starts == 0) break;  // nor for the others, which are alike
    }
  }
  return true;
}

void DemandWalk::State::Finish() {
  finished = true;
  for (Row& row : rows) {
    if (const auto more = running.find(Pair{row.cls, row.user}); more != running.end()) {
      row.row.running += more->second;
      running.erase(more);
    }
    if (!row.shown) continue;
    if (paused) row.row.startable = 0;
    for (const LimitMatcher::Slot slot : row.cut) {
      const LimitName& name = forecast.NameOf(slot);
      if (row.row.limits.size() >= kDemandMostNamed) break;
      const auto same = [&](const LimitName& other) { return other.uuid == name.uuid; };
      if (std::none_of(row.row.limits.begin(), row.row.limits.end(), same)) row.row.limits.push_back(name);
    }
    shown.push_back(std::move(row.row));
  }
  const auto older = [](const DemandRow& a, const DemandRow& b) { return a.oldest < b.oldest; };
  if (!std::is_sorted(shown.begin(), shown.end(), older)) std::stable_sort(shown.begin(), shown.end(), older);
}

bool PreparedLooks::Collect(const Now& now, DemandWalk& walk, std::size_t budget) {
  MemoryPool::Scope scope(&p_.memory.looks);
  using State = DemandWalk::State;
  const auto limits = [&] { return LimitForecast(p_.limits, walk.request_.lookahead, now); };
  if (!walk.state_) walk.state_ = std::make_unique<State>(*p_.orders.indices().policy(), limits());
  State& state = *walk.state_;
  if (state.finished) return true;
  if (!state.seen) walk.paused_ = state.paused = p_.queue.paused;
  auto left = static_cast<std::int64_t>(budget) * 1000;
  const std::int64_t job_cost =
      kDemandJobNanoseconds + static_cast<std::int64_t>(state.maxima.columns()) * kDemandKeyNanoseconds;
  const auto visit = [&](EngineJob* job) {
    if (left <= 0 || state.full()) return false;
    left -= job_cost;
    if (job == nullptr || (!job->open && job->running == 0)) return true;
    state.key.clear();
    state.maxima.Know(p_.keys, *job, state.key);
    const JobTerms& terms = *job->terms;
    const DemandRequest& request = walk.request_;
    const bool asked_for = (!request.user || *request.user == terms.user) &&
                           (!request.tag || std::binary_search(terms.tags.begin(), terms.tags.end(), *request.tag));
    if (asked_for) walk.running_ += job->running;
    if (job->cls == kNoClass) return true;  // ended: its leases count, and it is in no row
    const std::uint64_t cls = p_.classes.SerialOf(job->cls);
    const std::size_t known = state.users.size() + state.groups.size() + state.cells.size();
    const std::uint32_t user = *state.users.Insert(terms.user, static_cast<std::uint32_t>(state.users.size())).first;
    if (!job->open) {
      state.running[Pair{cls, user}] += job->running;
      return true;
    }
    if (!p_.limiting.Grouped(*job)) {
      const std::uint64_t before = p_.limits.matcher().evaluations();
      p_.limiting.Group(*job);
      left -= kDemandGroupNanoseconds +
              static_cast<std::int64_t>(p_.limits.matcher().evaluations() - before) * kDemandEvaluationNanoseconds;
    }
    const std::uint32_t group = state.GroupOf(p_.limits, job->group);
    const std::uint32_t excluded = state.ExcludedFor(p_.limits, job->group, group, user, terms.user, now);
    const auto [at, fresh] = state.row_ids.Insert({cls, user, excluded}, static_cast<std::uint32_t>(state.rows.size()));
    if (fresh) {
      left -= kDemandRowNanoseconds;
      State::Row& row = state.rows.emplace_back(State::Row{{}, cls, user, asked_for, {}});
      DemandRow& shown = row.row;
      shown.user = terms.user;
      shown.tags = terms.tags;
      shown.constraints = terms.constraints;
      shown.constraint_tags = terms.constraint_tags;
      shown.oldest = job->submitted_at;
      if (terms.requirements) {
        // Whoever reads it does not know the jobs' attributes.
        const bool own = terms.requirements->Reads(expr::Side::kJob, expr::Side::kJob);
        const expr::Ad ad = own ? AdOf(*job) : expr::Ad();
        shown.requirements = own ? expr::Flatten(*terms.requirements, {&ad, nullptr, expr::Side::kJob, 0})->Print()
                                 : terms.requirements->source();
      }
      if (excluded != 0) {
        if (!shown.requirements.empty()) shown.requirements = Bracketed(shown.requirements) + " && ";
        shown.requirements += state.exclusions[excluded].text;
        shown.limits = state.exclusions[excluded].limits;
      }
    }
    DemandRow& row = state.rows[*at].row;
    ++row.jobs;
    row.queued += job->queued;
    row.running += job->running;
    row.oldest = std::min(row.oldest, job->submitted_at);

    const std::u32string values = state.key;
    state.key += {static_cast<char32_t>(*at), static_cast<char32_t>(group)};
    if (state.maxima.per_job()) {
      state.key += {static_cast<char32_t>(job->queued), static_cast<char32_t>(job->running)};
    }
    const auto [cell_at, new_cell] = state.cell_ids.Insert(state.key, static_cast<std::uint32_t>(state.cells.size()));
    if (new_cell) {
      state.cells.push_back({*at, group, 0, 0, job->running});
      state.values += values;
    }
    State::Cell& cell = state.cells[*cell_at];
    ++cell.jobs;
    cell.queued = state.maxima.per_job() ? job->queued : cell.queued + job->queued;
    const std::size_t more = state.users.size() + state.groups.size() + state.cells.size() - known;
    left -= static_cast<std::int64_t>(more) * kDemandNewNanoseconds;
    return true;
  };
  if (!state.seen) {
    state.seen_all = p_.jobs.Walk(state.cursor, visit);
    if (!state.seen_all && !state.full()) return false;
    state.seen = true;
    state.forecast = limits();
  }
  if (!state.Divide(left)) return false;
  walk.complete_ = state.seen_all;  // the rest is for rows(), which need not be called here
  return true;
}

}  // namespace allot

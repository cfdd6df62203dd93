#include "client/explain_codec.h"

#include "client/json_in.h"

namespace allotter {
namespace {
namespace explanations {  // its Read() are no candidates for what other codecs read

using json_in::Each;
using json_in::EachField;
using json_in::Read;
using json_in::ReadOrEmpty;
using json_in::Value;

// Before the lists of them.
void Read(Value value, Reason& out);
void Read(Value value, Condition::Value& out);
void Read(Value value, Condition& out);
void Read(Value value, Explanation::Stage& out);
void Read(Value value, Explanation::Tag& out);
void Read(Value value, Explanation::Property& out);
void Read(Value value, Explanation::Alternative& out);
void Read(Value value, Explanation::Clause& out);
void Read(Value value, Explanation::Suggestion& out);
void Read(Value value, LimitHold& out);
void Read(Value value, CeilingHold& out);
template <typename T>
void Read(Value value, std::vector<T>& out) {
  Each(value, [&](Value item) { Read(item, out.emplace_back()); });
}

void Read(Value value, Reason& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "kind") Read(field, out.kind);
    if (key == "code") Read(field, out.code);
    if (key == "message") Read(field, out.message);
    if (key == "hint") Read(field, out.hint);
    if (key == "since_at_ms") Read(field, out.since_at_ms);
  });
}

void Read(Value value, Condition::Value& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "name") Read(field, out.name);
    if (key == "value") Read(field, out.value);
  });
}

void Read(Value value, Condition& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "stage") Read(field, out.stage);
    if (key == "condition") Read(field, out.condition);
    if (key == "holds") Read(field, out.holds);
    if (key == "outcome") Read(field, out.outcome);
    if (key == "values") Read(field, out.values);
    if (key == "message") Read(field, out.message);
  });
}

void Read(Value value, Explanation::Stage& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "stage") Read(field, out.stage);
    if (key == "workers") Read(field, out.workers);
  });
}

void Read(Value value, Explanation::Tag& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "tag") Read(field, out.tag);
    if (key == "status") Read(field, out.status);
    if (key == "workers") Read(field, out.workers);
    if (key == "available") Read(field, out.available);
    if (key == "free") Read(field, out.free);
    if (key == "last_seen_at_ms") Read(field, out.last_seen_at_ms);
  });
}

void Read(Value value, Explanation::Property& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "key") Read(field, out.key);
    if (key == "value") Read(field, out.value);
    if (key == "workers") Read(field, out.workers);
  });
}

void Read(Value value, Explanation::Alternative& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "tag") Read(field, out.tag);
    if (key == "workers") Read(field, out.workers);
    if (key == "properties") Read(field, out.properties);
  });
}

void Read(Value value, Explanation::Clause& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "clause") Read(field, out.clause);
    if (key == "reached") Read(field, out.reached);
    if (key == "failed") Read(field, out.failed);
    if (key == "undefined") Read(field, out.undefined);
    if (key == "error") Read(field, out.error);
    if (key == "best") ReadOrEmpty(field, out.best);
  });
}

void Read(Value value, Explanation::Nearest& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "worker") Read(field, out.worker);
    if (key == "name") Read(field, out.name);
    if (key == "misses") Read(field, out.misses);
  });
}

void Read(Value value, Explanation::Suggestion& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "kind") Read(field, out.kind);
    if (key == "given") Read(field, out.given);
    if (key == "nearest") Read(field, out.nearest);
    if (key == "where") Read(field, out.where);
    if (key == "message") Read(field, out.message);
  });
}

void Read(Value value, LimitHold& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "uuid") Read(field, out.uuid);
    if (key == "tag") Read(field, out.tag);
    if (key == "name") Read(field, out.name);
    if (key == "monitor") Read(field, out.monitor);
    if (key == "reads_worker") Read(field, out.reads_worker);
    if (key == "level") Read(field, out.level);
    if (key == "cost") Read(field, out.cost);
    if (key == "holds_back") Read(field, out.holds_back);
    if (key == "never") Read(field, out.never);
    if (key == "stops") Read(field, out.stops);
    if (key == "overtaken") Read(field, out.overtaken);
    if (key == "payable_in_ms") Read(field, out.payable_in_ms);
    if (key == "workers") Read(field, out.workers);
    if (key == "workers_held") Read(field, out.workers_held);
  });
}

void Read(Value value, CeilingHold& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "of") Read(field, out.of);
    if (key == "key") Read(field, out.key);
    if (key == "value") out.value = json_in::Raw(field);
    if (key == "running") Read(field, out.running);
    if (key == "max") Read(field, out.max);
  });
}

void ReadWhy(Value value, std::vector<std::string>& out) {
  Each(value, [&](Value step) {
    EachField(step, [&](std::string_view key, Value field) {
      if (key == "text") Read(field, out.emplace_back());
    });
  });
}

void Read(Value value, OrderPlace& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "strategy") Read(field, out.strategy);
    if (key == "policy") Read(field, out.policy);
    if (key == "workers") Read(field, out.workers);
    if (key == "place") Read(field, out.place);
    if (key == "complete") Read(field, out.complete);
    if (key == "first" && !field.is_null()) {
      EachField(field, [&](std::string_view name, Value inner) {
        if (name == "job") Read(inner, out.first_job);
        if (name == "user") Read(inner, out.first_user);
        if (name == "why") ReadWhy(inner, out.first_why);
      });
    }
    if (key == "own") {
      EachField(field, [&](std::string_view name, Value inner) {
        if (name == "why") ReadWhy(inner, out.own_why);
      });
    }
    if (key == "ceilings") Read(field, out.ceilings);
  });
}

void Read(Value value, PromisedTasks& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "tasks") Read(field, out.tasks);
    if (key == "workers") Read(field, out.workers);
    if (key == "longest" && !field.is_null()) {
      EachField(field, [&](std::string_view name, Value inner) {
        if (name == "worker") Read(inner, out.longest);
        if (name == "name") Read(inner, out.longest_name);
        if (name == "tasks") Read(inner, out.longest_tasks);
        if (name == "queue") Read(inner, out.longest_queue);
      });
    }
  });
}

void Read(Value value, Explanation& out) {
  out.json = json_in::Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "job") ReadOrEmpty(field, out.job);
    if (key == "state") Read(field, out.state);
    if (key == "tasks") {
      EachField(field, [&](std::string_view name, Value inner) {
        if (name == "ready") Read(inner, out.ready);
        if (name == "leased") Read(inner, out.leased);
        if (name == "waiting") Read(inner, out.waiting);
      });
    }
    if (key == "verdict") Read(field, out.verdict);
    if (key == "reasons") Read(field, out.reasons);
    if (key == "workers") {
      EachField(field, [&](std::string_view name, Value inner) {
        if (name == "total") Read(inner, out.workers);
        if (name == "examined") Read(inner, out.examined);
        if (name == "draining") Read(inner, out.draining);
        if (name == "away") Read(inner, out.away);
        if (name == "matching") Read(inner, out.matching);
      });
    }
    if (key == "funnel") Read(field, out.funnel);
    if (key == "tags") Read(field, out.tags);
    if (key == "constraints") Read(field, out.constraints);
    if (key == "requirements") Read(field, out.requirements);
    if (key == "worker_requirements") Read(field, out.worker_requirements);
    if (key == "nearest" && !field.is_null()) Read(field, out.nearest.emplace());
    if (key == "suggestions") Read(field, out.suggestions);
    if (key == "limits") Read(field, out.limits);
    if (key == "order") Read(field, out.order.emplace());
    if (key == "promised" && !field.is_null()) Read(field, out.promised.emplace());
  });
}

void Read(Value value, PairExplanation::Rank& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "expression") ReadOrEmpty(field, out.expression);
    if (key == "value") Read(field, out.value);
  });
}

void Read(Value value, PairExplanation& out) {
  out.json = json_in::Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "job") ReadOrEmpty(field, out.job);
    if (key == "state") Read(field, out.state);
    if (key == "worker") Read(field, out.worker);
    if (key == "name") Read(field, out.name);
    if (key == "verdict") Read(field, out.verdict);
    if (key == "reasons") Read(field, out.reasons);
    if (key == "matches") Read(field, out.matches);
    if (key == "conditions") Read(field, out.conditions);
    if (key == "job_rank") Read(field, out.job_rank);
    if (key == "worker_rank") Read(field, out.worker_rank);
    if (key == "limits") Read(field, out.limits);
  });
}

constexpr auto kReader = [](Value root, auto& out) { Read(root, out); };

}  // namespace explanations
}  // namespace

void ReadReason(json_in::Value value, Reason& out) { explanations::Read(value, out); }

template <>
Result<Explanation> Parse<Explanation>(const std::string& json) {
  return json_in::DocumentAs<Explanation>(json, explanations::kReader);
}
template <>
Result<PairExplanation> Parse<PairExplanation>(const std::string& json) {
  return json_in::DocumentAs<PairExplanation>(json, explanations::kReader);
}

}  // namespace allotter

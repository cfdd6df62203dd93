// SPDX-License-Identifier: Apache-2.0
// allot nodes, node drain|resume, queue move: several servers on one database.
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "client/url.h"

namespace allot::cli {
namespace {

using allotter::Client;

constexpr auto kBetweenLooks = std::chrono::milliseconds(200);

struct NodeLine {
  std::string name, address, version, state, json;
  std::int64_t started_at_ms = 0;
  std::vector<std::string> queues;
};

std::string TextIn(const simdjson::dom::element& object, const char* field) {
  std::string_view text;
  return object[field].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

Result<std::vector<NodeLine>> ParseNodes(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array list;
  if (parser.parse(body).get(root) != simdjson::SUCCESS || root["nodes"].get(list) != simdjson::SUCCESS) {
    return Error{Code::kInternal, "the server's list of nodes cannot be read", ""};
  }
  std::vector<NodeLine> nodes;
  for (const simdjson::dom::element one : list) {
    NodeLine node{.name = TextIn(one, "name"),
                  .address = TextIn(one, "address"),
                  .version = TextIn(one, "version"),
                  .state = TextIn(one, "state"),
                  .json = simdjson::minify(one),
                  .started_at_ms = 0,
                  .queues = {}};
    if (one["started_at_ms"].get(node.started_at_ms) != simdjson::SUCCESS) node.started_at_ms = 0;
    simdjson::dom::array queues;
    if (one["queues"].get(queues) == simdjson::SUCCESS) {
      for (const simdjson::dom::element queue : queues) node.queues.push_back(TextIn(queue, "name"));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<std::vector<NodeLine>> ReadNodes(Client& client) {
  auto body = client.Call("GET", "/v1/nodes");
  if (!body) return body.error();
  return ParseNodes(*body);
}

Result<void> ListNodes(Context& context, Client& client) {
  auto body = client.Call("GET", "/v1/nodes");
  if (!body) return body.error();
  auto nodes = ParseNodes(*body);
  if (!nodes) return nodes.error();
  if (context.format == Format::kJson) {
    std::cout << *body << '\n';
    return {};
  }
  Table table({{"NODE"}, {"STATE"}, {"QUEUES", true}, {"STARTED"}, {"VERSION"}, {"ADDRESS"}, {"HAS"}});
  table.ColourStates(1);
  for (const NodeLine& node : *nodes) {
    if (context.format == Format::kId) std::cout << node.name << '\n';
    if (context.format == Format::kNdjson) std::cout << node.json << '\n';
    std::string has;
    for (const std::string& queue : node.queues) has += (has.empty() ? "" : " ") + queue;
    table.Add({node.name, node.state, FormatCount(node.queues.size()), TimeText(node.started_at_ms), node.version,
               node.address, has});
  }
  if (context.format == Format::kTable) std::cout << table.Text(StdoutStyle());
  if (nodes->empty()) context.Fail(ExitCode::kOk, "this server shares its queues with no other");
  return {};
}

// Looks at the nodes until `done`, or for too long.
Result<void> AwaitNodes(Client& client, const std::string& what,
                        const std::function<bool(const std::vector<NodeLine>&)>& done, std::chrono::seconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto nodes = ReadNodes(client);
    if (!nodes) return nodes.error();
    if (done(*nodes)) return {};
    if (std::chrono::steady_clock::now() >= until)
      return Error{Code::kTimedOut, what, "it goes on: `allot nodes` shows how far it is"};
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void AddNode(CLI::App& family, Context& context, const char* name, const char* help, bool drain) {
  CLI::App& command = *family.add_subcommand(name, help);
  auto node = std::make_shared<std::string>();
  command.add_option("NODE", *node, "The node's name")->required();
  OnRun(command, context, [&context, node, drain](Client& client) -> Result<void> {
    const std::string path = "/v1/nodes/" + allotter::UrlEncode(*node) + (drain ? "/drain" : "/resume");
    auto answer = client.Call("POST", path);
    if (!answer) return answer.error();
    if (drain) {
      const auto empty = [&node](const std::vector<NodeLine>& nodes) {
        std::size_t others = 0;
        bool has = false;
        for (const NodeLine& one : nodes) {
          if (one.name == *node) has = !one.queues.empty();
          if (one.name != *node && one.state == "alive") ++others;
        }
        return !has || others == 0;
      };
      if (auto waited = AwaitNodes(client, *node + " still has queues", empty, std::chrono::seconds(60)); !waited)
        return waited;
    }
    Show(context, *answer, *node,
         [&] { std::cout << Visible(*node) << (drain ? " has handed over its queues\n" : " takes queues again\n"); });
    return {};
  });
}

}  // namespace

void AddNodeCommands(CLI::App& app, Context& context) {
  OnRun(*app.add_subcommand("nodes", "List the servers that share the queues of a database"), context,
        [&context](Client& client) { return ListNodes(context, client); });
  CLI::App& node = *app.add_subcommand("node", "Servers that share the queues of a database");
  node.require_subcommand(1);
  AddNode(node, context, "drain", "Have a node hand over all its queues, and wait for that", true);
  AddNode(node, context, "resume", "Let a node that was drained take queues again", false);
}

void AddQueueMove(CLI::App& queue, Context& context) {
  CLI::App& move = *queue.add_subcommand("move", "Have a queue go to another node of the cluster, and stay there");
  auto name = std::make_shared<std::string>();
  auto to = std::make_shared<std::string>();
  move.add_option("NAME", *name, "The queue's name")->required();
  move.add_option("--to", *to, "The node; empty: wherever it belongs")->type_name("NODE")->required();
  OnRun(move, context, [&context, name, to](Client& client) -> Result<void> {
    auto answer =
        client.Call("POST", "/v1/queues/" + allotter::UrlEncode(*name) + "/move", "{\"to\":" + JsonString(*to) + "}");
    if (!answer) return answer.error();
    const auto there = [&name, &to](const std::vector<NodeLine>& nodes) {
      if (to->empty()) return true;
      for (const NodeLine& node : nodes) {
        if (node.name == *to) return std::count(node.queues.begin(), node.queues.end(), *name) > 0;
      }
      return false;
    };
    if (auto waited = AwaitNodes(client, *name + " is not on " + *to + " yet", there, std::chrono::seconds(60));
        !waited)
      return waited;
    Show(context, *answer, *name, [&] {
      std::cout << Visible(*name) << (to->empty() ? " may be anywhere\n" : " is on " + Visible(*to) + "\n");
    });
    return {};
  });
}

}  // namespace allot::cli

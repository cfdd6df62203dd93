// SPDX-License-Identifier: Apache-2.0
// allot token create|list|revoke: directly on the data directory; a running server follows within a second.
#include "server/ops/tokens.h"

#include <sys/stat.h>

#include <filesystem>
#include <iostream>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/setting_flags.h"
#include "cli/spec_options.h"

namespace allot::cli {
namespace {

std::string ToJson(const TokenRecord& record, const std::string& text) {
  std::string out;
  JsonWriter w(out);
  w.BeginObject()
      .Key("id")
      .String(record.id)
      .Key("name")
      .String(record.name)
      .Key("scopes")
      .String(record.scopes.Text());
  w.Key("user");
  record.user ? w.String(*record.user) : w.Null();
  w.Key("queue");
  record.queue ? w.String(*record.queue) : w.Null();
  w.Key("created_at_ms").Int(ToMillis(record.created_at)).Key("expires_at_ms");
  record.expires_at ? w.Int(ToMillis(*record.expires_at)) : w.Null();
  if (!text.empty()) w.Key("token").String(text);
  w.EndObject();
  return out;
}

struct CreateOptions {
  SettingFlags flags;
  std::string name, user, queue, expires;
  std::vector<std::string> scopes;
};

Result<void> Create(Context& context, const CreateOptions& options) {
  auto config = options.flags.Load();
  if (!config) return config.error();
  NewToken token;
  token.name = options.name;
  auto scopes = ScopeSet::Parse(Joined(options.scopes));
  if (!scopes) return scopes.error();
  token.scopes = *scopes;
  if (!options.user.empty()) token.user = options.user;
  if (!options.queue.empty()) token.queue = options.queue;
  auto expires = DurationOption("--expires", options.expires);
  if (!expires) return expires.error();
  const WallTime now = FromMillis(NowMillis());
  if (*expires) token.expires_at = now + **expires;
  std::error_code ec;
  if (!std::filesystem::exists(config->data, ec)) {
    std::filesystem::create_directories(config->data, ec);
    ::chmod(config->data.c_str(), 0700);
  }
  TokenFile file(config->tokens_file());
  const bool first = !file.Exists();
  auto created = file.Create(token, now);
  if (!created) return created.error();
  Show(context, ToJson(created->record, created->text), created->record.id,
       [&] { std::cout << created->text << '\n'; });
  if (StderrStyle().terminal && context.format == Format::kTable) {
    std::cerr << "keep it: it is shown this once; use it as ALLOT_TOKEN. Its id is " << created->record.id << '\n';
    if (first) std::cerr << "from now on every request to a server on " << Visible(config->data) << " needs a token\n";
  }
  return {};
}

Result<void> List(const Context& context, const SettingFlags& flags) {
  auto config = flags.Load();
  if (!config) return config.error();
  auto tokens = TokenFile(config->tokens_file()).List();
  if (!tokens) return tokens.error();
  Table table({{"ID"}, {"NAME"}, {"SCOPES"}, {"USER"}, {"QUEUE"}, {"CREATED"}, {"EXPIRES"}});
  if (context.format == Format::kJson) std::cout << "{\"tokens\":[";
  for (const TokenRecord& record : *tokens) {
    switch (context.format) {
      case Format::kTable:
        table.Add({record.id, record.name, record.scopes.Text(), record.user.value_or("-"), record.queue.value_or("-"),
                   TimeText(ToMillis(record.created_at)),
                   record.expires_at ? TimeText(ToMillis(*record.expires_at)) : "never"});
        break;
      case Format::kId:
        std::cout << record.id << '\n';
        break;
      case Format::kNdjson:
        std::cout << ToJson(record, "") << '\n';
        break;
      case Format::kJson:
        std::cout << (&record == tokens->data() ? "\n" : ",\n") << ToJson(record, "");
        break;
    }
  }
  if (context.format == Format::kJson) std::cout << "\n]}\n";
  if (context.format == Format::kTable) std::cout << (table.empty() ? "no tokens\n" : table.Text(StdoutStyle()));
  return {};
}

Result<void> Revoke(const Context& context, const SettingFlags& flags, const std::vector<std::string>& names) {
  auto config = flags.Load();
  if (!config) return config.error();
  TokenFile file(config->tokens_file());
  for (const std::string& name : names) {
    auto revoked = file.Revoke(name);
    if (!revoked) return revoked.error();
    Show(context, ToJson(*revoked, ""), revoked->id,
         [&] { std::cout << revoked->id << ' ' << Visible(revoked->name) << " revoked\n"; });
  }
  return {};
}

}  // namespace

void AddTokenCommands(CLI::App& app, Context& context) {
  CLI::App& token = *app.add_subcommand("token", "Create, list and revoke tokens in the data directory");
  token.require_subcommand(1);

  CLI::App& create = *token.add_subcommand("create", "Create a token; prints it, this once");
  auto options = std::make_shared<CreateOptions>();
  create.add_option("NAME", options->name, "A name, for people");
  create.add_option("-s,--scope", options->scopes, "submit, work, read, operate, admin; several by commas")
      ->type_name("SCOPES")
      ->required()
      ->allow_extra_args(false);
  create.add_option("-u,--user", options->user, "The only user that it speaks for")->type_name("USER");
  create.add_option("-q,--queue", options->queue, "The only queue that it reaches")->type_name("NAME");
  create.add_option("--expires", options->expires, "Not valid after so long, as in 30d")->type_name("DURATION");
  AddSettingFlags(create, options->flags, {"data"});
  AddOutputOption(create, context);
  create.callback([&context, options] {
    if (auto done = Create(context, *options); !done) context.Fail(done.error());
  });

  CLI::App& list = *token.add_subcommand("list", "List tokens, without their secrets");
  auto list_flags = std::make_shared<SettingFlags>();
  AddSettingFlags(list, *list_flags, {"data"});
  AddOutputOption(list, context);
  list.callback([&context, list_flags] {
    if (auto done = List(context, *list_flags); !done) context.Fail(done.error());
  });

  CLI::App& revoke = *token.add_subcommand("revoke", "Revoke tokens; a running server follows within a second");
  auto names = std::make_shared<std::vector<std::string>>();
  auto revoke_flags = std::make_shared<SettingFlags>();
  revoke.add_option("TOKEN", *names, "A token's id or name")->required();
  AddSettingFlags(revoke, *revoke_flags, {"data"});
  AddOutputOption(revoke, context);
  revoke.callback([&context, names, revoke_flags] {
    if (auto done = Revoke(context, *revoke_flags, *names); !done) context.Fail(done.error());
  });
}

}  // namespace allot::cli

// SPDX-License-Identifier: Apache-2.0
// allot check [PATH].
#include <filesystem>
#include <iostream>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/setting_flags.h"
#include "server/wire/request_json.h"
#include "store/sqlite/check.h"
#include "store/sqlite/queue_files.h"

namespace allot::cli {
namespace {

namespace fs = std::filesystem;
using sqlite::CheckReport;

struct Checked {
  std::string name;  // of the queue, or the file
  std::string file;
  CheckReport report;
};

Result<std::vector<Checked>> CheckDirectory(const std::string& data) {
  const sqlite::QueueFiles files(data);
  const Result<std::vector<std::string>> names = files.List();
  if (!names) {
    return Error{Code::kBadValue, "cannot read `" + files.folder() + "`: " + names.error().message,
                 "name a data directory, or a backup"};
  }
  std::vector<Checked> all;
  for (const std::string& name : *names) {
    if (!CheckQueueName("queue", name)) continue;
    const std::string file = files.FileOf(name);
    Result<CheckReport> report = sqlite::CheckQueueFile(file);
    if (!report && report.error().code == Code::kStoreLocked) {
      return Error{Code::kStoreLocked, "a server is running on `" + data + "`",
                   "stop it first; of a running server, check a backup"};
    }
    if (!report) return report.error();
    all.push_back({name, file, std::move(*report)});
  }
  return all;
}

Result<std::vector<Checked>> CheckPath(const std::string& path) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) return CheckDirectory(path);
  const bool own = sqlite::QueueFiles::IsQueueFile(path);
  if (!own && !fs::exists(path, ec)) {
    return Error{Code::kBadValue, "there is no `" + path + "`", "name a data directory, or a backup"};
  }
  Result<CheckReport> report = own ? sqlite::CheckQueueFile(path) : sqlite::CheckBackup(path);
  if (!report) return report.error();
  return std::vector<Checked>{{fs::path(path).filename().string(), path, std::move(*report)}};
}

void AppendJson(const Checked& checked, std::string& out) {
  const CheckReport& report = checked.report;
  out += "{\"name\":" + JsonString(checked.name) + ",\"file\":" + JsonString(checked.file);
  out += std::string(",\"ok\":") + (report.ok() ? "true" : "false");
  out += std::string(",\"closed\":") + (report.closed ? "true" : "false");
  out += ",\"format\":" + std::to_string(report.format) + ",\"bytes\":" + std::to_string(report.file_bytes);
  out += ",\"log_pages\":" + std::to_string(report.log_pages) +
         ",\"journal_commits\":" + std::to_string(report.journal_commits) +
         ",\"position\":" + std::to_string(report.position);
  out += ",\"tables\":[";
  for (const CheckReport::Rows& rows : report.tables) {
    if (out.back() != '[') out += ',';
    out += "{\"table\":" + JsonString(rows.table) + ",\"rows\":" + std::to_string(rows.checked) +
           ",\"without_sum\":" + std::to_string(rows.without_sum) + ",\"damaged\":" + std::to_string(rows.damaged) +
           "}";
  }
  out += "],\"problems\":[";
  for (const std::string& problem : report.problems) {
    if (out.back() != '[') out += ',';
    out += JsonString(problem);
  }
  out += "],\"more_problems\":" + std::to_string(report.more_problems) + "}";
}

void Print(const Checked& checked) {
  const CheckReport& report = checked.report;
  std::uint64_t rows = 0;
  std::uint64_t without_sum = 0;
  for (const CheckReport::Rows& table : report.tables) {
    rows += table.checked;
    without_sum += table.without_sum;
  }
  std::cout << Visible(checked.name) << ": " << (report.ok() ? "whole" : "DAMAGED") << ", "
            << FormatSize(report.file_bytes) << ", " << FormatCount(rows) << " rows";
  if (without_sum > 0) std::cout << " (" << FormatCount(without_sum) << " from before there were checksums)";
  std::cout << (report.closed ? "" : ", not closed: its journal is needed") << '\n';
  for (const std::string& problem : report.problems) std::cout << "  " << Visible(problem) << '\n';
  if (report.more_problems > 0) std::cout << "  and " << FormatCount(report.more_problems) << " more\n";
}

void Check(Context& context, const std::string& path) {
  const Result<std::vector<Checked>> all = CheckPath(path);
  if (!all) return context.Fail(all.error());
  bool ok = true;
  std::string json;
  for (const Checked& checked : *all) {
    ok = ok && checked.report.ok();
    json += json.empty() ? "" : ",";
    AppendJson(checked, json);
  }
  Show(context, "{\"path\":" + JsonString(path) + ",\"ok\":" + (ok ? "true" : "false") + ",\"files\":[" + json + "]}",
       path, [&] {
         if (all->empty()) std::cout << Visible(path) << ": no queues\n";
         for (const Checked& checked : *all) Print(checked);
       });
  if (!ok) context.exit_code = ExitCode::kServer;
}

}  // namespace

void AddCheckCommand(CLI::App& app, Context& context) {
  CLI::App& check =
      *app.add_subcommand("check", "Look for damage in a data directory that no server uses, or a backup");
  auto path = std::make_shared<std::string>();
  auto flags = std::make_shared<SettingFlags>();
  check.add_option("PATH", *path, "The data directory, or the backup (that of the settings)");
  AddSettingFlags(check, *flags, {"data"});
  AddOutputOption(check, context);
  check.callback([&context, path, flags] {
    if (!path->empty()) return Check(context, *path);
    auto config = flags->Load();
    if (!config) return context.Fail(config.error());
    if (!config->store.empty()) {
      return context.Fail({Code::kBadValue, "the queues are in a database, not in a data directory",
                           "check a backup: allot backup FILE, allot check FILE"});
    }
    Check(context, config->data);
  });
}

}  // namespace allot::cli

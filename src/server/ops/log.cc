// SPDX-License-Identifier: Apache-2.0
#include "server/ops/log.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/json.h"

namespace allot {
namespace {

using spdlog::level::level_enum;

level_enum SpdLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return level_enum::trace;
    case LogLevel::kDebug:
      return level_enum::debug;
    case LogLevel::kInfo:
      return level_enum::info;
    case LogLevel::kWarning:
      return level_enum::warn;
    case LogLevel::kError:
      return level_enum::err;
    case LogLevel::kOff:
      return level_enum::off;
  }
  return level_enum::info;
}

// Two doors to one sink: what operators do is written also where the level hides the rest.
struct Loggers {
  std::shared_ptr<spdlog::logger> main;
  std::shared_ptr<spdlog::logger> audit;
  bool json = false;
};

Loggers Make(const spdlog::sink_ptr& sink, LogLevel level, bool json) {
  // One line each: %v is the rest of a JSON object, or plain text.
  sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %^%-7l%$ %v",
      spdlog::pattern_time_type::utc));
  Loggers loggers{std::make_shared<spdlog::logger>("allotter", sink), std::make_shared<spdlog::logger>("audit", sink),
                  json};
  loggers.main->set_level(SpdLevel(level));
  loggers.audit->set_level(level == LogLevel::kOff ? level_enum::off : level_enum::trace);
  for (const auto& logger : {loggers.main, loggers.audit}) logger->flush_on(level_enum::warn);
  return loggers;
}

Loggers& Current() {
  static Loggers loggers = Make(std::make_shared<spdlog::sinks::stderr_sink_mt>(), LogLevel::kWarning, false);
  return loggers;
}

// Escapes what a terminal would obey: the JSON escapes, DEL and the C1 controls.
void AppendHarmless(std::string_view text, std::string& out) {
  const std::string json = JsonString(text);
  for (std::size_t i = 1; i + 1 < json.size(); ++i) {
    const auto c = static_cast<unsigned char>(json[i]);
    if (c == 0x7f) {
      out += "\\u007f";
    } else if (c == 0xc2 && static_cast<unsigned char>(json[i + 1]) < 0xa0) {
      constexpr char kHex[] = "0123456789abcdef";
      const auto low = static_cast<unsigned char>(json[++i]);
      out += "\\u00";
      out += kHex[low >> 4];
      out += kHex[low & 15];
    } else {
      out += json[i];
    }
  }
}

bool PlainWord(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\') return false;
  }
  return !text.empty();
}

void AppendText(const LogField& field, std::string& out) {
  out += ' ';
  out += field.key;
  out += '=';
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    if (PlainWord(*text)) {
      out += *text;
    } else {
      out += '"';
      AppendHarmless(*text, out);
      out += '"';
    }
    return;
  }
  if (const auto* number = std::get_if<std::int64_t>(&field.value)) out += std::to_string(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&field.value)) out += std::to_string(*number);
  if (const auto* number = std::get_if<double>(&field.value)) AppendJsonReal(*number, out);
  if (const auto* flag = std::get_if<bool>(&field.value)) out += *flag ? "true" : "false";
}

void AppendJson(const LogField& field, JsonWriter& json) {
  json.OpenKey(field.key);
  if (const auto* text = std::get_if<std::string_view>(&field.value)) json.String(*text);
  if (const auto* number = std::get_if<std::int64_t>(&field.value)) json.Int(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&field.value)) json.Uint(*number);
  if (const auto* number = std::get_if<double>(&field.value)) json.Real(*number);
  if (const auto* flag = std::get_if<bool>(&field.value)) json.Bool(*flag);
}

void Write(spdlog::logger& logger, bool as_json, level_enum level, std::string_view message, LogFields fields) {
  std::string line;
  if (as_json) {
    JsonWriter json(line);
    json.Key("message").String(message);
    for (const LogField& field : fields) AppendJson(field, json);
  } else {
    AppendHarmless(message, line);
    for (const LogField& field : fields) AppendText(field, line);
  }
  logger.log(level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

void InitLog(const Config& config) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const bool json = config.log_format == LogFormat::kJson || (config.log_format == LogFormat::kAuto && !terminal);
  spdlog::sink_ptr sink;
  const char* const no_color = std::getenv("NO_COLOR");
  if (!json && terminal && (no_color == nullptr || *no_color == '\0')) {
    sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(spdlog::color_mode::always);
  } else {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }
  Current() = Make(sink, config.log_level, json);
}

void InitLogTo(std::ostream& out, LogLevel level, LogFormat format) {
  Current() = Make(std::make_shared<spdlog::sinks::ostream_sink_mt>(out, true), level, format == LogFormat::kJson);
}

bool LogEnabled(LogLevel level) { return level != LogLevel::kOff && Current().main->should_log(SpdLevel(level)); }

void Log(LogLevel level, std::string_view message, LogFields fields) {
  if (!LogEnabled(level)) return;
  Write(*Current().main, Current().json, SpdLevel(level), message, fields);
}

void Audit(const Principal& principal, std::string_view action, std::string_view object, std::string_view detail) {
  constexpr std::size_t kMostDetail = 4096;
  std::string cut;
  if (detail.size() > kMostDetail) {
    std::size_t end = kMostDetail;
    while (end > 0 && (static_cast<unsigned char>(detail[end]) & 0xC0) == 0x80) --end;
    detail = cut.append(detail.substr(0, end)).append("…");
  }
  Write(*Current().audit, Current().json, level_enum::info, "audit",
        {{"who", principal.name},
         {"token", principal.id},
         {"user", principal.user.value_or("")},
         {"action", action},
         {"object", object},
         {"detail", detail}});
}

void FlushLog() {
  Current().main->flush();
  Current().audit->flush();
}

}  // namespace allot

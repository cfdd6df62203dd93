// SPDX-License-Identifier: Apache-2.0
// The log: text with colours on a terminal, JSON lines otherwise, to standard error.
//
// Field values are hostile (names of users, jobs, hosts): in text they are quoted and escaped where they are not plain
// words.
//
// Threading: any thread, after InitLog(). Before it, warnings and errors go to standard error as text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "server/ops/config.h"
#include "server/ops/principal.h"

namespace allot {

struct LogField {
  std::string_view key;  // a plain word of ours
  std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool> value;

  template <typename T>
  LogField(std::string_view k, const T& v) : key(k) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_same_v<T, bool>) {
      value = v;
    } else if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<double>(v);
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      value = static_cast<std::int64_t>(v);
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<std::uint64_t>(v);
    } else {
      value = std::string_view(v);
    }
  }
};
using LogFields = std::initializer_list<LogField>;

// Level and format as configured. Once, before other threads log.
void InitLog(const Config& config);
// Into a stream instead, for tests. `colours` as on a terminal.
void InitLogTo(std::ostream& out, LogLevel level, LogFormat format);

bool LogEnabled(LogLevel level);
void Log(LogLevel level, std::string_view message, LogFields fields = {});

inline void LogDebug(std::string_view message, LogFields fields = {}) { Log(LogLevel::kDebug, message, fields); }
inline void LogInfo(std::string_view message, LogFields fields = {}) { Log(LogLevel::kInfo, message, fields); }
inline void LogWarning(std::string_view message, LogFields fields = {}) { Log(LogLevel::kWarning, message, fields); }
inline void LogError(std::string_view message, LogFields fields = {}) { Log(LogLevel::kError, message, fields); }

// A change that an operator made: `Audit(*principal, "queue.pause", "default")`. Logged at any level but kOff.
void Audit(const Principal& principal, std::string_view action, std::string_view object, std::string_view detail = {});

void FlushLog();

}  // namespace allot

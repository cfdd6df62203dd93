// SPDX-License-Identifier: Apache-2.0
#include "cli/text/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/text.h"
#include "base/time.h"

namespace allot::cli {
namespace {

Style StyleOf(int fd) {
  Style style;
  style.terminal = ::isatty(fd) == 1;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  style.colour = style.terminal && (no_colour == nullptr || *no_colour == '\0') &&
                 (term == nullptr || std::strcmp(term, "dumb") != 0);
  return style;
}

// Code points, which is what most scripts show as one column each.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The code point at `i` and its length; a byte that is not UTF-8 is one of its own, without a meaning.
std::pair<std::uint32_t, std::size_t> CodePoint(std::string_view text, std::size_t i) {
  const auto lead = static_cast<unsigned char>(text[i]);
  std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (lead >= 0xF5) length = 0;
  if (length == 1) return {lead, 1};
  if (length == 0 || i + length > text.size()) return {0xFFFD, 1};
  std::uint32_t value = lead & (0x7Fu >> length);
  for (std::size_t k = 1; k < length; ++k) {
    const auto next = static_cast<unsigned char>(text[i + k]);
    if ((next & 0xC0) != 0x80) return {0xFFFD, 1};
    value = value << 6 | (next & 0x3F);
  }
  return {value, length};
}

bool Harmful(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
         c == 0x200E || c == 0x200F || c == 0x061C || c == 0xFEFF || c == 0x2028 || c == 0x2029;
}

std::string Clean(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto [c, length] = CodePoint(text, i);
    if (c == '\n' || c == '\t' || c == '\r') {
      if (keep_lines && c != '\r') out.push_back(static_cast<char>(c));
      if (!keep_lines) out.push_back(' ');
    } else if (c == 0xFFFD && length == 1) {
      out.append("\xEF\xBF\xBD");
    } else if (!Harmful(c)) {
      out.append(text.substr(i, length));
    }
    i += length;
  }
  return out;
}

}  // namespace

Style StdoutStyle() { return StyleOf(STDOUT_FILENO); }
Style StderrStyle() { return StyleOf(STDERR_FILENO); }

int TerminalColumns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string Paint(Colour colour, std::string_view text, Style style) {
  if (!style.colour || colour == Colour::kNone) return std::string(text);
  const char* code = "";
  switch (colour) {
    case Colour::kNone:
      break;
    case Colour::kRed:
      code = "\x1b[31m";
      break;
    case Colour::kGreen:
      code = "\x1b[32m";
      break;
    case Colour::kYellow:
      code = "\x1b[33m";
      break;
    case Colour::kBlue:
      code = "\x1b[34m";
      break;
    case Colour::kDim:
      code = "\x1b[2m";
      break;
    case Colour::kBold:
      code = "\x1b[1m";
      break;
  }
  return code + std::string(text) + "\x1b[0m";
}

Colour ColourOfState(std::string_view state) {
  if (state == "done" || state == "connected") return Colour::kGreen;
  if (state == "failed") return Colour::kRed;
  if (state == "cancelled" || state == "skipped" || state == "away") return Colour::kDim;
  if (state == "paused" || state == "retrying" || state == "draining") return Colour::kYellow;
  if (state == "active" || state == "running") return Colour::kBlue;
  return Colour::kNone;
}

std::string Visible(std::string_view text) { return Clean(text, false); }
std::string VisibleLines(std::string_view text) { return Clean(text, true); }

std::string TimeText(std::optional<std::int64_t> at_ms) {
  if (!at_ms || *at_ms == 0) return "-";
  const auto seconds = static_cast<std::time_t>(*at_ms / 1000);
  std::tm local{};
  char text[32];
  if (::localtime_r(&seconds, &local) == nullptr) return std::to_string(*at_ms);
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local));
}

std::string AgeText(std::int64_t at_ms, std::int64_t now_ms) {
  // Whole seconds: what is shown of an age should not flicker.
  const std::int64_t seconds = std::max<std::int64_t>(0, now_ms - at_ms) / 1000;
  return seconds == 0 ? "now" : FormatDuration(std::chrono::seconds(seconds));
}

std::int64_t NowMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string Joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out.append(separator);
    out.append(word);
  }
  return out;
}

std::string Table::Text(Style style) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(Width(column.title));
  std::vector<std::vector<std::string>> shown;
  for (const auto& row : rows_) {
    auto& cells = shown.emplace_back();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      cells.push_back(i < row.size() ? Visible(row[i]) : std::string());
      widths[i] = std::max(widths[i], Width(cells.back()));
    }
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells, bool title) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool last = i + 1 == columns_.size();
      const std::string pad(widths[i] - Width(cells[i]), ' ');
      if (columns_[i].right) out += pad;
      if (title) {
        out += Paint(Colour::kBold, cells[i], style);
      } else {
        out += Paint(state_column_ == i ? ColourOfState(cells[i]) : Colour::kNone, cells[i], style);
      }
      if (!columns_[i].right && !last) out += pad;
      if (!last) out += "  ";
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  line(titles, true);
  for (const auto& cells : shown) line(cells, false);
  return out;
}

std::string Fields(const std::vector<std::pair<std::string, std::string>>& fields, Style style) {
  std::size_t width = 0;
  for (const auto& [name, value] : fields) {
    if (!value.empty()) width = std::max(width, Width(name));
  }
  std::string out;
  for (const auto& [name, value] : fields) {
    if (value.empty()) continue;
    const std::string shown = Visible(value);
    out += Paint(Colour::kDim, name, style) + std::string(width - Width(name) + 2, ' ');
    out += Paint(name == "state" ? ColourOfState(shown) : Colour::kNone, shown, style) + "\n";
  }
  return out;
}

}  // namespace allot::cli

// SPDX-License-Identifier: Apache-2.0
// Printing for people: tables, times, colours; and text from strangers made harmless.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot::cli {

enum class Format { kTable, kJson, kNdjson, kId };

enum class Colour { kNone, kRed, kGreen, kYellow, kBlue, kDim, kBold };

// What a stream can show.
struct Style {
  bool terminal = false;
  bool colour = false;  // a terminal, and neither NO_COLOR nor TERM=dumb
};
Style StdoutStyle();
Style StderrStyle();
// Columns of the terminal behind stderr; 80 if there is none.
int TerminalColumns();

std::string Paint(Colour colour, std::string_view text, Style style);
Colour ColourOfState(std::string_view state);

// Without control characters, escape sequences' beginnings and marks that turn the direction of text: names come from
// strangers. Tabs and line ends become blanks.
std::string Visible(std::string_view text);
// The same, but tabs and line ends stay: results of several lines.
std::string VisibleLines(std::string_view text);

// `2026-11-15 21:00:05`, in local time; `-` for none.
std::string TimeText(std::optional<std::int64_t> at_ms);
// How long ago, as of `now_ms`: `5s`, `2m 05s`.
std::string AgeText(std::int64_t at_ms, std::int64_t now_ms);
std::int64_t NowMillis();
std::string Joined(const std::vector<std::string>& words, std::string_view separator = ",");

// Columns as wide as their widest cell. Cells are made Visible(); the last column is not padded.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as columns. Those of the state column are coloured.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void ColourStates(std::size_t column) { state_column_ = column; }
  std::string Text(Style style) const;
  bool empty() const { return rows_.empty(); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::optional<std::size_t> state_column_;
};

// `name   value` lines, aligned; empty values are left out.
std::string Fields(const std::vector<std::pair<std::string, std::string>>& fields, Style style);

}  // namespace allot::cli

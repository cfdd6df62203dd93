// SPDX-License-Identifier: Apache-2.0
// The tables of `allot top`: what each tab has in which column, sorted and filtered as it was chosen.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/top/grid.h"
#include "cli/top/model.h"

namespace allot::cli::top {

// A stretch of a bar.
struct BarPart {
  double amount = 0;
  const char* glyph = "█";  // differs, so that bars can be read without colours
  Look look = {};
};

struct Field {
  std::string text = {};
  Look look = {};
  std::optional<double> number = {};  // sorts by it; otherwise by the text
  std::vector<BarPart> bar = {};      // in place of the text
  double mark = -1;                   // 0 … 1: where a line stands in the bar
};

struct Column {
  std::string_view key;  // for --sort
  std::string_view title;
  int least = 4, most = 16;
  int keep = 0;  // where there is no room for all, those with the lowest go first
  bool right = false;
  bool downward = false;  // sorted from the largest, unless reversed
  bool whole = false;     // never cut: ids are alike in their first half
};

struct Line {
  std::string id;
  std::vector<Field> fields;  // as many as columns
  // For filters.
  std::string state = {}, user = {};
  std::vector<std::string> tags = {};
};

struct Table {
  std::span<const Column> columns;
  std::vector<Line> lines;
  bool more = false;  // there is a page behind
};

std::span<const Column> ColumnsOfTab(Tab tab);
// The tab's rows.
Table BuildTable(const Model& model);

// Widths of the columns within `width`, with a blank between them; 0: left out.
std::vector<int> ColumnWidths(const Table& table, int width, bool unicode);
// Draws a bar of `columns` cells: whatever is there at all is seen, and all parts together fill it.
void PutBar(Grid& grid, int row, int column, int columns, const Field& field, Look over);

// A job by its id, on this page.
const allotter::Job* FindJob(const Model& model, const std::string& id);
const allotter::WorkerInfo* FindWorker(const Model& model, const std::string& id);

// `12.5`, `1,204`, `1.2M`: at most six characters.
std::string ShortNumber(double number);
Look LookOfState(std::string_view state);

}  // namespace allot::cli::top

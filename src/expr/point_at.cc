// SPDX-License-Identifier: Apache-2.0
// Where in a text a mistake is, for people.
#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "expr/expr.h"

namespace allot::expr {
namespace {

constexpr std::size_t kColumns = 100;   // of the text; more is cut
constexpr std::size_t kBefore = 64;     // of them, before the place
constexpr std::size_t kMaxLook = 1024;  // bytes on either side that are looked at

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The columns that a character takes on a terminal: none for marks that join the one before, two for the wide scripts
// of East Asia and for pictures.
std::size_t Width(std::uint32_t code) {
  struct Range {
    std::uint32_t first, last;
    std::size_t width;
  };
  static constexpr Range kRanges[] = {
      {0x0300, 0x036f, 0},   {0x200b, 0x200f, 0},   {0x202a, 0x202e, 0},   {0x2060, 0x2069, 0},   {0x20d0, 0x20ff, 0},
      {0xfe00, 0xfe0f, 0},   {0xfe20, 0xfe2f, 0},   {0xfeff, 0xfeff, 0},   {0x1100, 0x115f, 2},   {0x2e80, 0xa4cf, 2},
      {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
      {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
  };
  for (const Range& range : kRanges) {
    if (code >= range.first && code <= range.last) return range.width;
  }
  return 1;
}

struct Cell {
  std::string_view text;
  std::size_t offset = 0, width = 1;
};

// Character by character, with blanks for tabs and control characters, `?` for bytes that are no UTF-8.
std::vector<Cell> Cells(std::string_view line, std::size_t offset) {
  std::vector<Cell> cells;
  for (std::size_t at = 0; at < line.size();) {
    const auto lead = static_cast<unsigned char>(line[at]);
    std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    Cell cell{line.substr(at, length), offset + at, 1};
    if (!IsUtf8(cell.text)) {
      length = 1;
      cell.text = "?";
    } else if (lead < 0x20 || lead == 0x7f) {
      cell.text = " ";
    } else if (lead >= 0x80) {
      std::uint32_t code = lead & (0xff >> (length + 1));
      for (const char c : cell.text.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3f);
      cell.width = Width(code);
      // C1 controls, and what turns the direction of text: they would move the caret, or hide the place.
      if (code < 0xa0 || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)) {
        cell.text = " ";
        cell.width = 1;
      }
    }
    cells.push_back(cell);
    at += length;
  }
  return cells;
}

}  // namespace

std::string PointAt(std::string_view label, std::string_view text, const ParseError& error) {
  const std::size_t place = std::min(error.offset, text.size());
  // Its line, or as much of it as can matter.
  std::size_t begin = place, end = place;
  while (begin > 0 && place - begin < kMaxLook && text[begin - 1] != '\n') --begin;
  while (end < text.size() && end - place < kMaxLook && text[end] != '\n') ++end;
  while (begin < place && Continues(text[begin])) ++begin;
  while (end < text.size() && end > place && Continues(text[end])) --end;
  bool cut_left = begin > 0, cut_right = end < text.size();
  std::vector<Cell> cells = Cells(text.substr(begin, end - begin), begin);

  std::size_t at = 0;  // the cell of the place
  while (at < cells.size() && cells[at].offset + 1 <= place &&
         (at + 1 < cells.size() ? cells[at + 1].offset : end) <= place)
    ++at;
  std::size_t first = 0, last = cells.size(), columns = 0;
  for (const Cell& cell : cells) columns += cell.width;
  if (columns > kColumns) {
    std::size_t before = 0;
    for (first = at; first > 0 && before + cells[first - 1].width <= kBefore; --first) before += cells[first - 1].width;
    std::size_t shown = before;
    for (last = at; last < cells.size() && shown + cells[last].width <= kColumns; ++last) shown += cells[last].width;
    cut_left = cut_left || first > 0;
    cut_right = cut_right || last < cells.size();
  }

  std::string line, caret;
  for (const Cell& cell : Cells(label, 0)) {
    line.append(cell.text);
    caret.append(cell.width, ' ');
  }
  if (!label.empty()) {
    line.append(": ");
    caret.append("  ");
  }
  if (cut_left) {
    line.append("…");
    caret.push_back(' ');
  }
  for (std::size_t i = first; i < last; ++i) {
    line.append(cells[i].text);
    if (i < at) caret.append(cells[i].width, ' ');
  }
  if (cut_right) line.append("…");
  return line + "\n" + caret + "^ " + error.message;
}

}  // namespace allot::expr

// SPDX-License-Identifier: Apache-2.0
#include "cli/top/grid.h"

#include <wchar.h>

#include <algorithm>

#include "cli/text/output.h"

namespace allot::cli::top {
namespace {

constexpr std::size_t kMostMarks = 3;      // upon one character; a terminal's cell holds few
constexpr int kMostTextColumns = 100'000;  // of one text, whatever a stranger sends

struct Plain {
  char32_t drawn;
  char instead;
};
constexpr Plain kPlain[] = {{U'█', '#'}, {U'▓', 'x'}, {U'▒', '='}, {U'░', '.'}, {U'▁', '_'}, {U'▂', '.'}, {U'▃', '-'},
                            {U'▄', '='}, {U'▅', '+'}, {U'▆', '*'}, {U'▇', '%'}, {U'│', '|'}, {U'─', '-'}, {U'┌', '+'},
                            {U'┐', '+'}, {U'└', '+'}, {U'┘', '+'}, {U'…', '~'}, {U'·', '.'}, {U'▲', '^'}, {U'▼', 'v'},
                            {U'→', '>'}, {U'←', '<'}, {U'↑', '^'}, {U'↓', 'v'}, {U'–', '-'}, {U'’', '\''}};

char32_t InAscii(char32_t c) {
  if (c < 0x7F) return c;
  for (const Plain& plain : kPlain) {
    if (plain.drawn == c) return static_cast<char32_t>(plain.instead);
  }
  return U'?';
}

// Shapes its neighbours, and takes no column by itself: terminals disagree on what becomes of it.
bool Joins(char32_t c) {
  return c == 0xAD || (c >= 0x200B && c <= 0x200D) || (c >= 0x2060 && c <= 0x206F) || (c >= 0xFE00 && c <= 0xFE0F) ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE0FFF);
}

// Of text that is Visible(), and so UTF-8 but for code points that there are not.
char32_t Decode(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t lead = byte(at);
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (at + length > text.size()) {
    at = text.size();
    return 0xFFFD;
  }
  char32_t c = length == 1 ? lead : lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) c = c << 6 | (byte(at + i) & 0x3F);
  at += length;
  return c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF) ? U'\xFFFD' : c;
}

}  // namespace

std::string Utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) {
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      out.push_back(static_cast<char>(0xC0 | c >> 6));
      out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
    } else if (c < 0x10000) {
      out.push_back(static_cast<char>(0xE0 | c >> 12));
      out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
      out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
    } else {
      out.push_back(static_cast<char>(0xF0 | c >> 18));
      out.push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
      out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
      out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
    }
  }
  return out;
}

std::vector<Glyph> Glyphs(std::string_view text, bool unicode) {
  const std::string visible = Visible(text);
  std::vector<Glyph> out;
  for (std::size_t at = 0; at < visible.size() && out.size() < kMostTextColumns;) {
    char32_t c = Decode(visible, at);
    if (Joins(c)) continue;
    if (!unicode) {
      out.push_back({std::u32string(1, InAscii(c)), 1});
      continue;
    }
    int columns = c < 0x7F ? 1 : ::wcwidth(static_cast<wchar_t>(c));
    if (columns < 0) {
      c = U'\xFFFD';
      columns = 1;
    }
    if (columns > 0) {
      out.push_back({std::u32string(1, c), columns});
    } else if (!out.empty() && out.back().text.size() <= kMostMarks) {
      out.back().text.push_back(c);
    }
  }
  return out;
}

int ColumnsOf(std::string_view text, bool unicode) {
  int columns = 0;
  for (const Glyph& glyph : Glyphs(text, unicode)) columns += glyph.columns;
  return columns;
}

Grid::Grid(int width, int height, bool unicode)
    : width_(std::max(1, width)),
      height_(std::max(1, height)),
      unicode_(unicode),
      cells_(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_)) {}

int Grid::Put(int row, int column, std::string_view text, Look look, int columns) {
  if (row < 0 || row >= height_ || column < 0 || column >= width_) return 0;
  columns = std::min(columns, width_ - column);
  if (columns <= 0) return 0;
  std::vector<Glyph> glyphs = Glyphs(text, unicode_);
  int all = 0;
  for (const Glyph& glyph : glyphs) all += glyph.columns;
  if (all > columns) {
    while (!glyphs.empty() && all > columns - 1) {
      all -= glyphs.back().columns;
      glyphs.pop_back();
    }
    glyphs.push_back({unicode_ ? U"…" : U"~", 1});
  }
  int used = 0;
  // Never half of a wide character that stood here before.
  if (At(row, column).text.empty()) At(row, column - 1).text = U" ";
  for (Glyph& glyph : glyphs) {
    Cell& cell = At(row, column + used);
    cell.text = std::move(glyph.text);
    cell.look = look;
    if (glyph.columns == 2) {
      At(row, column + used + 1).text.clear();
      At(row, column + used + 1).look = look;
    }
    used += glyph.columns;
  }
  if (column + used < width_ && At(row, column + used).text.empty()) At(row, column + used).text = U" ";
  return used;
}

void Grid::PutRight(int row, int end, std::string_view text, Look look, int columns) {
  const int taken = std::min(ColumnsOf(text, unicode_), columns);
  Put(row, std::max(0, end - taken), text, look, std::min(taken, end));
}

void Grid::Fill(int row, int column, int columns, Look look) {
  if (row < 0 || row >= height_ || column < 0 || column >= width_ || columns <= 0) return;
  Put(row, column, std::string(static_cast<std::size_t>(std::min(columns, width_ - column)), ' '), look);
}

void Grid::Repaint(int row, Look look) {
  if (row < 0 || row >= height_) return;
  for (int column = 0; column < width_; ++column) At(row, column).look = look;
}

std::string Grid::Row(int row, bool colour) const {
  int end = width_;
  while (end > 0 && At(row, end - 1).text == U" " && (!colour || At(row, end - 1).look == Look{})) --end;
  std::string out;
  Look now;
  const auto become = [&](Look look) {
    if (!colour || look == now) return;
    now = look;
    out += "\x1b[0";
    if (look.bold) out += ";1";
    if (look.dim) out += ";2";
    if (look.reverse) out += ";7";
    constexpr const char* kInks[] = {"", ";31", ";32", ";33", ";34", ";36"};
    out += kInks[static_cast<std::size_t>(look.ink)];
    out += "m";
  };
  for (int column = 0; column < end; ++column) {
    const Cell& cell = At(row, column);
    become(cell.look);
    out += Utf8(cell.text);
  }
  become({});
  return out;
}

std::string Grid::Text(bool colour) const {
  std::string out;
  for (int row = 0; row < height_; ++row) out += Row(row, colour) + "\n";
  return out;
}

}  // namespace allot::cli::top

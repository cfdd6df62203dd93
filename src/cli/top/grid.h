// SPDX-License-Identifier: Apache-2.0
// A screen's worth of cells, filled without a terminal.
//
// Every text is made Visible() first, and laid out by the columns that its characters take: a wide one has two cells, a
// mark that combines shares one with what it marks. Where the locale is not UTF-8 all becomes ASCII: what is drawn with
// blocks and lines has a letter that stands for it, anything else is a question mark.
// Threading: none. Widths are those of the locale (LC_CTYPE), which must have been set where `unicode` is true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace allot::cli::top {

enum class Ink : std::uint8_t { kPlain, kRed, kGreen, kYellow, kBlue, kCyan };

struct Look {
  Ink ink = Ink::kPlain;
  bool bold = false, dim = false, reverse = false;
  bool operator==(const Look&) const = default;
};
inline constexpr Look kDim{.dim = true};

struct Cell {
  std::u32string text = U" ";  // a character, and marks upon it; empty: the right half of the wide one before it
  Look look = {};
};

// The text's characters, each with the columns that it takes.
struct Glyph {
  std::u32string text;
  int columns = 1;
};
std::vector<Glyph> Glyphs(std::string_view text, bool unicode);
// Columns that it takes on a screen.
int ColumnsOf(std::string_view text, bool unicode);

class Grid {
 public:
  Grid(int width, int height, bool unicode);
  int width() const { return width_; }
  int height() const { return height_; }
  bool unicode() const { return unicode_; }

  // Puts the text at that place, within `columns` and the screen; what is longer is cut, and ends in `…`. Returns the
  // columns that it took. Places outside are allowed, and show nothing.
  int Put(int row, int column, std::string_view text, Look look = {}, int columns = std::numeric_limits<int>::max());
  // The same, ending at the column before `end`.
  void PutRight(int row, int end, std::string_view text, Look look = {}, int columns = std::numeric_limits<int>::max());
  // Blanks with that look.
  void Fill(int row, int column, int columns, Look look = {});
  // Changes how a whole row looks, leaving its text.
  void Repaint(int row, Look look);
  Cell& At(int row, int column) { return cells_[Place(row, column)]; }
  const Cell& At(int row, int column) const { return cells_[Place(row, column)]; }

  // A line for each row, without blanks at its end; with escape sequences, if it is to be in colour.
  std::string Text(bool colour = false) const;
  std::string Row(int row, bool colour = false) const;

 private:
  std::size_t Place(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(column);
  }

  int width_, height_;
  bool unicode_;
  std::vector<Cell> cells_;
};

std::string Utf8(std::u32string_view text);

}  // namespace allot::cli::top

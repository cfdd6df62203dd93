// SPDX-License-Identifier: Apache-2.0
#include "cli/top/render.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/text/output.h"
#include "cli/top/tables.h"

namespace allot::cli::top {
namespace {

constexpr Look kBold{.bold = true};
constexpr Look kReverse{.reverse = true};
constexpr int kTileColumns = 16;
constexpr std::size_t kSparkColumns = 8;
constexpr int kTallEnoughForTiles = 18;  // below, they are one line
constexpr int kTallEnoughForBoth = 24;   // below, one row of them
constexpr int kMostOverlayColumns = 110;

struct Tile {
  std::string label, value;
  std::string spark = {};
  Look look = kBold;
};

// Where the parts of the screen stand.
struct Layout {
  std::vector<Tile> tiles;
  int tile_rows = 0;  // rows of tiles, of two lines each; 0: one line
  int tiles_across = 1;
  int banners = 0;
  int tabs = 0;  // the row of these
  int rows = 0;  // for the table, without its head
  int overlay_column = 0, overlay_row = 0, overlay_columns = 0, overlay_rows = 0;
};

std::string Many(std::uint64_t number) {
  return number < 100 ? FormatCount(number) : ShortNumber(static_cast<double>(number));
}

std::string Rate(double per_second) { return ShortNumber(per_second) + "/s"; }

std::vector<Tile> Tiles(const Model& model) {
  std::vector<Tile> tiles;
  if (!model.overview) return tiles;
  const allotter::Overview& o = *model.overview;
  const allotter::History none;
  const allotter::History& h = model.history ? *model.history : none;
  const auto spark = [](const std::vector<std::uint64_t>& numbers) { return Sparkline(numbers, kSparkColumns); };
  tiles.push_back({"done", Rate(o.rates.done), spark(h.done)});
  tiles.push_back({"queued", Many(o.queue.tasks_queued), spark(h.queued)});
  tiles.push_back({"running", Many(o.queue.tasks_running), spark(h.running)});
  tiles.push_back({"failed", Rate(o.rates.failed), spark(h.failed),
                   o.rates.failed > 0 ? Look{.ink = Ink::kRed, .bold = true} : kBold});
  tiles.push_back({"oldest waits", o.oldest_waiting ? AgeText(o.oldest_waiting->since_at_ms, model.now_ms) : "-"});
  std::string workers = FormatCount(o.workers.registered);
  if (o.workers.draining > 0) workers += fmt::format(" {} drain", o.workers.draining);
  if (o.workers.away > 0) workers += fmt::format(" {} away", o.workers.away);
  tiles.push_back(
      {"workers", workers, {}, o.workers.registered == 0 ? Look{.ink = Ink::kYellow, .bold = true} : kBold});
  tiles.push_back({"slots in use", fmt::format("{}/{}", FormatCount(o.workers.busy), FormatCount(o.workers.slots))});
  tiles.push_back({"retrying", Many(o.queue.tasks_retrying), spark(h.retrying)});
  tiles.push_back({"started", Rate(o.rates.started), spark(h.started)});
  tiles.push_back({"submitted", Rate(o.rates.submitted), spark(h.submitted)});
  tiles.push_back({"failed jobs", Many(o.queue.jobs_failed)});
  return tiles;
}

Layout Plan(const Model& model, Size size) {
  Layout plan;
  plan.tiles = Tiles(model);
  plan.tiles_across = std::max(1, size.width / kTileColumns);
  if (size.height >= kTallEnoughForTiles) {
    const int all = (static_cast<int>(plan.tiles.size()) + plan.tiles_across - 1) / plan.tiles_across;
    plan.tile_rows = std::clamp(all, 1, size.height >= kTallEnoughForBoth ? 2 : 1);
  }
  int row = 1 + (plan.tile_rows > 0 ? 2 * plan.tile_rows : size.height >= 6 ? 1 : 0);
  if (model.overview && size.height >= 10) {
    plan.banners =
        std::min(static_cast<int>(model.overview->banners.size()), size.height >= kTallEnoughForBoth ? 3 : 1);
  }
  plan.tabs = row + plan.banners;
  plan.rows = std::max(0, size.height - plan.tabs - 3);  // itself, the head of the table, the status
  const bool small = size.width < 60 || size.height < 16;
  plan.overlay_columns = std::min(size.width - (small ? 0 : 4), kMostOverlayColumns);
  plan.overlay_rows = std::max(1, size.height - (small ? 1 : 4));
  plan.overlay_column = (size.width - plan.overlay_columns) / 2;
  plan.overlay_row = small ? 0 : 2;
  return plan;
}

// Lines of at most so many columns, broken at blanks where there are any; what hangs over is indented.
std::vector<std::string> Wrapped(const std::vector<std::string>& text, int columns, bool unicode) {
  std::vector<std::string> out;
  columns = std::max(columns, 8);
  for (const std::string& line : text) {
    std::vector<Glyph> glyphs = Glyphs(line, unicode);
    std::size_t at = 0;
    bool first = true;
    do {
      const int indent = first ? 0 : 2;
      int used = indent;
      std::size_t end = at, blank = 0;
      while (end < glyphs.size() && used + glyphs[end].columns <= columns) {
        used += glyphs[end].columns;
        if (glyphs[end].text == U" ") blank = end;
        ++end;
      }
      if (end < glyphs.size() && blank > at) end = blank;
      std::string piece(static_cast<std::size_t>(indent), ' ');
      for (std::size_t i = at; i < end; ++i) piece += Utf8(glyphs[i].text);
      out.push_back(std::move(piece));
      at = std::max(end, at + 1);
      if (end >= glyphs.size()) break;
      while (at < glyphs.size() && glyphs[at].text == U" ") ++at;
      first = false;
    } while (at < glyphs.size());
  }
  return out;
}

std::string ClockText(std::int64_t now_ms) {
  const auto seconds = static_cast<std::time_t>(now_ms / 1000);
  std::tm local{};
  char text[16];
  if (::localtime_r(&seconds, &local) == nullptr) return "";
  return std::string(text, std::strftime(text, sizeof text, "%H:%M:%S", &local));
}

void Header(const Model& model, Grid& grid) {
  grid.Fill(0, 0, grid.width(), kReverse);
  std::string state = model.connection == Connection::kLive   ? "live"
                      : model.connection == Connection::kLost ? "no connection"
                                                              : "connecting";
  if (model.frozen) state = "frozen";
  const std::string right = ClockText(model.now_ms) + "  " + state + " ";
  const int end = grid.width() - ColumnsOf(right, grid.unicode());
  int at = grid.Put(0, 0, " allot top", {.bold = true, .reverse = true});
  at += grid.Put(0, at, "  queue " + model.queue, kReverse, end - at - 1);
  if (model.overview && model.overview->queue.paused)
    at += grid.Put(0, at, "  PAUSED", {.ink = Ink::kYellow, .bold = true, .reverse = true}, end - at - 1);
  if (end - at > 12) grid.Put(0, at, "  " + model.server, kReverse, end - at - 1);
  const Ink ink = model.connection == Connection::kLost ? Ink::kRed : model.frozen ? Ink::kYellow : Ink::kPlain;
  grid.PutRight(0, grid.width(), right, {.ink = ink, .reverse = true});
}

void PutTiles(const Layout& plan, Size size, Grid& grid) {
  if (plan.tile_rows == 0) {
    if (size.height < 6) return;
    int at = 0;
    for (const Tile& tile : plan.tiles) {
      const std::string label = tile.label + " ";
      const int wanted = ColumnsOf(label, grid.unicode()) + ColumnsOf(tile.value, grid.unicode());
      if (at + wanted + 2 > grid.width()) break;
      at += grid.Put(1, at, label, kDim);
      at += grid.Put(1, at, tile.value, tile.look) + 2;
    }
    return;
  }
  const int columns = grid.width() / plan.tiles_across;
  for (std::size_t i = 0; i < plan.tiles.size(); ++i) {
    const int across = static_cast<int>(i) % plan.tiles_across, down = static_cast<int>(i) / plan.tiles_across;
    if (down >= plan.tile_rows) break;
    const Tile& tile = plan.tiles[i];
    const int row = 1 + 2 * down, column = across * columns + 1;
    grid.Put(row, column, tile.label, kDim, columns - 2);
    const int used = grid.Put(row + 1, column, tile.value, tile.look, columns - 2);
    const int left = columns - 3 - used;
    if (left > 0 && !tile.spark.empty()) {
      const int spark = ColumnsOf(tile.spark, grid.unicode());
      // The newest is on the right: what does not fit is cut on the left.
      const auto glyphs = Glyphs(tile.spark, true);
      std::string shown;
      for (std::size_t k = static_cast<std::size_t>(std::max(0, spark - left)); k < glyphs.size(); ++k)
        shown += Utf8(glyphs[k].text);
      grid.Put(row + 1, column + used + 1, shown, {.ink = Ink::kCyan}, left);
    }
  }
}

void PutBanners(const Model& model, const Layout& plan, Grid& grid) {
  for (int i = 0; i < plan.banners; ++i) {
    const auto& banner = model.overview->banners[static_cast<std::size_t>(i)];
    const Ink ink = banner.level == "error" ? Ink::kRed : banner.level == "warning" ? Ink::kYellow : Ink::kCyan;
    const int row = plan.tabs - plan.banners + i;
    std::string text = "! " + banner.message;
    if (!banner.hint.empty()) text += "  (" + banner.hint + ")";
    const auto hidden = model.overview->banners.size() - static_cast<std::size_t>(plan.banners);
    if (i + 1 == plan.banners && hidden > 0) text += fmt::format("  and {} more", hidden);
    grid.Put(row, 0, text, {.ink = ink, .bold = true});
  }
}

void PutTabs(const Model& model, const Table& table, const Layout& plan, Grid& grid) {
  int at = 0;
  for (std::size_t i = 0; i < kTabs; ++i) {
    const bool chosen = static_cast<std::size_t>(model.tab) == i;
    std::string name(kTabNames[i]);
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
    // Where there is little room, only the chosen one has its name.
    if (grid.width() < 60 && !chosen) name = name.substr(0, 1);
    at += grid.Put(plan.tabs, at, fmt::format(" {} {} ", i + 1, name),
                   chosen ? Look{.bold = true, .reverse = true} : kDim);
  }
  const TabState& state = model.state();
  std::string notes;
  if (!state.filter.text.empty()) notes += "  /" + state.filter.text;
  if (!state.pages.empty()) notes += fmt::format("  page {}", state.pages.size() + 1);
  if (table.more) notes += "  + older";
  if (table.more && model.tab != Tab::kJobs) notes.replace(notes.size() - 7, 7, "  + more");
  grid.Put(plan.tabs, at + 1, notes, {.ink = Ink::kCyan});
}

void PutTable(const Model& model, const Table& table, const Layout& plan, Grid& grid) {
  const std::vector<int> widths = ColumnWidths(table, grid.width(), grid.unicode());
  const TabState& state = model.state();
  const int head = plan.tabs + 1;
  const auto each = [&](const auto& put) {
    int at = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] == 0) continue;
      put(i, at);
      at += widths[i] + 1;
    }
  };
  each([&](std::size_t i, int at) {
    std::string title(table.columns[i].title);
    if (state.sort == static_cast<int>(i)) title += table.columns[i].downward != state.reverse ? "▼" : "▲";
    if (table.columns[i].right) {
      grid.PutRight(head, at + widths[i], title, kBold, widths[i]);
    } else {
      grid.Put(head, at, title, kBold, widths[i]);
    }
  });
  if (table.lines.empty()) {
    const bool there = model.tab == Tab::kJobs      ? model.jobs.has_value()
                       : model.tab == Tab::kWorkers ? model.workers.has_value()
                       : model.tab == Tab::kUsers   ? model.users.has_value()
                       : model.tab == Tab::kLimits  ? model.limits.has_value()
                                                    : model.overview.has_value();
    std::string text = there ? "none" : "…";
    if (model.tab == Tab::kReasons && there) text = "nothing waits";
    if (there && !state.filter.text.empty()) text += " that the filter finds";
    if (!state.refused.empty()) text = state.refused;
    grid.Put(head + 1, 1, text, state.refused.empty() ? kDim : Look{.ink = Ink::kRed});
    return;
  }
  for (int k = 0; k < plan.rows; ++k) {
    const std::size_t index = state.top + static_cast<std::size_t>(k);
    if (index >= table.lines.size()) break;
    const Line& line = table.lines[index];
    const bool chosen = line.id == state.selected;
    const int row = head + 1 + k;
    if (chosen) grid.Fill(row, 0, grid.width(), kReverse);
    each([&](std::size_t i, int at) {
      const Field& field = line.fields[i];
      Look look = field.look;
      look.reverse = chosen;
      if (!field.bar.empty()) {
        PutBar(grid, row, at, widths[i], field, look);
      } else if (table.columns[i].right) {
        grid.PutRight(row, at + widths[i], field.text, look, widths[i]);
      } else {
        grid.Put(row, at, field.text, look, widths[i]);
      }
    });
  }
}

void PutStatus(const Model& model, const Table& table, const Layout& plan, Grid& grid) {
  const int row = grid.height() - 1;
  if (model.confirm) {
    grid.Put(row, 0, model.question + " y/N", {.ink = Ink::kYellow, .bold = true});
    return;
  }
  if (model.typing) {
    // The end is what is being typed.
    const std::string text = "/" + *model.typing;
    const int columns = ColumnsOf(text, grid.unicode());
    const auto glyphs = Glyphs(text, grid.unicode());
    std::string shown;
    int skip = std::max(0, columns - (grid.width() - 1));
    for (const Glyph& glyph : glyphs) {
      if (skip > 0) {
        skip -= glyph.columns;
      } else {
        shown += Utf8(glyph.text);
      }
    }
    const int at = grid.Put(row, 0, shown, kBold);
    grid.Put(row, at, " ", kReverse);
    return;
  }
  // That nothing is new goes before what was done, and not before what went wrong.
  if (model.connection == Connection::kLost && !model.status_bad) {
    grid.Put(row, 0, model.lost_why + "; trying again", {.ink = Ink::kRed, .bold = true});
    return;
  }
  if (!model.status.empty()) {
    grid.Put(row, 0, model.status, model.status_bad ? Look{.ink = Ink::kRed, .bold = true} : kBold);
    return;
  }
  const char* keys = model.tab == Tab::kJobs ? "q quit  ? help  s sort  / filter  e explain  p pause  c cancel  Q queue"
                     : model.tab == Tab::kWorkers ? "q quit  ? help  s sort  / filter  e explain  d drain  Q queue"
                     : model.tab == Tab::kReasons ? "q quit  ? help  s sort  / filter  e explain the example  Q queue"
                                                  : "q quit  ? help  s sort  / filter  Q queue";
  std::string place;
  if (table.lines.size() > static_cast<std::size_t>(plan.rows) && plan.rows > 0) {
    const std::size_t last = std::min(table.lines.size(), model.state().top + static_cast<std::size_t>(plan.rows));
    place = fmt::format("{}-{} of {}", model.state().top + 1, last, table.lines.size());
  }
  grid.Put(row, 0, keys, kDim, grid.width() - ColumnsOf(place, grid.unicode()) - 1);
  if (!place.empty()) grid.PutRight(row, grid.width(), place, kDim);
}

std::vector<std::string> OverlayLines(const Model& model, const Layout& plan) {
  return Wrapped(OverlayText(model), plan.overlay_columns - 4, model.unicode);
}

void PutOverlay(const Model& model, const Layout& plan, Grid& grid) {
  const int left = plan.overlay_column, right = left + plan.overlay_columns - 1;
  const int top = plan.overlay_row, bottom = top + plan.overlay_rows - 1;
  std::string title = model.overlay == Overlay::kHelp     ? " keys "
                      : model.overlay == Overlay::kQueues ? " queues "
                      : model.overlay == Overlay::kJob    ? " job " + model.overlay_id + " "
                                                          : " worker " + model.overlay_id + " ";
  const std::vector<std::string> lines = OverlayLines(model, plan);
  const int inside = plan.overlay_rows - 2;
  std::string edge;
  for (int i = 0; i < plan.overlay_columns - 2; ++i) edge += "─";
  for (int row = top; row <= bottom; ++row) {
    grid.Fill(row, left, plan.overlay_columns);
    if (row == top || row == bottom) {
      grid.Put(row, left, (row == top ? "┌" : "└") + edge + (row == top ? "┐" : "┘"), kDim, plan.overlay_columns);
    } else {
      grid.Put(row, left, "│", kDim);
      grid.Put(row, right, "│", kDim);
    }
  }
  grid.Put(top, left + 2, title, kBold, plan.overlay_columns - 4);
  for (int i = 0; i < inside; ++i) {
    const std::size_t index = model.overlay_top + static_cast<std::size_t>(i);
    if (index >= lines.size()) break;
    const std::string& line = lines[index];
    Look look;
    if (line.starts_with("verdict:") || line.starts_with("> ")) look = kBold;
    if (line.starts_with("error:")) look = {.ink = Ink::kRed};
    grid.Put(top + 1 + i, left + 2, line, look, plan.overlay_columns - 4);
  }
  std::string foot = " Escape closes ";
  if (static_cast<int>(lines.size()) > inside) {
    foot = fmt::format(" {}-{} of {}  ↑ ↓  Escape closes ", model.overlay_top + 1,
                       std::min(lines.size(), model.overlay_top + static_cast<std::size_t>(inside)), lines.size());
  }
  if (model.overlay == Overlay::kQueues) foot = " Enter chooses  Escape closes ";
  grid.PutRight(bottom, right - 1, foot, kDim, plan.overlay_columns - 4);
}

}  // namespace

std::string Sparkline(const std::vector<std::uint64_t>& numbers, std::size_t columns) {
  constexpr const char* kSteps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t n = std::min(columns, numbers.size());
  if (n == 0) return "";
  const auto* const begin = numbers.data() + (numbers.size() - n);
  const std::uint64_t most = *std::max_element(begin, begin + n);
  std::string out;
  for (std::size_t i = 0; i < n; ++i) {
    const double part = most == 0 ? 0 : static_cast<double>(begin[i]) / static_cast<double>(most);
    out += kSteps[static_cast<std::size_t>(std::lround(part * 7))];
  }
  return out;
}

void Settle(Model& model, Size size) {
  const Layout plan = Plan(model, size);
  model.table_rows = static_cast<std::size_t>(plan.rows);
  TabState& state = model.state();
  const Table table = BuildTable(model);
  const std::size_t n = table.lines.size();
  const auto found =
      std::find_if(table.lines.begin(), table.lines.end(), [&](const Line& line) { return line.id == state.selected; });
  if (n == 0) {
    state.at = state.top = 0;
  } else {
    // What was chosen is gone: what now stands in its place.
    state.at =
        found != table.lines.end() ? static_cast<std::size_t>(found - table.lines.begin()) : std::min(state.at, n - 1);
    state.selected = table.lines[state.at].id;
    if (state.at < state.top) state.top = state.at;
    if (model.table_rows > 0 && state.at >= state.top + model.table_rows) state.top = state.at + 1 - model.table_rows;
    state.top = std::min(state.top, n - std::min(n, std::max<std::size_t>(1, model.table_rows)));
  }
  if (model.overlay != Overlay::kNone) {
    model.overlay_rows = static_cast<std::size_t>(std::max(1, plan.overlay_rows - 2));
    model.overlay_lines = OverlayLines(model, plan).size();
    if (model.overlay == Overlay::kQueues) {
      for (std::size_t i = 0; i < model.queues.size(); ++i) {
        if (model.queues[i].name != model.overlay_id) continue;
        if (i < model.overlay_top) model.overlay_top = i;
        if (i >= model.overlay_top + model.overlay_rows) model.overlay_top = i + 1 - model.overlay_rows;
      }
    }
    model.overlay_top =
        std::min(model.overlay_top, model.overlay_lines - std::min(model.overlay_lines, model.overlay_rows));
  }
}

Grid Render(const Model& model, Size size) {
  Grid grid(size.width, size.height, model.unicode);
  const Layout plan = Plan(model, {grid.width(), grid.height()});
  const Table table = BuildTable(model);
  Header(model, grid);
  PutTiles(plan, {grid.width(), grid.height()}, grid);
  PutBanners(model, plan, grid);
  PutTabs(model, table, plan, grid);
  PutTable(model, table, plan, grid);
  if (model.overlay != Overlay::kNone) PutOverlay(model, plan, grid);
  // What is old looks old.
  if (model.connection == Connection::kLost) {
    for (int row = 1; row < grid.height() - 1; ++row) grid.Repaint(row, kDim);
  }
  if (grid.height() > 1) {
    grid.Fill(grid.height() - 1, 0, grid.width());
    PutStatus(model, table, plan, grid);
  }
  return grid;
}

}  // namespace allot::cli::top

// SPDX-License-Identifier: Apache-2.0
// ncurses' names are many and short: they are seen here alone, and as functions.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include "cli/top/screen.h"

#include <curses.h>
#include <signal.h>
#include <stdlib.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace allot::cli::top {
namespace {

constexpr int kCrashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// How to leave, for the handler of a crash: made before, since little may be done there.
termios before;
char leave[256];
std::size_t leave_bytes = 0;

void OnCrash(int signal) {
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, leave, leave_bytes);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void RememberHowToLeave() {
  ::tcgetattr(STDIN_FILENO, &before);
  std::string text;
  for (const char* name : {"sgr0", "rmkx", "cnorm", "rmcup"}) {
    const char* sequence = ::tigetstr(name);
    if (sequence == nullptr || sequence == reinterpret_cast<const char*>(-1)) continue;
    // Without the delays, `$<5>`, that only old terminals want.
    for (const char* at = sequence; *at != '\0';) {
      const char* end = at[0] == '$' && at[1] == '<' ? std::strchr(at, '>') : nullptr;
      if (end != nullptr) {
        at = end + 1;
      } else {
        text.push_back(*at++);
      }
    }
  }
  leave_bytes = std::min(text.size(), sizeof leave);
  std::memcpy(leave, text.data(), leave_bytes);
}

attr_t AttributesOf(const Look& look) {
  attr_t attributes = A_NORMAL;
  if (look.bold) attributes |= A_BOLD;
  if (look.dim) attributes |= A_DIM;
  if (look.reverse) attributes |= A_REVERSE;
  return attributes;
}

}  // namespace

Result<std::unique_ptr<Screen>> Screen::Open(bool colour) {
  ::setenv("ESCDELAY", "25", 0);  // Escape alone is a key here
  const char* const term = ::getenv("TERM");
  const Error unfit{Code::kBadValue, "this terminal cannot show it: TERM is `" + std::string(term ? term : "") + "`",
                    "`allot top --once` prints one screen as text"};
  int found = 0;
  if (term == nullptr || ::setupterm(nullptr, STDOUT_FILENO, &found) != OK) return unfit;
  const char* const move = ::tigetstr("cup");
  if (move == nullptr || move == reinterpret_cast<const char*>(-1)) return unfit;
  RememberHowToLeave();
  SCREEN* const handle = ::newterm(nullptr, stdout, stdin);
  if (handle == nullptr) return unfit;
  ::set_term(handle);
  ::cbreak();
  ::noecho();
  ::nonl();
  ::curs_set(0);
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::intrflush(stdscr, FALSE);
  const bool coloured = colour && ::has_colors();
  if (coloured) {
    ::start_color();
    ::use_default_colors();
    constexpr short kColours[] = {-1, COLOR_RED, COLOR_GREEN, COLOR_YELLOW, COLOR_BLUE, COLOR_CYAN};
    for (short i = 1; i < static_cast<short>(std::size(kColours)); ++i) ::init_pair(i, kColours[i], -1);
  }
  for (const int crash : kCrashes) ::signal(crash, OnCrash);
  return std::unique_ptr<Screen>(new Screen(handle, coloured));
}

Screen::~Screen() {
  for (const int crash : kCrashes) ::signal(crash, SIG_DFL);
  ::endwin();
  ::delscreen(static_cast<SCREEN*>(handle_));
}

Size Screen::size() const { return {getmaxx(stdscr), getmaxy(stdscr)}; }

void Screen::Draw(const Grid& grid) {
  for (int row = 0; row < grid.height(); ++row) {
    for (int column = 0; column < grid.width(); ++column) {
      const Cell& cell = grid.At(row, column);
      if (cell.text.empty()) continue;  // came with the wide one before it
      wchar_t text[CCHARW_MAX] = {};
      for (std::size_t i = 0; i < cell.text.size() && i + 1 < CCHARW_MAX; ++i)
        text[i] = static_cast<wchar_t>(cell.text[i]);
      cchar_t shown;
      const short pair = colour_ ? static_cast<short>(cell.look.ink) : short{0};
      ::setcchar(&shown, text, AttributesOf(cell.look), pair, nullptr);
      ::mvadd_wch(row, column, &shown);
    }
  }
  ::refresh();
}

std::optional<Key> Screen::Read(bool& resized) {
  using Kind = Key::Kind;
  for (;;) {
    wint_t code = 0;
    const int kind = ::get_wch(&code);
    if (kind == ERR) return std::nullopt;
    if (kind != KEY_CODE_YES) {
      switch (code) {
        case L'\r':
        case L'\n':
          return Key{Kind::kEnter};
        case L'\t':
          return Key{Kind::kTab};
        case 0x1B:
          return Key{Kind::kEscape};
        case 0x08:
        case 0x7F:
          return Key{Kind::kBackspace};
        case 0x0C:  // Ctrl-L: all anew
          ::clearok(stdscr, TRUE);
          continue;
        default:
          return Key{Kind::kChar, static_cast<char32_t>(code)};
      }
    }
    switch (code) {
      case KEY_RESIZE:
        resized = true;
        ::clearok(stdscr, TRUE);
        continue;
      case KEY_UP:
        return Key{Kind::kUp};
      case KEY_DOWN:
        return Key{Kind::kDown};
      case KEY_PPAGE:
        return Key{Kind::kPageUp};
      case KEY_NPAGE:
        return Key{Kind::kPageDown};
      case KEY_HOME:
        return Key{Kind::kHome};
      case KEY_END:
        return Key{Kind::kEnd};
      case KEY_ENTER:
        return Key{Kind::kEnter};
      case KEY_BACKSPACE:
      case KEY_DC:
        return Key{Kind::kBackspace};
      case KEY_BTAB:
        return Key{Kind::kBackTab};
      default:
        continue;
    }
  }
}

}  // namespace allot::cli::top

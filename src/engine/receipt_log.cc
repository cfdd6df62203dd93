// SPDX-License-Identifier: Apache-2.0
#include "engine/receipt_log.h"

#include <algorithm>
#include <cstring>

#include "base/bounds.h"
#include "base/check.h"

namespace allot {

// The name of the worker follows.
struct ReceiptLog::CommonStart {
  Start start;
  Common common;
  std::size_t strategies = 0;  // which of the piece's own
};

namespace {

static_assert(std::max(bounds::kMaxUserBytes, bounds::kMaxNameBytes) <= ReceiptLog::kMostName);
// Any start fits into a piece of its own.
static_assert(ReceiptLog::kPieceBytes > kMostTraceBytes);

template <typename T>
T Get(const char* from) {
  T what;
  std::memcpy(&what, from, sizeof(what));
  return what;
}

}  // namespace

void ReceiptLog::NewPiece() {
  const auto too_old = [this](const Piece& piece) { return piece.first + piece.starts + kReceiptsKept <= added_; };
  if (!pieces_.empty()) {
    pieces_.back().starts = added_ - pieces_.back().first;
    pieces_.back().used = static_cast<std::size_t>(next_ - pieces_.back().bytes.get());
  }
  Piece made;
  while (!pieces_.empty() && (too_old(pieces_.front()) || pieces_.size() >= kMostPieces)) {
    made.bytes = std::move(pieces_.front().bytes);
    pieces_.pop_front();
  }
  if (!made.bytes) made.bytes = std::unique_ptr<char[]>(new char[kPieceBytes]);
  made.first = added_;
  next_ = made.bytes.get();
  end_ = next_ + kPieceBytes;
  pieces_.push_back(std::move(made));
}

void ReceiptLog::Begin(const Common& common, const std::shared_ptr<const StrategyPair>& strategies,
                       const std::string& name) {
  if (end_ - next_ < static_cast<std::ptrdiff_t>(sizeof(CommonStart) + kMostName)) NewPiece();
  common_ = common;
  CommonStart common_start;
  common_start.start.common = true;
  common_start.start.text = static_cast<std::uint8_t>(std::min(name.size(), kMostName));
  common_start.start.bytes = Aligned(sizeof(common_start) + common_start.start.text);
  common_start.common = common;
  auto& known = pieces_.back().strategies;
  const auto found = std::find(known.begin(), known.end(), strategies);
  common_start.strategies = static_cast<std::size_t>(found - known.begin());
  if (found == known.end()) known.push_back(strategies);
  std::memcpy(next_, &common_start, sizeof(common_start));
  CopyText(name.data(), common_start.start.text, next_ + sizeof(common_start));
  next_ += common_start.start.bytes;
}

// --- Reading.

void ReceiptLog::Visit(const std::function<bool(const Place&, const Start&)>& visit) const {
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    const char* const bytes = piece->bytes.get();
    const std::size_t used = piece == pieces_.rbegin() ? static_cast<std::size_t>(next_ - bytes) : piece->used;
    std::vector<Place> places;
    std::uint64_t number = piece->first;
    std::size_t common = 0;
    for (std::size_t at = 0; at < used;) {
      const auto start = Get<Start>(bytes + at);
      if (start.common) {
        common = at;
      } else if (number++ + kReceiptsKept >= added_) {
        places.push_back({&*piece, common, at});
      }
      at += start.bytes;
    }
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      if (!visit(*place, Get<Start>(bytes + place->start))) return;
    }
  }
}

std::string_view ReceiptLog::UserAt(const Place& place, const Start& start) {
  return {place.piece->bytes.get() + place.start + sizeof(Start), start.text};
}

Receipt ReceiptLog::Read(const Place& place, const Start& start) {
  const char* const bytes = place.piece->bytes.get();
  const auto common_start = Get<CommonStart>(bytes + place.common);
  const Common& common = common_start.common;
  const StrategyPair& strategies = *place.piece->strategies[common_start.strategies];
  Receipt receipt;
  receipt.serial = start.serial;
  receipt.job = JobId{start.job};
  receipt.index = start.index;
  receipt.attempt = start.attempt;
  receipt.worker = WorkerId{common.worker};
  receipt.worker_name = std::string(bytes + place.common + sizeof(CommonStart), common_start.start.text);
  receipt.user = UserAt(place, start);
  receipt.at = FromMillis(common.at);
  receipt.waited = milliseconds(std::max<std::int64_t>(0, common.at - start.since));
  receipt.classes_open = common.classes_open;
  receipt.classes_matched = common.classes_matched;
  receipt.limits_met = start.limits_met;
  receipt.blocked_by_limits = common.blocked_by_limits;
  receipt.mode = common.mode;
  receipt.from = start.from;
  receipt.strategy = PrintStrategy(*strategies.worker);
  receipt.policy = PrintStrategy(*strategies.policy);
  const std::size_t before = sizeof(Start) + start.text;
  receipt.why = ReadTrace(strategies, {bytes + place.start + before, start.bytes - before}, receipt.at);
  return receipt;
}

std::optional<Receipt> ReceiptLog::Find(JobId job, TaskIndex index) const {
  std::optional<Receipt> found;
  Visit([&](const Place& place, const Start& start) {
    if (start.job != job.value || start.index != index) return true;
    found = Read(place, start);
    return false;
  });
  return found;
}

std::vector<Receipt> ReceiptLog::List(std::optional<std::uint64_t> before, std::size_t limit,
                                      std::optional<std::string_view> user) const {
  std::vector<Receipt> receipts;
  Visit([&](const Place& place, const Start& start) {
    if (receipts.size() == limit) return false;
    const bool wanted = (!before || start.serial < *before) && (!user || UserAt(place, start) == *user);
    if (wanted) receipts.push_back(Read(place, start));
    return true;
  });
  return receipts;
}

std::size_t ReceiptLog::MemoryBytes() const {
  std::size_t bytes = sizeof(*this) + pieces_.size() * (kPieceBytes + sizeof(Piece));
  for (const Piece& piece : pieces_) bytes += piece.strategies.capacity() * sizeof(piece.strategies[0]);
  return bytes;
}

}  // namespace allot

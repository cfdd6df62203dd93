// SPDX-License-Identifier: Apache-2.0
#include "server/live/event_writer.h"

#include <utility>

#include "server/net/http_text.h"

namespace allot {
namespace {

constexpr std::size_t kEventPieceBytes = 16 * 1024;

}  // namespace

std::string EventText(std::string_view event, std::string_view data) {
  std::string text;
  text.reserve(data.size() + event.size() + 32);
  text.append("event: ").append(event).append("\ndata: ");
  while (true) {
    const std::size_t end = data.find_first_of("\r\n");
    text.append(data.substr(0, end));
    if (end == std::string_view::npos) break;
    text.append("\ndata: ");
    data.remove_prefix(end + 1);
  }
  text.append("\n\n");
  return text;
}

EventWriter::EventWriter(std::shared_ptr<OpenResponse> connection, Closure gone)
    : connection_(std::move(connection)), gone_(std::move(gone)) {}

std::shared_ptr<EventWriter> EventWriter::Open(std::shared_ptr<OpenResponse> connection, Closure gone) {
  ResponseHead head;
  head.type = kEventsType;
  head.close = true;
  head.extra = "X-Accel-Buffering: no\r\n";  // proxies that collect answers would hold it back
  std::string text;
  AppendHead(head, text);
  connection->Write(text);
  const std::shared_ptr<EventWriter> writer(new EventWriter(connection, std::move(gone)));
  connection->OnDrained([writer](bool there) {
    if (there) return writer->GoOn();
    if (writer->Leave() != nullptr && writer->gone_) std::exchange(writer->gone_, {})();
  });
  return writer;
}

std::shared_ptr<OpenResponse> EventWriter::Leave() {
  sending_ = next_ = nullptr;
  return std::exchange(connection_, nullptr);
}

void EventWriter::Send(SharedText text) {
  if (connection_ == nullptr || ending_) return;
  next_ = std::move(text);
  if (sending_ == nullptr && connection_->unsent() <= kEventPieceBytes) GoOn();
}

void EventWriter::Ping(std::string_view text) {
  if (connection_ != nullptr && sending_ == nullptr && connection_->unsent() == 0) connection_->Write(text);
}

void EventWriter::End(SharedText last) {
  if (connection_ == nullptr || ending_) return;
  ending_ = true;
  next_ = std::move(last);
  if (sending_ == nullptr) GoOn();
}

void EventWriter::Break() {
  if (connection_ != nullptr) connection_->BreakResponse();
}

void EventWriter::GoOn() {
  if (connection_ == nullptr) return;
  if (sending_ == nullptr) {
    sending_ = std::exchange(next_, nullptr);
    sent_ = 0;
  }
  if (sending_ == nullptr) return;
  const std::string_view piece = std::string_view(*sending_).substr(sent_, kEventPieceBytes);
  sent_ += piece.size();
  connection_->Write(piece);
  if (connection_ == nullptr || sending_ == nullptr) return;
  if (sent_ < sending_->size()) return;
  sending_ = nullptr;
  if (ending_ && next_ == nullptr) Leave()->EndResponse();
}

}  // namespace allot

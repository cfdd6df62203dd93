// SPDX-License-Identifier: Apache-2.0
// GET /v1/queues/Q/backup: a copy of the queue's file, made beside it and sent piece by piece.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/try.h"
#include "server/flow/places.h"
#include "server/net/call.h"
#include "server/ops/log.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

constexpr std::size_t kBackupPieceBytes = 128 * 1024;

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() { ::close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  // Fewer than asked for only at the end; -1 for an error.
  ssize_t Read(char* to, std::size_t n) const { return ::read(fd_, to, n); }

 private:
  const int fd_;
};

// A copy of the queue's file as it is now, which nobody else sees.
Result<std::shared_ptr<OpenFile>> Copy(Store& store, const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  const Result<void> copied = store.Backup(path);
  const int fd = copied.ok() ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  const int error = errno;
  std::filesystem::remove(path, ignored);  // it lives as long as it is open
  TRY_OK(copied);
  if (fd < 0) return Error{Code::kStoreFailed, "cannot open the backup: " + std::string(std::strerror(error)), ""};
  return std::make_shared<OpenFile>(fd);
}

// Writes the next piece; called again whenever it is sent.
void SendPiece(const std::shared_ptr<OpenResponse>& connection, const OpenFile& file) {
  std::string piece(kBackupPieceBytes, '\0');
  const ssize_t n = file.Read(piece.data(), piece.size());
  if (n < 0) {
    LogError("cannot read a backup", {{"error", std::strerror(errno)}});
    return connection->BreakResponse();  // without the last chunk nobody takes it for whole
  }
  piece.resize(static_cast<std::size_t>(n));
  std::string chunk;
  AppendChunk(piece, chunk);
  connection->Write(chunk);
  if (n == 0) connection->EndResponse();
}

void SendFile(const std::shared_ptr<OpenResponse>& connection, std::shared_ptr<OpenFile> file) {
  ResponseHead head;
  head.type = "application/octet-stream";
  head.chunked = true;
  head.close = true;
  std::string text;
  AppendHead(head, text);
  connection->Write(text);
  connection->OnDrained([weak = std::weak_ptr<OpenResponse>(connection), file = std::move(file)](bool there) {
    const std::shared_ptr<OpenResponse> to = weak.lock();
    if (there && to) SendPiece(to, *file);
  });
}

}  // namespace

Flow SendBackup(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  Audit(call.principal(), "queue.backup", call.queue->name());
  co_await OnLane(call.server.backups);
  const std::string path = call.server.config.data + "/backup-" + std::to_string(call.reply.owner()) + ".tmp";
  CO_TRY(std::shared_ptr<OpenFile> file, Copy(call.queue->store(), path));
  co_await OnNetwork(call);
  const std::shared_ptr<OpenResponse> connection = call.reply.Hijack();
  if (connection != nullptr) SendFile(connection, std::move(file));
  co_return kAnswered;
}

}  // namespace allot

// GET /v1/queues/Q/backup: a copy of the queue's file, made beside it and sent piece by piece.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

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

}  // namespace

void SendBackup(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  Audit(call.principal(), "queue.backup", call.queue->name());
  ServerContext& server = call.server;
  server.backups.Post([held = std::make_shared<Call>(std::move(call))] {
    const std::string path = held->server.config.data + "/backup-" + std::to_string(held->reply.owner()) + ".tmp";
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    Result<void> copied = held->queue->store().Backup(path);
    std::shared_ptr<OpenFile> file;
    if (copied.ok()) {
      const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0)
        copied = Error{Code::kStoreFailed, "cannot open the backup: " + std::string(std::strerror(errno)), ""};
      else
        file = std::make_shared<OpenFile>(fd);
    }
    std::filesystem::remove(path, ignored);  // it lives as long as it is open
    held->reply.net().Post(Closure([held, copied, file] {
      if (!copied.ok()) return held->Fail(copied.error());
      const std::shared_ptr<OpenResponse> connection = held->reply.Hijack();
      if (connection == nullptr) return;
      ResponseHead head;
      head.type = "application/octet-stream";
      head.chunked = true;
      head.close = true;
      std::string text;
      AppendHead(head, text);
      connection->Write(text);
      connection->OnDrained([weak = std::weak_ptr<OpenResponse>(connection), file](bool there) {
        const std::shared_ptr<OpenResponse> to = weak.lock();
        if (there && to) SendPiece(to, *file);
      });
    }));
  });
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// Tokens: who may reach the server. They live in one file of the data directory, hashed; the secret itself is shown
// once, when it is created.
//
// A token's text is `allot_ID_SECRET`: 12 and 64 hexadecimal digits. The file keeps SHA-256 of the whole text: the
// secret has 256 bits of chance, so a slow hash would add nothing.
//
// The file decides: as long as it is not there, anyone who reaches the (loopback) port may do anything. Once it is
// there, a token is needed, even if the last one was revoked.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "server/ops/principal.h"

namespace allot {

using TokenHash = std::array<std::uint8_t, 32>;

struct TokenRecord {
  std::string id;
  std::string name;
  TokenHash hash{};
  ScopeSet scopes;
  std::optional<std::string> user;
  std::optional<std::string> queue;
  WallTime created_at{};
  std::optional<WallTime> expires_at;
};

struct NewToken {
  std::string name;  // for people; may be empty
  ScopeSet scopes;
  std::optional<std::string> user;
  std::optional<std::string> queue;
  std::optional<WallTime> expires_at;
};

inline constexpr std::size_t kMaxTokens = 10'000;

// The file itself, for the command line. Any number of processes may use it at once: a lock file orders the writers,
// and a write replaces the file as a whole (mode 0600, durable on return).
class TokenFile {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  struct Created {
    TokenRecord record;
    std::string text;  // the only time that anyone sees it
  };
  // kBadValue for names, users or queues that the protocol would refuse, no scopes, or an expiry in the past.
  Result<Created> Create(const NewToken& token, WallTime now);
  // In order of creation; none if there is no file. kStoreCorrupt if it cannot be understood.
  Result<std::vector<TokenRecord>> List() const;
  // By id or by name. kNotFound if there is none, kBadValue if several have that name.
  Result<TokenRecord> Revoke(std::string_view id_or_name);
  // True once there is a file: then every request needs a token.
  bool Exists() const;
  const std::string& path() const { return path_; }

 private:
  Result<void> Write(const std::vector<TokenRecord>& tokens) const;
  std::string path_;
};

// The server's view of the file: verifies, and follows changes of the file within about a second.
//
// A file that turns unreadable or vanishes leaves the tokens as they were (and says so in the log once): a book that
// has asked for tokens never opens up by accident.
//
// Threading: all methods may be called from any thread.
class TokenBook {
 public:
  // Reads the file, if it is there. kStoreCorrupt, kStoreFailed if it is and cannot be read.
  static Result<std::unique_ptr<TokenBook>> Open(std::string path);

  // A principal, and the state of the book that it was verified against.
  struct Admission {
    PrincipalPtr principal;
    std::uint64_t generation = 0;
  };
  // `authorization` is that header's value, empty if there is none. kUnauthorized without a known, unexpired token.
  // Without tokens configured: LocalPrincipal(), whatever the header says. Takes about a microsecond: keep the
  // admission with the connection, and the header's text that it came from.
  Result<Admission> Verify(std::string_view authorization, const Now& now);
  // True while the admission is as good as a new Verify() of the same header. A few nanoseconds; at most once a second
  // it looks at the file.
  bool Holds(const Admission& admission, const Now& now);
  // Does it still hold? Where the tokens have changed, `authorization`, the text that it came from, is verified anew,
  // and has to give the same principal.
  bool Renew(Admission& admission, std::string_view authorization, const Now& now);
  // May the principal still do what it may? For work that goes on for long, and for the engine thread: it goes by what
  // was read last, and does not wait for whoever reads meanwhile (true: ask again later).
  bool StillHolds(const Principal& principal, const Now& now);
  bool required() const { return required_.load(std::memory_order_acquire); }

 private:
  explicit TokenBook(std::string path) : path_(std::move(path)) {}
  struct Entry {
    TokenHash hash{};
    PrincipalPtr principal;
  };
  struct FileState {
    std::int64_t mtime_ns = 0;
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    friend bool operator==(const FileState&, const FileState&) = default;
  };
  static FileState Look(const std::string& path);
  Result<void> Reload();
  void Refresh(Instant now);

  const std::string path_;
  std::atomic<bool> required_{false};
  std::atomic<std::uint64_t> generation_{1};
  std::atomic<std::int64_t> next_look_us_{0};
  std::mutex mutex_;  // of what follows
  FileState state_;
  bool complained_ = false;
  std::map<std::string, Entry, std::less<>> by_id_;
};

}  // namespace allot

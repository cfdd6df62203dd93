// SPDX-License-Identifier: Apache-2.0
#include "server/ops/tokens.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <simdjson.h>

#include "base/bounds.h"
#include "base/json.h"
#include "base/try.h"
#include "server/ops/log.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

constexpr std::string_view kPrefix = "allot_";
constexpr std::size_t kTokenIdDigits = 12;
constexpr std::size_t kSecretDigits = 64;
constexpr std::size_t kTokenSize = kPrefix.size() + kTokenIdDigits + 1 + kSecretDigits;
constexpr int kFileVersion = 1;
constexpr std::size_t kMaxFileBytes = 16 * 1024 * 1024;
constexpr std::int64_t kLookEveryUs = 250'000;

std::string Hex(const std::uint8_t* bytes, std::size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    out.push_back(kDigits[bytes[i] >> 4]);
    out.push_back(kDigits[bytes[i] & 15]);
  }
  return out;
}

std::optional<TokenHash> UnHex(std::string_view text) {
  TokenHash hash{};
  if (text.size() != hash.size() * 2) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (digit < 0) return std::nullopt;
    hash[i / 2] = static_cast<std::uint8_t>(hash[i / 2] << 4 | digit);
  }
  return hash;
}

TokenHash HashOf(std::string_view token) {
  TokenHash hash{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return hash;
}

std::string RandomHex(std::size_t digits) {
  std::uint8_t bytes[32];
  CHECK(digits / 2 <= sizeof bytes);
  CHECK(RAND_bytes(bytes, static_cast<int>(digits / 2)) == 1);
  return Hex(bytes, digits / 2);
}

Error Failed(std::string_view what, const std::string& path) {
  const int code = errno;
  return Error{Code::kStoreFailed, fmt::format("{} {}: {}", what, path, std::strerror(code)), ""};
}

Error Corrupt(const std::string& path, std::string_view what) {
  return Error{Code::kStoreCorrupt, fmt::format("{} is not a file of tokens: {}", path, what),
               "restore it from a copy, or remove it and create new tokens"};
}

class File {
 public:
  File(const std::string& path, int flags, mode_t mode = 0) : fd_(open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

// None if there is no such file.
Result<std::optional<std::string>> ReadAll(const std::string& path) {
  File file(path, O_RDONLY);
  if (!file.ok()) {
    if (errno == ENOENT) return std::optional<std::string>();
    return Failed("cannot open", path);
  }
  std::string text;
  char buffer[16 * 1024];
  while (true) {
    const ssize_t n = read(file.fd(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("cannot read", path);
    if (n == 0) return std::optional<std::string>(std::move(text));
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > kMaxFileBytes) return Corrupt(path, "it is too long");
  }
}

std::string Directory(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// --- The file's JSON. Changing it: raise kFileVersion if an older program would misunderstand.

std::string ToJson(const std::vector<TokenRecord>& tokens) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Key("version").Int(kFileVersion).Key("tokens").BeginArray();
  for (const TokenRecord& token : tokens) {
    // A line each, for people who look.
    out.append(&token == tokens.data() ? "\n" : "");
    json.BeginObject();
    json.Key("id").String(token.id);
    json.Key("name").String(token.name);
    json.Key("hash").String(Hex(token.hash.data(), token.hash.size()));
    json.Key("scopes").String(token.scopes.Text());
    if (token.user) json.Key("user").String(*token.user);
    if (token.queue) json.Key("queue").String(*token.queue);
    json.Key("created_at_ms").Int(ToMillis(token.created_at));
    if (token.expires_at) json.Key("expires_at_ms").Int(ToMillis(*token.expires_at));
    json.EndObject();
    out.push_back('\n');
  }
  json.EndArray().EndObject();
  out.push_back('\n');
  return out;
}

Result<std::vector<TokenRecord>> FromJson(const std::string& path, std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  simdjson::dom::array list;
  std::int64_t version = 0;
  if (parser.parse(text.data(), text.size()).get(root) != simdjson::SUCCESS)
    return Corrupt(path, "it is not a JSON object");
  if (root["version"].get(version) != simdjson::SUCCESS) return Corrupt(path, "it has no version");
  if (version > kFileVersion) {
    return Error{Code::kStoreNewer, fmt::format("{} was written by a newer program (version {})", path, version), ""};
  }
  if (root["tokens"].get(list) != simdjson::SUCCESS) return Corrupt(path, "it has no list of tokens");
  std::vector<TokenRecord> tokens;
  for (const simdjson::dom::element item : list) {
    simdjson::dom::object object;
    TokenRecord token;
    std::string_view id, name, hash, scopes, optional;
    std::int64_t created = 0, expires = 0;
    if (item.get(object) != simdjson::SUCCESS || object["id"].get(id) != simdjson::SUCCESS ||
        object["name"].get(name) != simdjson::SUCCESS || object["hash"].get(hash) != simdjson::SUCCESS ||
        object["scopes"].get(scopes) != simdjson::SUCCESS ||
        object["created_at_ms"].get(created) != simdjson::SUCCESS) {
      return Corrupt(path, "a token lacks a field");
    }
    const auto parsed_hash = UnHex(hash);
    const auto parsed_scopes = ScopeSet::Parse(scopes);
    if (id.size() != kTokenIdDigits || !parsed_hash || !parsed_scopes.ok())
      return Corrupt(path, "a token has a wrong field");
    token.id = id;
    token.name = name;
    token.hash = *parsed_hash;
    token.scopes = *parsed_scopes;
    token.created_at = FromMillis(created);
    // A field that is there but not understood must not widen what the token may do.
    for (const auto& field : object) {
      if (field.key == "user" || field.key == "queue") {
        if (field.value.get(optional) != simdjson::SUCCESS || optional.empty())
          return Corrupt(path, "a token has a wrong field");
        (field.key == "user" ? token.user : token.queue) = std::string(optional);
      } else if (field.key == "expires_at_ms") {
        if (field.value.get(expires) != simdjson::SUCCESS) return Corrupt(path, "a token has a wrong field");
        token.expires_at = FromMillis(expires);
      }
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

// Holds the lock file of the directory while it lives.
class Lock {
 public:
  explicit Lock(const std::string& path) : file_(path + ".lock", O_RDWR | O_CREAT, 0600) {}
  Result<void> Take(const std::string& path) {
    if (!file_.ok()) return Failed("cannot open", path + ".lock");
    while (flock(file_.fd(), LOCK_EX) != 0) {
      if (errno != EINTR) return Failed("cannot lock", path + ".lock");
    }
    return {};
  }

 private:
  File file_;
};

}  // namespace

bool TokenFile::Exists() const {
  struct stat info {};
  // Anything but "it is not there" counts as there: what cannot be looked at must not open the door.
  return stat(path_.c_str(), &info) == 0 || errno != ENOENT;
}

Result<std::vector<TokenRecord>> TokenFile::List() const {
  const auto text = ReadAll(path_);
  if (!text.ok()) return text.error();
  if (!*text) return std::vector<TokenRecord>();
  return FromJson(path_, **text);
}

Result<void> TokenFile::Write(const std::vector<TokenRecord>& tokens) const {
  const std::string text = ToJson(tokens);
  const std::string temporary = path_ + ".new";
  {
    unlink(temporary.c_str());
    File file(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!file.ok()) return Failed("cannot create", temporary);
    std::string_view rest = text;
    while (!rest.empty()) {
      const ssize_t n = write(file.fd(), rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Failed("cannot write", temporary);
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    if (fsync(file.fd()) != 0) return Failed("cannot sync", temporary);
  }
  if (rename(temporary.c_str(), path_.c_str()) != 0) return Failed("cannot replace", path_);
  File directory(Directory(path_), O_RDONLY | O_DIRECTORY);
  if (!directory.ok() || fsync(directory.fd()) != 0) return Failed("cannot sync", Directory(path_));
  return {};
}

Result<TokenFile::Created> TokenFile::Create(const NewToken& token, WallTime now) {
  if (token.scopes.empty())
    return Error{Code::kBadValue, "a token needs a scope", "submit, work, read, operate, admin"};
  TRY_OK(CheckPlainText("name", token.name, bounds::kMaxNameBytes));
  if (token.user) {
    if (token.user->empty()) return Error{Code::kBadValue, "`user` must not be empty", ""};
    if (const auto check = CheckPlainText("user", *token.user, bounds::kMaxUserBytes); !check.ok())
      return check.error();
  }
  if (token.queue) {
    TRY_OK(CheckQueueName("queue", *token.queue));
  }
  if (token.expires_at && *token.expires_at <= now)
    return Error{Code::kBadValue, "the token would already have expired", ""};
  std::error_code error;
  if (std::filesystem::create_directories(Directory(path_), error)) {
    std::filesystem::permissions(Directory(path_), std::filesystem::perms::owner_all, error);
  }
  Lock lock(path_);
  TRY_OK(lock.Take(path_));
  auto tokens = List();
  if (!tokens.ok()) return tokens.error();
  if (tokens->size() >= kMaxTokens)
    return Error{Code::kBadValue, fmt::format("there are {} tokens already", kMaxTokens), "revoke some"};
  Created created;
  TokenRecord& record = created.record;
  const auto taken = [&](const std::string& id) {
    return std::any_of(tokens->begin(), tokens->end(), [&](const TokenRecord& t) { return t.id == id; });
  };
  do {
    record.id = RandomHex(kTokenIdDigits);
  } while (taken(record.id));
  created.text = fmt::format("{}{}_{}", kPrefix, record.id, RandomHex(kSecretDigits));
  record.name = token.name;
  record.hash = HashOf(created.text);
  record.scopes = token.scopes;
  record.user = token.user;
  record.queue = token.queue;
  record.created_at = now;
  record.expires_at = token.expires_at;
  tokens->push_back(record);
  TRY_OK(Write(*tokens));
  return created;
}

Result<TokenRecord> TokenFile::Revoke(std::string_view id_or_name) {
  if (!Exists()) return Error{Code::kNotFound, "there are no tokens", ""};
  Lock lock(path_);
  TRY_OK(lock.Take(path_));
  auto tokens = List();
  if (!tokens.ok()) return tokens.error();
  auto found = std::find_if(tokens->begin(), tokens->end(), [&](const TokenRecord& t) { return t.id == id_or_name; });
  if (found == tokens->end() && !id_or_name.empty()) {
    const auto named = [&](const TokenRecord& t) { return t.name == id_or_name; };
    if (std::count_if(tokens->begin(), tokens->end(), named) > 1) {
      return Error{Code::kBadValue, fmt::format("several tokens are named {}", JsonString(id_or_name)),
                   "name it by its id"};
    }
    found = std::find_if(tokens->begin(), tokens->end(), named);
  }
  if (found == tokens->end()) {
    return Error{Code::kNotFound, fmt::format("there is no token {}", JsonString(id_or_name)),
                 "see the list of tokens"};
  }
  const TokenRecord revoked = *found;
  tokens->erase(found);
  TRY_OK(Write(*tokens));
  return revoked;
}

// --- The server's side

Result<std::unique_ptr<TokenBook>> TokenBook::Open(std::string path) {
  std::unique_ptr<TokenBook> book(new TokenBook(std::move(path)));
  book->state_ = Look(book->path_);
  TRY_OK(book->Reload());
  return book;
}

TokenBook::FileState TokenBook::Look(const std::string& path) {
  struct stat info {};
  FileState state;
  if (stat(path.c_str(), &info) != 0) return state;
  state.mtime_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
  state.inode = info.st_ino;
  state.size = info.st_size;
  return state;
}

// REQUIRES: mutex_ is held, or nobody else knows the book yet.
Result<void> TokenBook::Reload() {
  const TokenFile file(path_);
  if (!file.Exists()) {
    if (!required()) return {};
    return Error{Code::kStoreFailed, fmt::format("{} is gone", path_), "the tokens stay as they were until a restart"};
  }
  TRY(const auto tokens, file.List());
  by_id_.clear();
  for (const TokenRecord& token : tokens) {
    auto principal = std::make_shared<Principal>();
    principal->id = token.id;
    principal->name = token.name;
    principal->scopes = token.scopes;
    principal->user = token.user;
    principal->queue = token.queue;
    principal->expires_at = token.expires_at;
    by_id_[token.id] = Entry{token.hash, std::move(principal)};
  }
  required_.store(true, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  return {};
}

void TokenBook::Refresh(Instant now) {
  const std::int64_t us = now.time_since_epoch().count();
  std::int64_t due = next_look_us_.load(std::memory_order_relaxed);
  // One thread a second looks; the others go on with what is known.
  if (us < due || !next_look_us_.compare_exchange_strong(due, us + kLookEveryUs)) return;
  const FileState state = Look(path_);
  std::lock_guard lock(mutex_);
  if (state == state_) return;
  const auto reloaded = Reload();
  if (reloaded.ok()) {
    state_ = state;
    complained_ = false;
    LogInfo("tokens read", {{"file", path_}, {"tokens", by_id_.size()}});
  } else if (!complained_) {
    complained_ = true;
    LogError("tokens could not be read: they stay as they were",
             {{"file", path_}, {"error", reloaded.error().message}});
  }
}

Result<TokenBook::Admission> TokenBook::Verify(std::string_view authorization, const Now& now) {
  Refresh(now.mono);
  // Before the look-up: a reload in between makes the admission old, never new.
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  if (!required()) return Admission{LocalPrincipal(), generation};
  constexpr std::string_view kScheme = "bearer ";
  const auto no = [](std::string message) {
    return Error{Code::kUnauthorized, std::move(message),
                 "send `Authorization: Bearer TOKEN`; `allot token create` makes one"};
  };
  if (authorization.empty()) return no("this server needs a token");
  std::string scheme(authorization.substr(0, kScheme.size()));
  for (char& c : scheme) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  if (scheme != kScheme) return no("only `Bearer` tokens are known");
  std::string_view token = authorization.substr(kScheme.size());
  while (!token.empty() && token.front() == ' ') token.remove_prefix(1);
  while (!token.empty() && token.back() == ' ') token.remove_suffix(1);
  // The id is public and may be looked up; the rest is compared in constant time, also for ids that are not there.
  const bool formed = token.size() == kTokenSize && token.substr(0, kPrefix.size()) == kPrefix;
  const TokenHash hash = HashOf(token.substr(0, kTokenSize));
  Entry entry;
  if (formed) {
    std::lock_guard lock(mutex_);
    const auto found = by_id_.find(token.substr(kPrefix.size(), kTokenIdDigits));
    if (found != by_id_.end()) entry = found->second;
  }
  const bool same = CRYPTO_memcmp(hash.data(), entry.hash.data(), hash.size()) == 0;
  if (!same || !entry.principal) return no("the token is not known");
  if (entry.principal->expires_at && *entry.principal->expires_at <= now.wall) return no("the token has expired");
  return Admission{std::move(entry.principal), generation};
}

bool TokenBook::Holds(const Admission& admission, const Now& now) {
  Refresh(now.mono);
  if (admission.generation != generation_.load(std::memory_order_acquire) || !admission.principal) return false;
  return !admission.principal->expires_at || *admission.principal->expires_at > now.wall;
}

bool TokenBook::Renew(Admission& admission, std::string_view authorization, const Now& now) {
  if (Holds(admission, now)) return true;
  Result<Admission> again = Verify(authorization, now);
  if (!again.ok() || !(*again->principal == *admission.principal)) return false;
  admission = std::move(*again);
  return true;
}

bool TokenBook::StillHolds(const Principal& principal, const Now& now) {
  if (!required()) return principal == *LocalPrincipal();
  if (principal.expires_at && *principal.expires_at <= now.wall) return false;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return true;
  const auto found = by_id_.find(principal.id);
  return found != by_id_.end() && *found->second.principal == principal;
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"

namespace allot::postgres {
namespace {

// What a URL may say otherwise. A peer that is silent, or takes nothing, for some seconds is gone: no timeout of the
// database would notice.
constexpr std::pair<const char*, const char*> kDefaults[] = {{"connect_timeout", "3"},  {"keepalives", "1"},
                                                             {"keepalives_idle", "5"},  {"keepalives_interval", "2"},
                                                             {"keepalives_count", "3"}, {"tcp_user_timeout", "8000"}};

// Of each session. All that is asked for goes by a key, so that a plan made while a table was empty is as good later. A
// commit is never cancelled: it has no timeout.
constexpr char kSession[] =
    "SET client_min_messages = warning; SET statement_timeout = 0; SET lock_timeout = '5s';"
    "SET idle_in_transaction_session_timeout = '60s'; SET default_transaction_isolation = 'read committed';"
    "SET default_transaction_read_only = off; SET default_transaction_deferrable = off;"
    "SET enable_seqscan = off; SET jit = off; SET plan_cache_mode = force_generic_plan;"
    "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;"
    "SET tcp_user_timeout = 8000;"
    "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN"
    " 'remote_apply' ELSE 'on' END, false);";

constexpr std::uint32_t kInt8Type = 20, kByteaType = 17;
constexpr std::string_view kCopySignature("PGCOPY\n\377\r\n\0", 11);
constexpr std::size_t kCopyPiece = 256 * 1024;

template <typename T>
void Append(std::string& out, T value) {
  char bytes[sizeof(T)];
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * (sizeof(T) - 1 - i)));
  }
  out.append(bytes, sizeof bytes);
}

std::int64_t ReadInt(const char* bytes, std::size_t length) {
  std::uint64_t value = length > 0 && (bytes[0] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (std::size_t i = 0; i < length; ++i) value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  return static_cast<std::int64_t>(value);
}

// On one line, without what stands in front of it.
std::string OneLine(const char* text) {
  std::string out = text == nullptr ? "" : text;
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  for (std::size_t at = 0; (at = out.find('\n', at)) != std::string::npos;) {
    std::size_t end = at + 1;
    while (end < out.size() && (out[end] == '\t' || out[end] == ' ' || out[end] == '\n')) ++end;
    out.replace(at, end - at, "; ");
  }
  return out;
}

// What an error of the database means: by its class, or all five letters.
struct Meaning {
  std::string_view state;
  Code code;
  const char* hint;
};
constexpr Meaning kMeanings[] = {
    {"AL001", Code::kFenced, "this server ends; the other one goes on"},
    {"53100", Code::kDiskFull, "free some space on the database's disk"},
    {"53", Code::kUnavailable, "the database lacks memory or connections"},
    {"08", Code::kUnavailable, ""},
    {"57", Code::kUnavailable, ""},     // it shuts down, or starts, or cancelled the statement
    {"40", Code::kUnavailable, ""},     // another transaction was in the way
    {"55P03", Code::kUnavailable, ""},  // it has not got a lock in time
    {"25006", Code::kUnavailable, "the database takes no writes: it is a standby, or was made one"},
    {"25P03", Code::kUnavailable, ""},  // it was idle in a transaction for too long
    {"42501", Code::kStoreFailed, "grant the user of the URL what it needs: see docs/cluster.md"},
    {"XX001", Code::kStoreCorrupt, "the database's own files are damaged: restore them"},
    {"XX002", Code::kStoreCorrupt, "an index of the database is damaged: REINDEX, or restore it"},
};

Error ErrorOf(const PGresult* result) {
  const char* const field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view state = field == nullptr ? "" : field;
  const char* const primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  Error error{Code::kStoreFailed,
              "the database says: " + OneLine(primary != nullptr ? primary : PQresultErrorMessage(result)), ""};
  if (!state.empty()) error.message += " (" + std::string(state) + ")";
  for (const Meaning& meaning : kMeanings) {
    if (!state.starts_with(meaning.state)) continue;
    error.code = meaning.code;
    error.hint = meaning.hint;
    break;
  }
  return error;
}

bool IsGood(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

int PollTime(Connection::Deadline deadline) {
  if (deadline == Connection::kForever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

}  // namespace

Array::Array(std::uint32_t type) {
  Append<std::uint32_t>(bytes_, 1);  // dimensions
  Append<std::uint32_t>(bytes_, 0);  // no nulls
  Append(bytes_, type);
  Append<std::uint32_t>(bytes_, 0);  // how many: known at the end
  Append<std::uint32_t>(bytes_, 1);  // counted from
}
Array Array::OfInts() { return Array(kInt8Type); }
Array Array::OfBlobs() { return Array(kByteaType); }

void Array::Add(std::int64_t v) {
  ++count_;
  Append<std::uint32_t>(bytes_, 8);
  Append(bytes_, v);
}

void Array::Add(std::string_view v) {
  ++count_;
  Append(bytes_, static_cast<std::uint32_t>(v.size()));
  bytes_.append(v);
}

std::string_view Array::Bytes() {
  std::string count;
  Append(count, count_);
  bytes_.replace(12, 4, count);
  return bytes_;
}

void Params::Add(std::int64_t v) {
  std::string& bytes = owned_.emplace_back();
  Append(bytes, v);
  Add(std::string_view(bytes));
}

void Params::Add(std::string_view v) {
  CHECK(v.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
  values_.push_back(v.data() == nullptr ? "" : v.data());  // null would be NULL
  lengths_.push_back(static_cast<int>(v.size()));
  formats_.push_back(1);
}

std::int64_t Rows::Int(int row, int column) const {
  return ReadInt(PQgetvalue(result_.get(), row, column),
                 static_cast<std::size_t>(PQgetlength(result_.get(), row, column)));
}

std::string_view Rows::Bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::uint64_t Rows::changed() const {
  const char* const text = PQcmdTuples(result_.get());
  return *text == '\0' ? 0 : std::strtoull(text, nullptr, 10);
}

Result<std::unique_ptr<Connection>> Connection::Open(const Options& options) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  const auto add = [&](const char* name, const char* value) {
    names.push_back(name);
    values.push_back(value);
  };
  for (const auto& [name, value] : kDefaults) add(name, value);
  add("dbname", options.url.c_str());  // its parts stand in for it; later ones have the last word
  add("target_session_attrs", "read-write");
  add("application_name", options.application.c_str());
  add("client_encoding", "UTF8");
  names.push_back(nullptr);
  values.push_back(nullptr);
  PGconn* const raw = PQconnectdbParams(names.data(), values.data(), 1);
  if (raw == nullptr) return Error{Code::kUnavailable, "no memory for a connection to the database", ""};
  std::unique_ptr<Connection> connection(new Connection(raw));
  if (PQstatus(raw) != CONNECTION_OK) {
    return Error{Code::kUnavailable, "cannot connect to the database: " + OneLine(PQerrorMessage(raw)),
                 "is it up, and are host, user and password of its URL right?"};
  }
  PQsetNoticeReceiver(raw, OnNotice, connection.get());
  if (Result<void> done = connection->Prepare(options); !done) return done.error();
  return connection;
}

Result<void> Connection::Prepare(const Options& options) {
  const std::string path =
      options.schema.empty() ? "" : "SET search_path = " + Name(options.schema) + ", pg_catalog, pg_temp;";
  if (Result<void> done = Script(kSession + path); !done) return done;
  if (options.prepare.empty()) return {};
  Pipeline(true);
  for (const Statement& statement : options.prepare) {
    if (PQsendPrepare(connection_, statement.name, statement.text, 0, nullptr) != 1) return Lost();
    prepared_.emplace_back(statement.name);
    ++sent_;
  }
  Sync();
  if (Await(std::chrono::steady_clock::now() + std::chrono::seconds(10)) != Answer::kDone) return Lost();
  if (failure_) return *failure_;
  return {};
}

Connection::~Connection() { PQfinish(connection_); }

void Connection::OnNotice(void* self, const PGresult* notice) {
  const char* const state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  // Also where the wait for a standby was cancelled: it is done here, and may be nowhere else.
  if (state != nullptr && std::string_view(state) == "01000") static_cast<Connection*>(self)->warned_ = true;
}

Error Connection::Lost() const {
  if (failure_) return *failure_;
  const std::string why = OneLine(PQerrorMessage(connection_));
  return {Code::kUnavailable, "the connection to the database is lost" + (why.empty() ? "" : ": " + why), ""};
}

void Connection::Pipeline(bool on) {
  if ((PQpipelineStatus(connection_) != PQ_PIPELINE_OFF) == on) return;
  if (on) {
    PQenterPipelineMode(connection_);
  } else {
    PQexitPipelineMode(connection_);
  }
  PQsetnonblocking(connection_, on ? 1 : 0);
}

void Connection::Send(const Statement& statement, const Params& params) {
  if (!usable_) return;
  if (sent_ == 0) {
    Pipeline(true);
    warned_ = false;
    failure_.reset();
    rows_.clear();
  }
  ++sent_;
  const bool prepared =
      statement.name != nullptr && std::find(prepared_.begin(), prepared_.end(), statement.name) != prepared_.end();
  const int sent = prepared ? PQsendQueryPrepared(connection_, statement.name, params.size(), params.values(),
                                                  params.lengths(), params.formats(), 1)
                            : PQsendQueryParams(connection_, statement.text, params.size(), nullptr, params.values(),
                                                params.lengths(), params.formats(), 1);
  // Without memory, or without a connection: Await() tells.
  if (sent != 1) usable_ = false;
}

void Connection::Sync() {
  if (usable_ && PQpipelineSync(connection_) != 1) usable_ = false;
}

Connection::Answer Connection::EndLost() {
  usable_ = false;
  if (!failure_) failure_ = Lost();
  return Answer::kLost;
}

Connection::Answer Connection::Await(Deadline deadline) {
  if (!usable_) return EndLost();
  int nothing = 0;
  for (;;) {
    const int unsent = PQflush(connection_);
    while (PQisBusy(connection_) == 0) {
      PGresult* const result = PQgetResult(connection_);
      if (result == nullptr) {
        // One ends each statement; more than that come when nothing is expected any more.
        if (PQstatus(connection_) == CONNECTION_BAD || ++nothing > 2) return EndLost();
        continue;
      }
      nothing = 0;
      Rows rows(result);
      const ExecStatusType status = PQresultStatus(result);
      if (status == PGRES_PIPELINE_SYNC) {
        sent_ = 0;
        if (warned_) return EndLost();
        return Answer::kDone;
      }
      if (IsGood(result)) {
        rows_.push_back(std::move(rows));
      } else if (status != PGRES_PIPELINE_ABORTED && !failure_) {
        failure_ = ErrorOf(result);
        if (PQstatus(connection_) == CONNECTION_BAD) failure_->code = Code::kUnavailable;
      }
    }
    pollfd fd{PQsocket(connection_), static_cast<short>(POLLIN | (unsent > 0 ? POLLOUT : 0)), 0};
    const int ready = poll(&fd, 1, PollTime(deadline));
    if (ready == 0) return Answer::kLate;
    if (ready < 0 && errno != EINTR) return EndLost();
    // What came before the end of the connection is looked at above.
    if (ready > 0 && (fd.revents & ~POLLOUT) != 0) static_cast<void>(PQconsumeInput(connection_));
  }
}

Result<Rows> Connection::Run(const Statement& statement, const Params& params, Deadline deadline) {
  Send(statement, params);
  Sync();
  switch (Await(deadline)) {
    case Answer::kDone:
      if (failure_) return *failure_;
      return std::move(rows_.front());
    case Answer::kLate:
      usable_ = false;
      return Error{Code::kUnavailable, "the database does not answer in time", ""};
    case Answer::kLost:
      break;
  }
  return Lost();
}

Result<void> Connection::Script(const std::string& text) {
  if (!usable_) return Lost();
  Pipeline(false);
  failure_.reset();
  const Rows rows(PQexec(connection_, text.c_str()));
  const PGresult* const raw = rows.raw();
  if (IsGood(raw)) return {};
  if (PQstatus(connection_) != CONNECTION_OK) usable_ = false;
  return usable_ ? ErrorOf(raw) : Lost();
}

Result<void> Connection::BeginCopy(const std::string& command, ExecStatusType wanted) {
  if (!usable_) return Lost();
  Pipeline(false);
  failure_.reset();
  const Rows begun(PQexec(connection_, command.c_str()));
  if (PQresultStatus(begun.raw()) != wanted) {
    if (PQstatus(connection_) != CONNECTION_OK) usable_ = false;
    return usable_ ? ErrorOf(begun.raw()) : Lost();
  }
  usable_ = false;  // unless it comes to its end
  return {};
}

Result<void> Connection::CopyOut(const std::string& query, const std::function<Result<void>(const Fields&)>& row) {
  if (Result<void> begun = BeginCopy("COPY (" + query + ") TO STDOUT (FORMAT binary)", PGRES_COPY_OUT); !begun)
    return begun;
  bool first = true;
  Fields fields;
  for (;;) {
    char* raw = nullptr;
    const int length = PQgetCopyData(connection_, &raw, 0);
    if (length == -1) break;
    if (length < 0) return Lost();
    const std::unique_ptr<char, void (*)(void*)> owned(raw, PQfreemem);
    std::string_view piece(raw, static_cast<std::size_t>(length));
    const Error malformed{Code::kStoreFailed, "the database copies in a form that is not known", ""};
    if (std::exchange(first, false)) {
      if (!piece.starts_with(kCopySignature) || piece.size() < kCopySignature.size() + 8) return malformed;
      const auto more = static_cast<std::uint64_t>(ReadInt(piece.data() + kCopySignature.size() + 4, 4));
      piece.remove_prefix(kCopySignature.size() + 8);
      if (more > piece.size()) return malformed;
      piece.remove_prefix(more);
    }
    while (piece.size() >= 2) {
      const std::int64_t count = ReadInt(piece.data(), 2);
      piece.remove_prefix(2);
      if (count < 0) break;
      fields.clear();
      for (std::int64_t i = 0; i < count; ++i) {
        if (piece.size() < 4) return malformed;
        const std::int64_t size = std::max<std::int64_t>(0, ReadInt(piece.data(), 4));
        piece.remove_prefix(4);
        if (static_cast<std::uint64_t>(size) > piece.size()) return malformed;
        fields.push_back(piece.substr(0, static_cast<std::size_t>(size)));
        piece.remove_prefix(static_cast<std::size_t>(size));
      }
      if (Result<void> done = row(fields); !done) return done;
    }
  }
  Result<void> done;
  while (PGresult* const raw = PQgetResult(connection_)) {
    const Rows end(raw);
    if (done && !IsGood(raw)) done = ErrorOf(raw);
  }
  if (PQstatus(connection_) == CONNECTION_OK) usable_ = true;
  return done;
}

void Connection::Row::Int4(std::int32_t v) {
  ++fields_;
  Append<std::uint32_t>(bytes_, 4);
  Append(bytes_, v);
}
void Connection::Row::Int8(std::int64_t v) {
  ++fields_;
  Append<std::uint32_t>(bytes_, 8);
  Append(bytes_, v);
}
void Connection::Row::Blob(std::string_view v) {
  ++fields_;
  Append(bytes_, static_cast<std::uint32_t>(v.size()));
  bytes_.append(v);
}

Result<void> Connection::PutCopied(std::string_view bytes) {
  if (PQputCopyData(connection_, bytes.data(), static_cast<int>(bytes.size())) == 1) return {};
  return Lost();
}

Result<void> Connection::CopyIn(const std::string& table, const std::function<Result<bool>(Row&)>& next) {
  if (Result<void> begun = BeginCopy("COPY " + table + " FROM STDIN (FORMAT binary)", PGRES_COPY_IN); !begun)
    return begun;
  std::string buffer(kCopySignature);
  buffer.append(8, '\0');
  Row row;
  for (;;) {
    row.bytes_.clear();
    row.fields_ = 0;
    Result<bool> more = next(row);
    if (!more) return more.error();
    if (*more) {
      Append(buffer, row.fields_);
      buffer.append(row.bytes_);
    } else {
      Append<std::uint16_t>(buffer, 0xFFFF);
    }
    if (buffer.size() >= kCopyPiece || !*more) {
      if (Result<void> done = PutCopied(buffer); !done) return done;
      buffer.clear();
    }
    if (!*more) break;
  }
  if (PQputCopyEnd(connection_, nullptr) != 1) return Lost();
  Result<void> done;
  while (PGresult* const raw = PQgetResult(connection_)) {
    const Rows end(raw);
    if (done && !IsGood(raw)) done = ErrorOf(raw);
  }
  if (PQstatus(connection_) == CONNECTION_OK) usable_ = true;
  return done;
}

std::string Connection::Quoted(std::string_view text) const {
  char* const raw = PQescapeLiteral(connection_, text.data(), text.size());
  CHECK(raw != nullptr);  // names of queues are valid text
  const std::unique_ptr<char, void (*)(void*)> owned(raw, PQfreemem);
  return raw;
}

std::string Connection::Name(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::int64_t IntOf(std::string_view field) { return ReadInt(field.data(), field.size()); }

std::string RedactedUrl(std::string_view url) {
  std::string out(url);
  const std::size_t scheme = out.find("://");
  const std::size_t at = out.rfind('@');
  if (scheme != std::string::npos && at != std::string::npos && at > scheme) {
    const std::size_t colon = out.find(':', scheme + 3);
    if (colon != std::string::npos && colon < at) out.replace(colon + 1, at - colon - 1, "***");
  }
  // `password=…` and `sslpassword=…`, as parameters of a URL or in a list of settings.
  for (std::size_t from = 0; (from = out.find("password", from)) != std::string::npos;) {
    from += 8;
    std::size_t value = from;
    while (value < out.size() && out[value] == ' ') ++value;
    if (value >= out.size() || out[value] != '=') continue;
    ++value;
    while (value < out.size() && out[value] == ' ') ++value;
    std::size_t end = value;
    if (end < out.size() && out[end] == '\'') {
      for (++end; end < out.size() && out[end] != '\''; ++end) end += out[end] == '\\' ? 1 : 0;
      end = std::min(end + 1, out.size());
    } else {
      while (end < out.size() && out[end] != '&' && out[end] != ' ') end += out[end] == '\\' ? 2 : 1;
      end = std::min(end, out.size());
    }
    out.replace(value, end - value, "***");
    from = value;
  }
  return out;
}

}  // namespace allot::postgres

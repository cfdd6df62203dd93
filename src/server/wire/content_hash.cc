// SPDX-License-Identifier: Apache-2.0
// The content of a submit, for idempotency keys (request_json.h).
#include <algorithm>
#include <cstring>

#include <openssl/evp.h>

#include "base/bytes.h"
#include "base/check.h"
#include "expr/expr.h"
#include "match/constraints.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

// Fetched once: OpenSSL's look-up by name costs more than hashing a small job.
const EVP_MD* Sha256() {
  static const EVP_MD* const md = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  CHECK(md != nullptr);
  return md;
}

constexpr std::uint8_t kForm = 1;  // of the bytes below

struct MetaBytes {
  ByteWriter& out;
  void operator()(const std::string& value) const {
    out.U8(0);
    out.Text(value);
  }
  void operator()(std::int64_t value) const {
    out.U8(1);
    out.Signed(value);
  }
  void operator()(double value) const {
    out.U8(2);
    out.Real(value);
  }
  void operator()(bool value) const { out.U8(value ? 4 : 3); }
};

// Every field in one fixed order, each with its length or of a fixed form: two different specs never give the same
// bytes.
std::string Canonical(const JobSpec& spec) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U8(kForm);
  out.Varint(spec.tags.size());
  for (const std::string& tag : spec.tags) out.Text(tag);
  out.U8(spec.priority ? 1 : 0);
  out.Signed(spec.priority.value_or(0));
  out.Text(spec.user);
  out.U8(spec.async ? 1 : 0);
  out.U8(spec.scheduled_for ? 1 : 0);
  out.Signed(spec.scheduled_for ? ToMillis(*spec.scheduled_for) : 0);
  out.Signed(spec.delay.count());
  out.Varint(spec.meta.size());
  for (const auto& [key, value] : spec.meta) {
    out.Text(key);
    std::visit(MetaBytes{out}, value);
  }
  out.Text(spec.payload_prefix);
  out.Varint(spec.max_attempts);
  out.Signed(spec.backoff.first.count());
  out.Real(spec.backoff.factor);
  out.Signed(spec.backoff.max.count());
  out.Real(spec.backoff.jitter);
  out.Signed(spec.lease.count());
  out.Signed(spec.timeout.count());
  out.U8(spec.max_failed_tasks.percent ? 1 : 0);
  out.Varint(spec.max_failed_tasks.number);
  out.Real(spec.max_failed_tasks.percent.value_or(0));
  out.Signed(spec.retention.count());
  // Newer than the rest: not there at all where a job has none of it, so that older hashes hold.
  std::string details;
  PutNumbered(kJobDetails, spec, details);
  if (!spec.constraints.empty() || spec.requirements != nullptr || spec.rank != nullptr || !details.empty()) {
    out.Varint(spec.constraints.size());
    for (const Properties& alternative : spec.constraints) out.Text(ConstraintTag(alternative));
    for (const ExprPtr& expression : {spec.requirements, spec.rank}) {
      out.U8(expression == nullptr ? 0 : 1);
      out.Text(expression == nullptr ? std::string_view() : std::string_view(expression->source()));
    }
  }
  out.Raw(details);
  return bytes;
}

}  // namespace

struct ContentHasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
  void Add(std::string_view bytes) { CHECK(EVP_DigestUpdate(context, bytes.data(), bytes.size()) == 1); }
  void AddText(std::string_view text) {
    std::string length;
    ByteWriter(length).Varint(text.size());
    Add(length);
    Add(text);
  }
};

ContentHasher::ContentHasher(const JobRequest& request) : state_(std::make_unique<State>()) {
  CHECK(state_->context != nullptr && EVP_DigestInit_ex(state_->context, Sha256(), nullptr) == 1);
  state_->AddText(Canonical(request.spec));
  state_->AddText(request.payload);  // JSON text is never empty, so empty means none
}
ContentHasher::~ContentHasher() = default;
ContentHasher::ContentHasher(ContentHasher&&) noexcept = default;
ContentHasher& ContentHasher::operator=(ContentHasher&&) noexcept = default;

void ContentHasher::AddTaskPayload(std::string_view json) { state_->AddText(json); }

ContentHash ContentHasher::Finish(std::uint64_t count) {
  std::string end;
  ByteWriter(end).Fixed64(count);
  state_->Add(end);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CHECK(EVP_DigestFinal_ex(state_->context, digest, &size) == 1 && size == 32);
  ContentHash hash{};
  std::memcpy(hash.data(), digest, sizeof hash);
  return hash;
}

void HashContent(JobRequest& request) {
  if (request.spec.idempotency_key.empty()) return;
  ContentHasher hasher(request);
  for (const std::string_view payload : request.payloads) hasher.AddTaskPayload(payload);
  request.spec.content = hasher.Finish(request.spec.count);
}

}  // namespace allot

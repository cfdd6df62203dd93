// SPDX-License-Identifier: Apache-2.0
#include "server/ops/access.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <boost/asio/ip/address.hpp>

#include "base/json.h"
#include "engine/errors.h"

namespace allot {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return out;
}

// `host`, `host:port`, `[v6]:port` → the host, without brackets; empty if it is none of them.
std::string_view HostName(std::string_view host) {
  std::string_view name, port;
  if (!host.empty() && host[0] == '[') {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return {};
    name = host.substr(1, end - 1);
    port = host.substr(end + 1);
  } else {
    name = host.substr(0, host.find(':'));
    port = host.substr(name.size());
  }
  if (!port.empty() && (port[0] != ':' || port.substr(1).find_first_not_of("0123456789") != std::string_view::npos))
    return {};
  return name;
}

bool IsLiteral(std::string_view name) {
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(name), error);
  return !error;
}

bool AllAddresses(std::string_view host) { return host == "0.0.0.0" || host == "::" || host.empty(); }

std::string Shown(std::string_view text) { return JsonString(text.substr(0, 200)); }

Error Forbidden(std::string message, std::string hint = {}) {
  return Error{Code::kForbidden, std::move(message), std::move(hint)};
}

std::string Who(const Principal& principal) {
  if (principal.name.empty() && principal.id.empty()) return "this token";
  return principal.name.empty() ? "the token " + principal.id : fmt::format("the token {}", JsonString(principal.name));
}

}  // namespace

OriginPolicy::OriginPolicy(const Config& config) : any_literal_(AllAddresses(config.listen.host)) {
  hosts_ = {"localhost", "127.0.0.1", "::1"};
  if (!any_literal_) hosts_.insert(Lower(config.listen.host));
  if (!IsLoopback(config.listen.host)) {
    char name[256] = {};
    if (gethostname(name, sizeof name - 1) == 0 && name[0] != '\0') hosts_.insert(Lower(name));
  }
  for (const std::string& host : config.allowed_hosts) {
    if (host == "*") any_host_ = true;
    // With a port or without: the port does not matter.
    const std::string_view name = IsLiteral(host) ? std::string_view(host) : HostName(host);
    if (!name.empty()) hosts_.insert(Lower(name));
  }
  for (std::string origin : config.allowed_origins) {
    if (origin == "*") any_origin_ = true;
    if (!origin.empty() && origin.back() == '/') origin.pop_back();
    origins_.insert(Lower(origin));
  }
}

bool OriginPolicy::OwnHost(std::string_view name) const {
  if (any_host_ || hosts_.count(Lower(name)) != 0) return true;
  // No page can make a browser send an address as Host for a name of its own, so this is safe against rebinding.
  return any_literal_ && IsLiteral(name);
}

Result<void> OriginPolicy::Check(std::string_view host, std::string_view origin) const {
  if (host.empty()) return Error{Code::kBadRequest, "the request has no Host", ""};
  const std::string_view name = HostName(host);
  if (name.empty() || !OwnHost(name)) {
    return Error{Code::kForeignOrigin, fmt::format("{} is not a name of this server", Shown(host)),
                 "add it to allowed_hosts if it should be"};
  }
  if (origin.empty() || any_origin_) return {};
  const std::string lower = Lower(origin);
  if (origins_.count(lower) != 0) return {};
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (lower.compare(0, scheme.size(), scheme) == 0 && std::string_view(lower).substr(scheme.size()) == Lower(host))
      return {};
  }
  return Error{Code::kForeignOrigin, fmt::format("pages of {} may not use this server", Shown(origin)),
               "add it to allowed_origins if they should"};
}

Result<void> RequireScope(const Principal& principal, Scope scope) {
  if (principal.Has(scope)) return {};
  return Forbidden(fmt::format("{} lacks the scope `{}`", Who(principal), ScopeText(scope)),
                   fmt::format("it has {}", principal.scopes.Text()));
}

Result<void> RequireEither(const Principal& principal, Scope first, Scope second) {
  if (principal.Has(first) || principal.Has(second)) return {};
  return Forbidden(fmt::format("{} lacks the scope `{}` or `{}`", Who(principal), ScopeText(first), ScopeText(second)),
                   fmt::format("it has {}", principal.scopes.Text()));
}

Result<void> RequireQueue(const Principal& principal, std::string_view queue) {
  if (!principal.queue || *principal.queue == queue) return {};
  return Forbidden(fmt::format("{} is fixed to the queue {}", Who(principal), JsonString(*principal.queue)));
}

Result<void> ClaimUser(const Principal& principal, JobRequest& request) {
  request.spec.token = principal.id;
  if (!principal.user) return {};
  if (request.user_given && request.spec.user != *principal.user) {
    return Forbidden(fmt::format("{} submits as {} only", Who(principal), JsonString(*principal.user)),
                     "leave `user` out of the job");
  }
  request.spec.user = *principal.user;
  return {};
}

bool Sees(const Principal& principal, std::string_view job_user) {
  return !principal.user || *principal.user == job_user;
}

Result<void> RequireSeen(const Principal& principal, JobId job, std::string_view job_user) {
  if (Sees(principal, job_user)) return {};
  return UnknownJob(job);
}

Result<void> RequireChange(const Principal& principal, JobId job, std::string_view job_user) {
  if (!Sees(principal, job_user)) return UnknownJob(job);
  return RequireEither(principal, Scope::kSubmit, Scope::kOperate);
}

Result<void> NarrowToSeen(const Principal& principal, JobQuery& query) {
  if (!principal.user) return {};
  if (!query.user.empty() && query.user != *principal.user) {
    return Forbidden(fmt::format("{} sees jobs of {} only", Who(principal), JsonString(*principal.user)));
  }
  query.user = *principal.user;
  return {};
}

std::string_view LastOf(const Principal& principal) {
  return principal.user ? std::string_view(*principal.user) : std::string_view();
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "server/api/serve_web.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "server/api/route_table.h"
#include "server/net/serve.h"
#include "server/web_assets.h"

namespace allot {
namespace {

// The page loads what is its own, and nothing else; nobody frames it. What it shows is text, never markup: should that
// fail, no script of others runs.
constexpr std::string_view kSecurity =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "X-Frame-Options: DENY\r\n";
constexpr std::string_view kPage = "/index.html";
constexpr std::string_view kHashed = "/assets/";  // a file below has its content's hash in its name
constexpr std::string_view kDocuments = "/docs";  // pages of their own, each a file
constexpr std::string_view kOwnPages = "/q/";     // of queues and jobs, whose names may have dots

const WebAsset* Find(std::span<const WebAsset> assets, std::string_view path) {
  const auto at = std::lower_bound(assets.begin(), assets.end(), path,
                                   [](const WebAsset& asset, std::string_view p) { return asset.path < p; });
  return at != assets.end() && at->path == path ? &*at : nullptr;
}

bool IsDocument(std::string_view path) {
  return path.substr(0, kDocuments.size()) == kDocuments &&
         (path.size() == kDocuments.size() || path[kDocuments.size()] == '/');
}

// The page of a document is found without its ending, and that of a folder by the folder's name.
const WebAsset* FindDocument(std::span<const WebAsset> assets, std::string_view path) {
  if (const WebAsset* asset = Find(assets, path)) return asset;
  std::string file(path);
  while (file.back() == '/') file.pop_back();
  if (const WebAsset* asset = Find(assets, file + ".html")) return asset;
  return Find(assets, file + "/index.html");
}

bool IsPage(std::string_view path) {
  if (IsDocument(path)) return false;
  if (path.substr(0, kHashed.size()) == kHashed) return false;
  if (path.substr(0, kOwnPages.size()) == kOwnPages) return true;
  return path.substr(path.rfind('/') + 1).find('.') == std::string_view::npos;
}

std::string_view Unquoted(std::string_view tag) {
  if (tag.substr(0, 2) == "W/") tag.remove_prefix(2);
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"') tag = tag.substr(1, tag.size() - 2);
  return tag;
}

// Does the header of If-None-Match have it?
bool Has(std::string_view header, std::string_view tag) {
  while (!header.empty()) {
    const std::size_t comma = header.find(',');
    std::string_view item = header.substr(0, comma);
    header.remove_prefix(comma == std::string_view::npos ? header.size() : comma + 1);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (item == "*" || (!item.empty() && Unquoted(item) == tag)) return true;
  }
  return false;
}

}  // namespace

bool IsWebPath(const Request& request) {
  const std::string& first = request.parts[0];
  // A client of another version of the protocol is no browser.
  const bool protocol = first.size() == 2 && first[0] == 'v' && first[1] >= '0' && first[1] <= '9';
  return !protocol && !BeginsRoute(first);
}

std::optional<Error> RefuseWeb(const Request& request, bool has_body) {
  if (request.method != Method::kGet) return WrongMethod(request, "GET");
  // Nobody needs a token here, so nobody's body is kept.
  if (has_body) return Error{Code::kBadRequest, "this request has no body", ""};
  return std::nullopt;
}

void ServeWeb(Call call) {
  const Request& request = call.request;
  const std::span<const WebAsset> assets = call.server.web;
  if (assets.empty()) {
    Error error = NoSuchPath(request);
    if (IsPage(request.path)) error.hint = "this program was built without its dashboard";
    if (IsDocument(request.path))
      error.hint = "this program was built without its documents; they are in docs/ of its sources";
    return call.Fail(error);
  }
  const WebAsset* asset = IsDocument(request.path) ? FindDocument(assets, request.path) : Find(assets, request.path);
  if (asset == nullptr && IsPage(request.path)) asset = Find(assets, kPage);
  if (asset == nullptr) {
    Error error = NoSuchPath(request);
    if (IsDocument(request.path)) error.hint = "all documents are listed at /docs/";
    return call.Fail(error);
  }

  const bool gzip = request.gzip && !asset->gzip.empty();
  const std::string_view tag = Unquoted(asset->etag);
  // Weak: the bytes are others when compressed, the content is the same.
  std::string extra = "ETag: W/\"" + std::string(tag) + "\"\r\n";
  if (!asset->gzip.empty()) extra.append("Vary: Accept-Encoding\r\n");
  extra.append(kSecurity);
  Response response;
  response.type = asset->type;
  response.cache =
      asset->path.substr(0, kHashed.size()) == kHashed ? "public, max-age=31536000, immutable" : "no-cache";
  if (Has(request.if_none_match, tag)) {
    response.status = 304;
  } else {
    if (gzip) extra.append("Content-Encoding: gzip\r\n");
    response.body = gzip ? asset->gzip : asset->plain;
  }
  response.extra = extra;
  call.reply.Send(response);
}

}  // namespace allot

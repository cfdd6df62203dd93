// SPDX-License-Identifier: Apache-2.0
// The dashboard's files, as they are in the program.
#pragma once

#include <span>
#include <string_view>

namespace allot {

struct WebAsset {
  std::string_view path;  // `/index.html`
  std::string_view type;  // its media type
  std::string_view etag;  // of its content; with the quotes or without
  std::string_view plain;
  std::string_view gzip;  // the same, compressed; empty: none
};

std::span<const WebAsset> WebAssets();  // sorted by path

}  // namespace allot

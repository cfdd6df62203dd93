// SPDX-License-Identifier: Apache-2.0
// Makes a C++ source of the files of a built dashboard: each plain and gzipped, as the program serves them.
//
//   node embed.mjs DIRECTORY OUTPUT
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';

const kTypes = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
};

const [root, output] = process.argv.slice(2);
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

const assets = files.map((file) => {
  const type = kTypes[extname(file)];
  if (!type) throw new Error(`embed.mjs: of what type is ${file}?`);
  const plain = readFileSync(file);
  const packed = gzipSync(plain, { level: 9 });
  packed[9] = 255; // The system it was made on is nobody's business, and differs.
  return {
    path: `/${relative(root, file).split('\\').join('/')}`,
    type,
    etag: `"${createHash('sha256').update(plain).digest('hex').slice(0, 20)}"`,
    plain,
    // What does not get smaller is served as it is.
    gzip: packed.length < plain.length ? packed : Buffer.alloc(0),
  };
});
assets.sort((a, b) => (a.path < b.path ? -1 : 1));

// The bytes as numbers, in lines: the few hundred kilobytes here cost the compiler a second or two.
function literal(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 32) lines.push([...bytes.subarray(at, at + 32)].join(','));
  return lines.join(',\n');
}

const parts = assets.map((asset, i) => {
  const array = (name, bytes) => `constexpr unsigned char k${name}${i}[] = {\n${bytes.length ? literal(bytes) : '0'}};\n`;
  return `// ${asset.path}\n${array('Plain', asset.plain)}${array('Gzip', asset.gzip)}`;
});
const rows = assets.map(
  (asset, i) =>
    `    {${JSON.stringify(asset.path)}, ${JSON.stringify(asset.type)}, ${JSON.stringify(asset.etag)}, Bytes(kPlain${i}, ${asset.plain.length}), Bytes(kGzip${i}, ${asset.gzip.length})},\n`,
);

mkdirSync(dirname(output), { recursive: true });
writeFileSync(
  output,
  `// Made by web/embed.mjs.
#include <cstddef>

#include "server/web_assets.h"

namespace allot {
namespace {

std::string_view Bytes(const unsigned char* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

${parts.join('\n')}
}  // namespace

std::span<const WebAsset> WebAssets() {
  static const WebAsset kAssets[] = {
${rows.join('')}  };
  return kAssets;
}

}  // namespace allot
`,
);

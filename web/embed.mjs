// SPDX-License-Identifier: Apache-2.0
// Makes a C++ source of the files of a built dashboard, and of the documents: each plain and gzipped, as the program
// serves them.
//
//   node embed.mjs OUTPUT DIRECTORY...
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

const [output, ...roots] = process.argv.slice(2);
const files = roots.flatMap((root) =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => ({ root, file: join(entry.parentPath ?? entry.path, entry.name) })),
);

const assets = files.map(({ root, file }) => {
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

// The bytes as strings in lines, which the compiler reads several times faster than numbers.
function literal(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 64) {
    let text = '';
    for (const byte of bytes.subarray(at, at + 64)) {
      const plain = byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c && byte !== 0x3f;
      // Always three digits: a figure behind it is not part of it.
      text += plain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
    }
    lines.push(`"${text}"`);
  }
  return lines.length ? lines.join('\n') : '""';
}

const parts = assets.map((asset, i) => {
  const array = (name, bytes) => `constexpr char k${name}${i}[] =\n${literal(bytes)};\n`;
  return `// ${asset.path}\n${array('Plain', asset.plain)}${array('Gzip', asset.gzip)}`;
});
const rows = assets.map(
  (asset, i) =>
    `    {${JSON.stringify(asset.path)}, ${JSON.stringify(asset.type)}, ${JSON.stringify(asset.etag)}, {kPlain${i}, ${asset.plain.length}}, {kGzip${i}, ${asset.gzip.length}}},\n`,
);

mkdirSync(dirname(output), { recursive: true });
writeFileSync(
  output,
  `// Made by web/embed.mjs.
#include "server/web_assets.h"

namespace allot {
namespace {

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

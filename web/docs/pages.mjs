// SPDX-License-Identifier: Apache-2.0
// Which documents are served, and where: all that links lead to from docs/README.md. Pages of docs/ keep their place
// below /docs/; what is elsewhere in the sources, a README of a client or an example, is below /docs/sources/.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';

const kInlineLink = /(?<!!)\[(?:[^\[\]\\]|\\.)*\]\(([^()\s]+)\)/g;
const kPictures = 'docs/pictures/';
const kMaxSource = 64 * 1024; // an example, a header; more is for who has the sources

/** Text without fenced blocks, code and remarks: what may have links. */
export function prose(text) {
  return text
    .replace(/^ *(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ *\1[^\n]*$/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/`[^`\n]+(?:\n[^`\n]+)?`/g, '``');
}

/** The address of a file of the sources, as a path from their root. */
export function addressOf(file) {
  if (file.startsWith('docs/')) {
    const place = file.slice('docs/'.length).replace(/\.md$/, '');
    return `/docs/${place.replace(/(^|\/)README$/, '$1')}`;
  }
  return `/docs/sources/${file.replace(/\.md$/, '').replace(/\/README$/, '')}`;
}

/** Where the page of an address is kept: /docs/start/submit → docs/start/submit.html. */
export function fileOf(address) {
  return `${address.slice(1)}${address.endsWith('/') ? 'index' : ''}.html`;
}

/** Resolves a link of a page: {file, anchor}, {url} for one to elsewhere, or null where it leads to nothing served. */
export function resolveLink(root, from, target) {
  if (/^[a-z][a-z+.-]*:/.test(target)) return { url: target };
  const [path, anchor = ''] = target.split('#');
  let file = path === '' ? from : normalize(join(dirname(from), path));
  if (file.startsWith('..')) return null;
  const here = resolve(root, file);
  if (!existsSync(here)) throw new Error(`${from}: there is no ${target}`);
  if (statSync(here).isDirectory()) {
    file = join(file, 'README.md');
    if (!existsSync(resolve(root, file))) return null;
  }
  if (file.endsWith('.md') || file === 'docs/openapi.json' || file.startsWith(kPictures)) return { file, anchor };
  return statSync(resolve(root, file)).size <= kMaxSource ? { file, anchor } : null;
}

/** All files that are served, by their paths from the root, with their texts. */
export function findPages(root) {
  const pages = new Map();
  const todo = ['docs/README.md'];
  while (todo.length > 0) {
    const file = todo.pop();
    if (pages.has(file)) continue;
    const text = readFileSync(resolve(root, file), 'utf8');
    pages.set(file, text);
    if (!file.endsWith('.md')) continue;
    for (const [, target] of prose(text).matchAll(kInlineLink)) {
      const to = resolveLink(root, file, target);
      if (to?.file) todo.push(to.file);
    }
  }
  return pages;
}

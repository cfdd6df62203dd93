// SPDX-License-Identifier: Apache-2.0
// Makes the documents that the server has at /docs/: node docs/build.mjs OUT VERSION
//
// Each page is a file of its own that needs no script. The script is for the search, whose index is read when somebody
// first looks for something.
import { build } from 'esbuild';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addressOf, fileOf, findPages, resolveLink } from './pages.mjs';
import { escapeHtml, renderPage } from './render.mjs';

const here = dirname(fileURLToPath(import.meta.url));

/** The groups of links in docs/README.md: what stands beside every page. */
export function navigation(root, index) {
  const groups = [];
  const [first, ...parts] = index.split(/^## /m);
  for (const part of [`Start\n${first}`, ...parts]) {
    const [heading, ...rest] = part.split('\n');
    const links = [...rest.join('\n').matchAll(/\[([^\]]+)\]\(([^()\s]+)\)/g)]
      .map(([, words, target]) => ({ words: words.replace(/`/g, ''), to: resolveLink(root, 'docs/README.md', target) }))
      .filter(({ to }) => to?.file?.endsWith('.md') && !to.anchor)
      .map(({ words, to }) => ({ words, address: addressOf(to.file) }));
    if (links.length > 0) groups.push({ heading, links });
  }
  return groups;
}

function page({ title, html, address, groups, version }) {
  const nav = groups
    .map(({ heading, links }) => {
      const items = links
        .map(({ words, address: to }) => `<li><a href="${to}"${to === address ? ' aria-current="page"' : ''}>${escapeHtml(words)}</a></li>`)
        .join('');
      return `<h2>${escapeHtml(heading)}</h2><ul>${items}</ul>`;
    })
    .join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · Allotter ${escapeHtml(version)}</title>
<link rel="icon" href="/docs/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/docs.css">
<script type="module" src="/docs/docs.js"></script>
</head>
<body class="docs">
<a class="skip" href="#main">Skip to content</a>
<header class="top">
<a class="brand" href="/" aria-label="Allotter: the dashboard"><img src="/docs/icon.svg" alt="" width="20" height="20"><span>Allotter</span></a>
<a href="/docs/">Documents of ${escapeHtml(version)}</a>
<div class="search" id="search" hidden></div>
</header>
<div class="docs-body">
<nav aria-label="documents"><details open><summary>Pages</summary>
${nav}
</details></nav>
<main id="main" tabindex="-1">
${html}</main>
</div>
</body>
</html>
`;
}

export async function buildDocs(root, out, version) {
  rmSync(join(out, 'docs'), { recursive: true, force: true });
  const write = (file, text) => {
    mkdirSync(dirname(join(out, file)), { recursive: true });
    writeFileSync(join(out, file), text);
  };
  const sources = findPages(root);
  const groups = navigation(root, sources.get('docs/README.md'));
  const rendered = new Map();
  for (const [file, text] of sources) {
    if (file !== 'docs/openapi.json') rendered.set(file, renderPage(root, file, text));
  }
  const index = [];
  for (const [file, { title, html, links, sections }] of rendered) {
    for (const { file: to, anchor, target } of links) {
      if (!to.startsWith('docs/') && !rendered.has(to)) throw new Error(`${file}: ${target} is not served`);
      if (anchor && rendered.has(to) && !rendered.get(to).ids.has(anchor)) throw new Error(`${file}: ${to} has no #${anchor}`);
    }
    const address = addressOf(file);
    write(fileOf(address), page({ title, html, address, groups, version }));
    for (const { anchor, heading, words } of sections) {
      const text = words.join(' ').replace(/\s+/g, ' ').trim();
      index.push({ page: address, title, anchor, heading, text });
    }
  }
  write(join('docs', 'search.json'), JSON.stringify(index));
  copyFileSync(join(root, 'docs/openapi.json'), join(out, 'docs/openapi.json'));
  copyFileSync(resolve(here, '../src/icon.svg'), join(out, 'docs/icon.svg'));
  const pictures = join(root, 'docs/pictures');
  if (existsSync(pictures)) {
    mkdirSync(join(out, 'docs/pictures'), { recursive: true });
    for (const name of readdirSync(pictures)) copyFileSync(join(pictures, name), join(out, 'docs/pictures', name));
  }
  await build({
    entryPoints: { docs: resolve(here, '../src/docs/main.ts') },
    outdir: join(out, 'docs'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2020',
    logLevel: 'warning',
  });
  return { pages: rendered.size, sections: index.length };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [out, version] = process.argv.slice(2);
  await buildDocs(resolve(here, '../..'), resolve(out), version);
}

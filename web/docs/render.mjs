// SPDX-License-Identifier: Apache-2.0
// A page's Markdown as HTML: headings and rows of tables have anchors, links lead to served pages, nothing is inline
// that the content security policy forbids.
import MarkdownIt from 'markdown-it';
import { addressOf, resolveLink } from './pages.mjs';

/** The anchor that GitHub gives a heading; tests/docs/pages_test.py has the same rule. */
export function slug(text) {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replace(/ /g, '-');
}

export const escapeHtml = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');

/** What people read of inline tokens. */
function plain(tokens) {
  return (tokens ?? [])
    .map((token) =>
      token.type === 'softbreak' || token.type === 'hardbreak' ? ' ' : token.children ? plain(token.children) : token.content,
    )
    .join('');
}

function unique(ids, wanted) {
  let id = wanted;
  for (let n = 1; ids.has(id); ++n) id = `${wanted}-${n}`;
  ids.add(id);
  return id;
}

// A row is found by its first cell: by the codes in it, else by its words. Headings come first, and keep their names.
function anchorRows(tokens, ids) {
  let first = false;
  for (let i = 0; i < tokens.length; ++i) {
    const token = tokens[i];
    if (token.type === 'tr_open') first = true;
    if (token.type !== 'td_open' || !first) continue;
    first = false;
    const inline = tokens[i + 1];
    const codes = inline.children.filter((child) => child.type === 'code_inline');
    const names = codes.length > 0 ? codes.map((child) => child.content) : [slug(plain(inline.children))];
    const free = names.filter((name) => name !== '' && /^[\w.*-]+$/.test(name) && !ids.has(name));
    for (const name of free) ids.add(name);
    token.meta = { anchors: free };
  }
}

/**
 * Renders a page: {title, html, ids, links, sections}. Sections are what the search looks through: of each heading its
 * anchor and the words below it.
 */
export function renderPage(root, file, text) {
  if (!file.endsWith('.md')) {
    const html = `<h1>${escapeHtml(file)}</h1>\n<pre><code>${escapeHtml(text)}</code></pre>\n`;
    return { title: file, html, ids: new Set(), links: [], sections: [] };
  }
  const md = new MarkdownIt({ html: true });
  const ids = new Set();
  const links = [];
  const sections = [];
  let title = '';

  const tokens = md.parse(text, {});
  let section = null;
  for (let i = 0; i < tokens.length; ++i) {
    const token = tokens[i];
    if (token.type === 'heading_open') {
      const words = plain(tokens[i + 1].children);
      const id = unique(ids, slug(words));
      token.attrSet('id', id);
      if (token.tag === 'h1' && title === '') title = words;
      section = { anchor: token.tag === 'h1' ? '' : id, heading: words, words: [] };
      sections.push(section);
      i += 1; // its own words are the heading's
    } else if (section && (token.type === 'inline' || token.type === 'fence')) {
      section.words.push(token.type === 'fence' ? token.content : plain(token.children));
    }
  }
  anchorRows(tokens, ids);

  const link = (tokens, i, options, env, self) => {
    const token = tokens[i];
    const target = token.attrGet('href');
    const to = resolveLink(root, file, decodeURI(target));
    if (to === null) {
      // In the sources alone: its words stay.
      token.tag = tokens[closing(tokens, i)].tag = 'span';
      token.attrs = [['class', 'elsewhere'], ['title', 'in the sources']]; // prettier-ignore
    } else if (to.url) {
      token.attrSet('rel', 'noreferrer');
    } else {
      const address = to.file === 'docs/openapi.json' ? '/docs/openapi.json' : addressOf(to.file);
      links.push({ file: to.file, anchor: to.anchor, target });
      token.attrSet('href', to.anchor ? `${address}#${to.anchor}` : address);
    }
    return self.renderToken(tokens, i, options);
  };
  const image = (tokens, i, options, env, self) => {
    const token = tokens[i];
    const to = resolveLink(root, file, token.attrGet('src'));
    if (!to?.file?.startsWith('docs/pictures/')) throw new Error(`${file}: a picture is not in docs/pictures/: ${token.attrGet('src')}`);
    token.attrSet('src', addressOf(to.file));
    token.attrSet('alt', plain(token.children));
    token.attrSet('loading', 'lazy');
    links.push({ file: to.file, anchor: '', target: token.attrGet('src') });
    return self.renderToken(tokens, i, options);
  };
  // Remarks are for the tests; an element that a page is written with is passed on.
  const html = (tokens, i) => tokens[i].content.replace(/<!--[\s\S]*?-->/g, '');
  const cell = (tokens, i, options, env, self) => {
    const token = tokens[i];
    const style = token.attrGet('style') ?? '';
    token.attrs = (token.attrs ?? []).filter(([name]) => name !== 'style');
    if (style.includes('right')) token.attrJoin('class', 'right');
    const anchors = (token.meta?.anchors ?? []).map((id) => `<a id="${escapeHtml(id)}"></a>`).join('');
    return self.renderToken(tokens, i, options) + anchors;
  };
  const rules = md.renderer.rules;
  rules.link_open = link;
  rules.image = image;
  rules.html_block = rules.html_inline = html;
  rules.td_open = rules.th_open = cell;
  rules.table_open = () => '<div class="table"><table>\n';
  rules.table_close = () => '</table></div>\n';
  const body = md.renderer.render(tokens, md.options, {});
  for (const [, id] of body.matchAll(/<a (?:id|name)="([^"]+)"/g)) ids.add(id);
  return { title: title || file, html: body, ids, links, sections };
}

function closing(tokens, open) {
  let depth = 0;
  for (let i = open; ; ++i) {
    depth += tokens[i].nesting;
    if (depth === 0) return i;
  }
}

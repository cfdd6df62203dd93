// SPDX-License-Identifier: Apache-2.0
// Documents as pages: built from the real ones, whose links and anchors the build itself follows.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildDocs } from './build.mjs';
import { addressOf, fileOf } from './pages.mjs';
import { renderPage } from './render.mjs';

const root = new URL('../..', import.meta.url).pathname;
const page = (text) => renderPage(root, 'docs/faq.md', text);

describe('a page', () => {
  test('is where its source is', () => {
    expect(addressOf('docs/README.md')).toBe('/docs/');
    expect(addressOf('docs/start/submit.md')).toBe('/docs/start/submit');
    expect(addressOf('docs/reference/protocol/README.md')).toBe('/docs/reference/protocol/');
    expect(addressOf('clients/python/README.md')).toBe('/docs/sources/clients/python');
    expect(fileOf('/docs/')).toBe('docs/index.html');
    expect(fileOf('/docs/start/submit')).toBe('docs/start/submit.html');
  });
  test('has the anchors that GitHub gives headings, and the rows of its tables', () => {
    const { html, ids, title } = page('# A `b`, c\n## A b\n## A b\n| code | is |\n|---|---|\n| `x_y`, `z` | *1* |\n| two words | 2 |\n');
    expect(title).toBe('A b, c');
    expect(html).toContain('<h2 id="a-b-1">');
    expect([...ids]).toEqual(['a-b-c', 'a-b', 'a-b-1', 'x_y', 'z', 'two-words']);
    expect(html).toContain('<td><a id="x_y"></a><a id="z"></a>');
  });
  test('leads to pages, examples and elsewhere; what is not served is no link', () => {
    const { html } = page(
      '[a](start/submit.md#submit-safely) [b](../examples/scale-workers.sh) [c](../examples/keda) [d](https://x.example)',
    );
    expect(html).toContain('href="/docs/start/submit#submit-safely"');
    expect(html).toContain('href="/docs/sources/examples/scale-workers.sh"');
    expect(html).toContain('<span class="elsewhere" title="in the sources">c</span>');
    expect(html).toContain('href="https://x.example" rel="noreferrer"');
    expect(() => page('[a](gone.md)')).toThrow('there is no gone.md');
  });
  test('has nothing inline, and no remarks', () => {
    const { html } = page('<!-- not run: why -->\n```sh\na <b> # <!-- kept -->\n```\n| a | b |\n|---|--:|\n| 1 | 2 |\n');
    expect(html).not.toContain('not run');
    expect(html).toContain('a &lt;b&gt; # &lt;!-- kept --&gt;');
    expect(html).not.toMatch(/\bstyle=/);
    expect(html).toContain('<td class="right">2');
  });
});

describe('all documents', () => {
  const out = mkdtempSync(join(tmpdir(), 'allot-docs-'));
  let built = { pages: 0, sections: 0 };
  beforeAll(async () => {
    built = await buildDocs(root, out, '1.2.3');
  });
  afterAll(() => rmSync(out, { recursive: true }));

  test('are built, and their links and anchors lead somewhere', () => {
    expect(built.pages).toBeGreaterThan(50);
    expect(built.sections).toBeGreaterThan(300);
    const html = readFileSync(join(out, 'docs/index.html'), 'utf8');
    expect(html).toContain('Documents of 1.2.3');
    expect(html).not.toMatch(/<script>|<style| on[a-z]+="| style="/);
  });
  test('can be searched, with little to read', () => {
    const text = readFileSync(join(out, 'docs', 'search.json'), 'utf8');
    expect(JSON.parse(text)).toHaveLength(built.sections);
    expect(text.length).toBeLessThan(700_000);
  });
});

// SPDX-License-Identifier: Apache-2.0
// The documents that the server has at /docs/: pages, the search, and the ways that lead there from the dashboard.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { allPages, Tab } from './pages.mjs';
import { seed } from './seed.mjs';
import { Server } from './server.mjs';

export function docsCases(world) {
  describe('the documents', () => {
    let server;
    let ids;
    before(async () => {
      server = await Server.start();
      ids = await seed(server);
    });
    after(() => server?.stop());

    const unescaped = (text) => text.replace(/&quot;/g, '"').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&');

    it('lead to each other, and to nothing that is not there', { timeout: 60_000 }, async () => {
      const pages = new Map();
      const wanted = [];
      const todo = ['/docs/'];
      while (todo.length > 0) {
        const path = todo.pop();
        if (pages.has(path)) continue;
        const answer = await fetch(server.url + path);
        assert.equal(answer.status, 200, path);
        const html = answer.headers.get('content-type').startsWith('text/html') ? await answer.text() : '';
        pages.set(path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => unescaped(id))));
        for (const [, target] of html.matchAll(/ (?:href|src)="([^"]+)"/g)) {
          if (!target.startsWith('/')) {
            assert.match(target, /^(https?:\/\/|#)/, `${path}: ${target}`);
            continue;
          }
          const [to, anchor] = unescaped(target).split('#');
          if (anchor) wanted.push({ path, to, anchor });
          if (to !== '/') todo.push(to);
        }
      }
      assert.ok(pages.size > 60, `only ${pages.size} pages`);
      assert.ok(wanted.length > 100, `only ${wanted.length} anchors`);
      for (const { path, to, anchor } of wanted) assert.ok(pages.get(to).has(anchor), `${path}: ${to} has no #${anchor}`);
    });

    it('are those of the server, and need no script to be read', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/docs/');
      const { version } = await server.get('/v1/server');
      await tab.shows(`Documents of ${version}`, 'header');
      await tab.page.locator('#main').getByRole('link', { name: 'I submit work' }).click();
      await tab.page.waitForURL('**/docs/start/submit');
      await tab.shows('I submit work');
      assert.equal(await tab.page.locator('nav a[aria-current="page"]').innerText(), 'I submit work');
      await tab.page.locator('header .brand').click();
      await tab.shows('Queues');
      tab.clean();
      await tab.close();
    });

    it('are searched, by mouse and keyboard', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/docs/faq');
      const field = tab.page.getByLabel('search the documents');
      await field.waitFor();
      await tab.page.keyboard.press('/');
      await tab.page.keyboard.type('max_simultan');
      const first = tab.page.locator('#found a').first();
      await first.waitFor();
      assert.match(await tab.text('#found'), /max_simultaneous/);
      await tab.page.keyboard.press('ArrowDown');
      await tab.page.keyboard.press('Enter');
      await tab.page.waitForURL('**/docs/reference/strategies#max_simultaneous');
      await tab.page.getByLabel('search the documents').fill('zzyzzx qwertz');
      await tab.shows('Nothing has all of these words', '#found');
      await tab.page.keyboard.press('Escape');
      assert.equal(await tab.page.locator('#found').isVisible(), false);
      await field.fill('idempotency');
      await tab.page.locator('#found a').first().click();
      await tab.shows(/idempotency/i);
      tab.clean();
      await tab.close();
    });

    for (const [theme, width] of [['light', 360], ['dark', 1400]]) {
      it(`have no page that scrolls sideways: ${theme}, ${width} px`, { timeout: 60_000 }, async () => {
        const tab = await Tab.open(world.browser, server, '/docs/', { width, height: 800, theme });
        for (const path of ['/docs/', '/docs/architecture', '/docs/reference/errors', '/docs/reference/metrics', '/docs/reference/protocol/explain', '/docs/glossary', '/docs/reference/states']) {
          await tab.go(path);
          const { by, wide } = await tab.sideways();
          assert.ok(by <= 0, `${path} sticks out by ${by} px at ${width} px: ${wide.join('; ')}`);
        }
        assert.equal(await tab.page.evaluate(() => document.documentElement.dataset.theme), theme);
        tab.clean();
        await tab.close();
      });
    }

    // A link that opens a page of its own.
    const follows = async (tab, link, address) => {
      const [page] = await Promise.all([tab.context.waitForEvent('page'), link.click()]);
      await page.waitForLoadState();
      assert.equal(page.url(), server.url + address);
      const anchor = address.split('#')[1];
      if (anchor) await page.locator(`[id="${anchor}"]`).waitFor({ state: 'attached' });
      await page.close();
    };

    it('say what a word, a reason and an error of the dashboard mean', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, `/jobs/${ids.stuck}`);
      await tab.page.locator('.verdict').first().waitFor();
      const code = await tab.page.locator('.verdict a code').first().innerText();
      await follows(tab, tab.page.locator('.verdict a').first(), `/docs/reference/protocol/explain#${code}`);
      await follows(tab, tab.page.locator('dt a.term', { hasText: /^tags$/ }).first(), '/docs/glossary#tag');
      await follows(tab, tab.page.locator('header').getByRole('link', { name: 'Docs' }), '/docs/');
      await tab.go(allPages({ ...ids, job: '123' }).job);
      await tab.shows('unknown_job');
      await follows(tab, tab.page.getByRole('link', { name: 'unknown_job' }).first(), '/docs/reference/errors#unknown_job');
      tab.clean(/status of 404/);
      await tab.close();
    });
  });
}

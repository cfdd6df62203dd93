// SPDX-License-Identifier: Apache-2.0
// All of it by keyboard.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Tab } from './pages.mjs';
import { eventually, Server } from './server.mjs';

export function keyboardCases(world) {
  describe('the keyboard', () => {
    let server;
    let ids;
    before(async () => {
      server = await Server.start();
      ids = [];
      for (let i = 0; i < 3; i++) ids.unshift(await server.submit({ tag: 'k', count: 4 }));
    });
    after(() => server?.stop());
    const active = (tab) => tab.page.evaluate(() => {
      const { activeElement: at } = document;
      const style = getComputedStyle(at);
      return { row: at.dataset.row, filter: 'filter' in at.dataset, tag: at.tagName, text: at.textContent,
        ring: (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none' };
    });

    it('goes to pages by g and a letter', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/');
      const keys = tab.page.keyboard;
      for (const [key, path] of [['j', '/q/default/jobs'], ['w', '/workers'], ['s', '/sharing'], ['l', '/limits'], ['t', '/strategies'], ['o', '/q/default'], ['q', '/']]) {
        await keys.press('g');
        await keys.press(key);
        await eventually(`at ${path}`, () => new URL(tab.page.url()).pathname === path);
        await tab.page.locator('#main h1').first().waitFor();
      }
      tab.clean();
      await tab.close();
    });

    it('walks rows by j and k, opens one by Enter, and filters by /', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/q/default/jobs');
      const keys = tab.page.keyboard;
      await tab.row(ids[2]).waitFor();
      await keys.press('j');
      assert.deepEqual(await active(tab), { ...(await active(tab)), row: ids[0], ring: true });
      await keys.press('j');
      await keys.press('j');
      assert.equal((await active(tab)).row, ids[2]);
      await keys.press('k');
      assert.equal((await active(tab)).row, ids[1]);
      // What comes meanwhile does not take the row away.
      const late = await server.submit({ tag: 'k', count: 1 });
      await tab.row(late).waitFor();
      assert.equal((await active(tab)).row, ids[1]);
      await keys.press('x');
      await tab.shows('1 selected', '.bulk');
      await keys.press('Enter');
      await eventually('opened', () => tab.page.url().endsWith(`/jobs/${ids[1]}`));
      await tab.page.goBack();
      await tab.row(ids[0]).waitFor();
      await keys.press('/');
      assert.equal((await active(tab)).filter, true);
      // Letters are text there, until Escape.
      await keys.type('gj?');
      assert.equal(await tab.page.getByLabel('tag', { exact: true }).inputValue(), 'gj?');
      await keys.press('Escape');
      assert.equal((await active(tab)).tag, 'BODY');
      tab.clean();
      await tab.close();
    });

    it('lists the keys by ?, and closes by Escape, and gives the focus back', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/q/default/jobs');
      const keys = tab.page.keyboard;
      await tab.row(ids[0]).waitFor();
      await keys.press('j');
      const { row } = await active(tab);
      await keys.press('?');
      await tab.shows(['Keys', 'Next and previous row'], 'dialog[open]');
      // Nothing behind it is reached.
      await keys.press('j');
      await keys.press('Tab');
      await keys.press('Tab');
      assert.ok(await tab.page.evaluate(() => document.activeElement === document.body || document.activeElement.closest('dialog') !== null));
      await keys.press('Escape');
      await tab.page.locator('dialog').waitFor({ state: 'detached' });
      assert.equal((await active(tab)).row, row);
      tab.clean();
      await tab.close();
    });

    it('shows where the focus is, from the first Tab on', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/q/default/jobs');
      const keys = tab.page.keyboard;
      await tab.row(ids[0]).waitFor();
      await keys.press('Tab');
      assert.match((await active(tab)).text, /Skip to content/);
      for (let i = 0; i < 25; i++) {
        await keys.press('Tab');
        const at = await active(tab);
        assert.ok(at.ring || at.tag === 'BODY', `no ring around ${at.tag} ${at.text?.slice(0, 40)}`);
      }
      tab.clean();
      await tab.close();
    });

    it('asks before it cancels: Enter keeps, as the safe answer has the focus', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, `/jobs/${ids[0]}`);
      const keys = tab.page.keyboard;
      await tab.button('Cancel').focus();
      await keys.press('Enter');
      await tab.asked();
      await keys.press('Enter');
      await tab.page.locator('dialog').waitFor({ state: 'detached' });
      assert.equal((await server.job(ids[0])).state, 'active');
      tab.clean();
      await tab.close();
    });

    it('walks the picture of a job by arrows, and goes in by Enter', { timeout: 60_000 }, async () => {
      const id = await server.submit({ tag: 'p', count: 1_000_000_000 });
      const tab = await Tab.open(world.browser, server, `/jobs/${id}`);
      const keys = tab.page.keyboard;
      const strip = tab.page.locator('.strip');
      await strip.waitFor();
      // Until the part is drawn the keys mean the one before, which changes nothing.
      for (let depth = 0; depth < 12 && !tab.page.url().includes('task='); depth++) {
        const before = tab.page.url();
        await eventually('further in', async () => {
          await strip.focus();
          await keys.press('End');
          await keys.press('Enter');
          return tab.page.url() !== before;
        });
      }
      assert.equal(new URL(tab.page.url()).searchParams.get('task'), '999999999');
      await tab.shows('Task 999,999,999', '#one-task');
      tab.clean(/status of 404/);
      await tab.close();
    });
  });
}

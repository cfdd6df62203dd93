// SPDX-License-Identifier: Apache-2.0
// How pages look: nothing sticks out on a phone, and both themes are drawn. With ALLOT_SHOTS pictures of all are taken.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { allPages, Tab } from './pages.mjs';
import { seed } from './seed.mjs';
import { Server } from './server.mjs';

const kShots = process.env.ALLOT_SHOTS ?? '';

export function lookCases(world) {
  describe('the looks', () => {
    let server;
    let ids;
    before(async () => {
      server = await Server.start();
      ids = await seed(server);
      // Names as long as they may be.
      await server.worker({ name: 'w'.repeat(128), tags: ['t'.repeat(128), 'square'], slots: 10_000, properties: { gpu: 'g'.repeat(128) }, strategy: `select_only(user = "${'s'.repeat(100)}", oldest)` });
      await server.submit({ tags: ['t'.repeat(128), 'u'.repeat(128)], user: 'n'.repeat(128), count: 4_294_967_295, requirements: `TARGET.x == "${'r'.repeat(400)}"`, meta: { ['k'.repeat(64)]: 'v'.repeat(1024) } });
      await server.api('PUT', `/v1/queues/default/limits/${'l'.repeat(64)}`, { tag: 't'.repeat(128), name: 'm'.repeat(128), expr: `MY.User == "${'n'.repeat(128)}"`, count: 1e12, window_ms: 1000, expires_in_ms: 300_000 });
      if (kShots) mkdirSync(kShots, { recursive: true });
    });
    after(() => server?.stop());

    const places = () => ({ ...allPages(ids), stuck: `/jobs/${ids.stuck}`, task: `/jobs/${ids.job}?task=100`, new_limit: '/limits?new=1', tried: '/strategies?s=fair(user%2C+oldest)',
      long_job: '/jobs/last', long_limit: `/limits/${'l'.repeat(64)}` });
    const backgrounds = {};
    for (const theme of ['light', 'dark']) {
      for (const width of [360, 1400]) {
        it(`has no page that scrolls sideways: ${theme}, ${width} px`, { timeout: 90_000 }, async () => {
          const tab = await Tab.open(world.browser, server, '/', { width, height: width === 360 ? 740 : 900, theme });
          for (const [name, path] of Object.entries(places())) {
            await tab.go(path);
            await tab.page.locator('#main h1').first().waitFor();
            await tab.shows(/^(?!.*loading…)/s);
            const { by, wide } = await tab.sideways();
            assert.ok(by <= 0, `${name} sticks out by ${by} px at ${width} px: ${wide.join('; ')}`);
            if (kShots) await tab.page.screenshot({ path: join(kShots, `${name}-${theme}-${width}.png`), fullPage: true });
          }
          assert.equal(await tab.page.evaluate(() => document.documentElement.dataset.theme), theme);
          backgrounds[theme] = await tab.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
          tab.clean(/status of 404/);
          await tab.close();
        });
      }
    }

    it('draws the themes apart, and remembers the one that was chosen', { timeout: 60_000 }, async () => {
      assert.notEqual(backgrounds.light, backgrounds.dark);
      const tab = await Tab.open(world.browser, server, '/q/default', { theme: 'dark' });
      const theme = () => tab.page.evaluate(() => document.documentElement.dataset.theme);
      assert.equal(await theme(), 'dark');
      await tab.page.getByRole('button', { name: /^theme: auto/ }).click();
      assert.equal(await theme(), 'light');
      await tab.page.reload();
      await tab.shows('Why tasks wait');
      assert.equal(await theme(), 'light');
      tab.clean();
      await tab.close();
    });

    it('draws a phone’s sign-in and questions without scrolling sideways', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/q/default/jobs', { width: 360, height: 740 });
      await tab.press('Cancel…', '.bulk');
      await tab.asked();
      assert.ok((await tab.sideways()).by <= 0);
      if (kShots) await tab.page.screenshot({ path: join(kShots, 'question-light-360.png') });
      await tab.sure('Keep as it is');
      await tab.page.keyboard.press('?');
      await tab.page.locator('dialog[open]').waitFor();
      assert.ok((await tab.sideways()).by <= 0);
      if (kShots) await tab.page.screenshot({ path: join(kShots, 'keys-light-360.png') });
      await tab.close();
    });
  });
}

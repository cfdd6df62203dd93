// SPDX-License-Identifier: Apache-2.0
// Every page opens and shows what is there, with nothing from elsewhere.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { allPages, Tab } from './pages.mjs';
import { seed } from './seed.mjs';
import { Server } from './server.mjs';

export function pageCases(world) {
  describe('each page', () => {
    let server;
    let ids;
    before(async () => {
      server = await Server.start();
      ids = await seed(server);
    });
    after(() => server?.stop());

    // What a page must show, and where it is when not at its usual place.
    const wanted = {
      queues: () => ({ texts: ['Queues', 'default', 'renders'] }),
      overview: () => ({ texts: ['default', 'Why tasks wait', 'no match', 'How the queue is set up', 'fair(user, worker)', 'no worker can run'] }),
      jobs: () => ({ texts: ['Jobs', ids.job, ids.render, ids.stuck, ids.cancelled, 'ann', 'erik', 'square', 'scheduled', 'paused', 'done', 'failed', 'cancelled'] }),
      job: () => ({ texts: [`Job ${ids.job}`, 'exit status #', 'connection to', 'lighthouse', 'One by one', '0 – 399', 'ann', 'As it was submitted'] }),
      workers: () => ({ texts: ['host-1', 'host-2', 'host-3', 'draining', 'gpu=a100', 'prefer_distinct(user, 1, oldest)'] }),
      worker: () => ({ texts: ['Worker host-1', 'What it would get next', 'memory', '4096', 'Tasks it runs', 'Why not the others'] }),
      sharing: () => ({ texts: ['ann', 'bob', 'carl', 'erik', 'user.ann', 'mean wait'] }),
      limits: () => ({ texts: ['carl, slowly', 'all starts', 'monitor', 'ops'] }),
      limit: () => ({ texts: ['Limit carl, slowly', 'MY.User == "carl"', 'Terms', 'carl-slowly'] }),
      strategies: () => ({ texts: ['What would come next', 'priority', 'fair(user, oldest)', ids.job] }),
    };
    for (const [name, want] of Object.entries(wanted)) {
      it(`shows what is there: ${name}`, { timeout: 60_000 }, async () => {
        const tab = await Tab.open(world.browser, server, allPages(ids)[name]);
        const { texts } = want();
        await tab.shows(texts);
        assert.match(await tab.page.title(), /Allotter$/);
        assert.equal(await tab.page.locator('#main [role=alert]:has-text("_")').count(), 0, 'an error is shown');
        tab.clean();
        await tab.close();
      });
    }

    it('shows a task with payload, result and receipt', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, `/jobs/${ids.job}?task=100`);
      await tab.shows(['Task 100', '"n": 100', '10000', 'How its last start was decided', 'host-1'], '#one-task');
      // A part of the picture, and the tasks from there.
      await tab.go(`/jobs/${ids.job}?from=100&to=120`);
      await tab.shows(['100 – 119', 'Zoom out'], '[aria-label="picture of its tasks"]');
      await tab.press('All', '[aria-label="picture of its tasks"]');
      await tab.shows('0 – 399', '[aria-label="picture of its tasks"]');
      // An error leads to its tasks.
      await tab.press('exit status #', '[aria-label=errors]');
      await tab.page.waitForURL(/tstate=failed/);
      await tab.shows(/exit status \d/, '[aria-label=tasks]');
      tab.clean();
      await tab.close();
    });

    it('explains what does not run, in words and by stages', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, `/jobs/${ids.stuck}`);
      await tab.shows(['tag_never_seen', 'square']);
      await tab.go(`/jobs/${ids.stuck}?worker=${ids.worker}`);
      await tab.shows(['mismatch', 'TARGET.memory >= 8192']);
      await tab.go(`/jobs/${ids.limited}`);
      await tab.shows(['carl, slowly']);
      tab.clean();
      await tab.close();
    });

    it('goes between pages without loading anew, and back', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/');
      await tab.page.getByRole('link', { name: 'default', exact: true }).click();
      await tab.shows('Why tasks wait');
      const walk = [['Jobs', ids.job], ['Workers', 'host-1'], ['Sharing', 'mean wait'], ['Limits', 'carl, slowly'], ['Strategies', 'What would come next']];
      for (const [name, text] of walk) {
        await tab.page.getByRole('navigation', { name: 'pages', exact: true }).getByRole('link', { name, exact: true }).click();
        await tab.shows(text);
      }
      assert.equal(tab.requests.filter(({ document }) => document).length, 1);
      await tab.page.goBack();
      await tab.shows('carl, slowly');
      // The other queue has the same pages.
      await tab.page.locator('.queue-switch select').selectOption('renders');
      await tab.shows('No limits');
      assert.match(tab.page.url(), /q=renders/);
      tab.clean();
      await tab.close();
    });

    it('says so where there is nothing', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/nothing/here');
      await tab.shows('No such page');
      for (const [path, text] of [['/jobs/999999', 'there is no job'], ['/workers/999999', 'worker'], ['/limits/none', 'There is no such limit'], ['/q/none', 'queue'],
        ['/q/renders/jobs', 'No jobs yet'], ['/workers?q=renders', 'No workers']]) {
        await tab.go(path);
        await tab.shows(text);
      }
      tab.clean(/status of 404/);
      await tab.close();
    });
  });
}

// SPDX-License-Identifier: Apache-2.0
// What is done by pages is done: the API tells.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Tab } from './pages.mjs';
import { eventually, Server } from './server.mjs';

export function actionCases(world) {
  describe('actions', () => {
    let server;
    before(async () => {
      server = await Server.start();
    });
    after(() => server?.stop());
    const limit = async (uuid) => (await server.get(`/v1/queues/default/limits?uuid=${uuid}`)).limits[0];

    it('pauses, resumes and cancels one job, and sets its priority', { timeout: 60_000 }, async () => {
      const id = await server.submit({ tag: 'one', count: 7 });
      const tab = await Tab.open(world.browser, server, `/jobs/${id}`);
      await tab.press('Pause');
      await eventually('paused', async () => (await server.job(id)).paused);
      await tab.press('Resume');
      await eventually('resumed', async () => !(await server.job(id)).paused);
      await tab.press('Priority…');
      await tab.page.locator('dialog[open] input').fill('42');
      await tab.sure('Set');
      assert.equal((await server.job(id)).priority, 42);
      await tab.press('Cancel');
      assert.match(await tab.asked(), /Cancel job .* \(7 tasks\)\?/);
      // Not sure: nothing happens.
      await tab.sure('Keep as it is');
      assert.equal((await server.job(id)).state, 'active');
      await tab.press('Cancel');
      await tab.asked();
      await tab.sure('Cancel the job');
      await tab.toast(`Cancelled: job ${id}`);
      assert.equal((await server.job(id)).state, 'cancelled');
      await tab.press('Retry');
      await tab.toast(/Retried: 7 tasks/);
      assert.equal((await server.job(id)).state, 'active');
      tab.clean();
      await tab.close();
    });

    it('does it to all that a filter finds, once their count was seen, and to none that came meanwhile', { timeout: 60_000 }, async () => {
      const jobs = Array.from({ length: 60 }, () => ({ tag: 'bulk', count: 2, user: 'ann' }));
      const made = (await server.post('/v1/queues/default/jobs/batch', { jobs })).jobs.map(({ id }) => id);
      const other = await server.submit({ tag: 'other', count: 1, user: 'ann' });
      const tab = await Tab.open(world.browser, server, '/q/default/jobs?tag=bulk');
      await tab.row(made.at(-1)).waitFor();
      await tab.press('Cancel…', '.bulk');
      assert.equal(await tab.asked(), 'Cancel 60 jobs (120 tasks)?');
      const late = await server.submit({ tag: 'bulk', count: 2, user: 'ann' });
      await tab.sure('Cancel 60 jobs');
      await tab.toast('Cancelled: 60 jobs');
      for (const id of [made[0], made[30], made[59]]) assert.equal((await server.job(id)).state, 'cancelled');
      for (const id of [late, other]) assert.equal((await server.job(id)).state, 'active');
      assert.equal((await server.get('/v1/queues/default/jobs?tag=bulk&state=cancelled&limit=1000')).jobs.length, 60);
      tab.clean();
      await tab.close();
    });

    it('does it to those that were selected', { timeout: 60_000 }, async () => {
      const jobs = Array.from({ length: 5 }, () => ({ tag: 'pick', count: 1 }));
      const ids = (await server.post('/v1/queues/default/jobs/batch', { jobs })).jobs.map(({ id }) => id);
      const tab = await Tab.open(world.browser, server, '/q/default/jobs?tag=pick');
      for (const id of ids.slice(1, 3)) await tab.page.getByLabel(`select ${id}`).check();
      await tab.shows('2 selected', '.bulk');
      await tab.press('Pause', '.bulk');
      await tab.asked();
      await tab.sure('Pause 2 jobs');
      await tab.toast('Paused: 2 jobs');
      const paused = await Promise.all(ids.map(async (id) => (await server.job(id)).paused));
      assert.deepEqual(paused, [false, true, true, false, false]);
      // The action of a row is of that row.
      await tab.row(ids[0]).getByRole('button', { name: 'Pause' }).click();
      await eventually('paused', async () => (await server.job(ids[0])).paused);
      tab.clean();
      await tab.close();
    });

    it('filters by what is typed, and keeps the filter in the address', { timeout: 60_000 }, async () => {
      const [a, b] = [await server.submit({ tag: 'f1', user: 'fay', count: 1 }), await server.submit({ tag: 'f2', user: 'fay', count: 1 })];
      const tab = await Tab.open(world.browser, server, '/q/default/jobs?user=fay');
      await tab.row(a).waitFor();
      await tab.row(b).waitFor();
      await tab.page.getByLabel('tag', { exact: true }).fill('f1');
      await tab.row(b).waitFor({ state: 'detached' });
      await tab.page.waitForURL(/tag=f1/);
      assert.equal(await tab.row(a).count(), 1);
      await tab.page.locator('.filters select').selectOption('done');
      await tab.shows('No jobs that are done, with the tag f1, of fay');
      tab.clean();
      await tab.close();
    });

    it('drains and changes workers', { timeout: 60_000 }, async () => {
      const one = await server.worker({ name: 'to-drain', tags: ['d'], slots: 1 });
      const two = await server.worker({ name: 'to-change', tags: ['d'], slots: 1 });
      const tab = await Tab.open(world.browser, server, '/workers');
      await tab.row(one.id).getByRole('button', { name: 'Drain' }).click();
      assert.match(await tab.asked(), /Drain the worker to-drain/);
      await tab.sure('Drain');
      await eventually('drains', async () => (await server.get(`/v1/queues/default/workers/${one.id}`)).draining);
      await tab.shows('draining', `[data-row="${one.id}"]`);
      await tab.row(two.id).getByRole('link').first().click();
      await tab.press('Change…');
      await tab.page.getByLabel('tags, separated by spaces').fill('d extra');
      await tab.sure('Change');
      assert.deepEqual((await server.get(`/v1/queues/default/workers/${two.id}`)).tags, ['d', 'extra']);
      await tab.shows('extra');
      await tab.press('Drain…');
      await tab.asked();
      await tab.sure('Drain');
      await eventually('drains', async () => (await server.get(`/v1/queues/default/workers/${two.id}`)).draining);
      tab.clean();
      await tab.close();
    });

    it('makes, changes, renews and deletes a limit', { timeout: 60_000 }, async () => {
      await server.submit({ tag: 'l', user: 'lea', count: 12 });
      const tab = await Tab.open(world.browser, server, '/limits');
      await tab.press('New limit');
      const field = (name) => tab.page.getByLabel(name, { exact: true });
      await field('applies to starts for which this is true').fill('MY.User == ');
      await tab.page.locator('.place').waitFor();
      await field('applies to starts for which this is true').fill('MY.User == "lea"');
      await tab.shows(['1 job', '12 tasks', 'lea'], '.preview');
      await field('count').fill('3');
      await field('name').fill('lea, slowly');
      await field('uuid').fill('lea-1');
      await tab.press('Set', '[aria-label="a new limit"]');
      await tab.page.waitForURL(/\/limits\/lea-1/);
      await tab.shows(['Limit lea, slowly', 'MY.User == "lea"']);
      assert.equal((await limit('lea-1')).count, 3);
      await tab.press('Edit');
      await field('count').fill('0');
      await tab.press('Change', '[aria-label=edit]');
      await eventually('changed', async () => (await limit('lea-1')).count === 0);
      await tab.shows('stops all');
      const before = await eventually('some of its lease is over', async () => {
        const { expires_in_ms: left } = await limit('lea-1');
        return left < 299_500 && left;
      });
      await tab.press('Renew');
      await tab.toast(/Renewed for/);
      const renewed = (await limit('lea-1')).expires_in_ms;
      assert.ok(renewed > before, `${renewed} after ${before}`);
      await tab.press('Delete…');
      await tab.asked();
      await tab.sure('Delete');
      await tab.page.waitForURL(/\/limits$/);
      assert.equal(await limit('lea-1'), undefined);
      await tab.shows('No limits');
      tab.clean(/status of 400/);
      await tab.close();
    });

    it('tells where an expression or a strategy is wrong', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/strategies');
      await tab.page.getByRole('textbox', { name: 'strategy', exact: true }).fill('fair(user, oldst)');
      await tab.shows(/old/, '.place');
      assert.ok((await tab.page.locator('.place mark').innerText()).length > 0);
      tab.clean(/status of 400/);
      await tab.close();
    });

    it('pauses the queue, and resumes it from the banner', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/q/default');
      await tab.press('Pause', '#main .head');
      await tab.asked();
      await tab.sure('Pause');
      await eventually('paused', async () => (await server.get('/v1/queues/default')).paused);
      await tab.page.locator('.banner:has-text("paused")').waitFor();
      await tab.press('Resume', '.banner');
      await eventually('resumed', async () => !(await server.get('/v1/queues/default')).paused);
      await tab.page.locator('.banner:has-text("paused")').waitFor({ state: 'detached' });
      tab.clean();
      await tab.close();
    });

    it('tries a strategy: what would come next, and why', { timeout: 60_000 }, async () => {
      const ben = await server.submit({ tag: 's', user: 'ben', count: 30 });
      const tab = await Tab.open(world.browser, server, '/strategies');
      await tab.page.getByRole('textbox', { name: 'strategy', exact: true }).fill('fair(user, oldest)');
      await tab.page.getByRole('combobox', { name: 'for a worker' }).selectOption('tags');
      await tab.page.getByLabel('its tags, separated by spaces').fill('s l');
      await tab.shows(['ben', 'lea', 'fair ben', 'fair lea'], '[aria-label="next picks"]');
      await tab.page.getByLabel('why, of all').check();
      await tab.shows(['shares between users', 'the oldest job first', ben], '[aria-label="next picks"]');
      // By turns, as a fair order is.
      const users = (await tab.page.locator('[aria-label="next picks"] [data-row] a.user').allInnerTexts()).slice(0, 4);
      assert.equal(new Set(users.slice(0, 2)).size, 2, users.join());
      await tab.page.waitForURL(/s=fair/);
      tab.clean();
      await tab.close();
    });

    it('sets the weight of a user', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/sharing');
      await tab.row('ben').getByRole('button').click();
      await tab.page.locator('dialog[open] input').fill('4');
      await tab.sure('Set');
      await eventually('weighs', async () => (await server.get('/v1/queues/default')).settings.weights['user.ben'] === 4);
      await tab.shows('user.ben', '[aria-label=weights]');
      tab.clean();
      await tab.close();
    });

    it('tells what the server refuses', { timeout: 60_000 }, async () => {
      const id = await server.submit({ tag: 'gone', count: 1 });
      const tab = await Tab.open(world.browser, server, `/jobs/${id}`);
      await tab.button('Pause').waitFor();
      await tab.page.route('**/pause', async (route) => {
        await server.post(`/v1/queues/default/jobs/${id}/cancel`);
        await route.continue();
      });
      await tab.press('Pause');
      await tab.page.locator('.toast-failed').waitFor();
      tab.clean(/status of 409/);
      await tab.close();
    });
  });
}

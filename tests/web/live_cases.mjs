// SPDX-License-Identifier: Apache-2.0
// What happens is seen as it happens: without loading anew, by streams.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Tab } from './pages.mjs';
import { eventually, Server } from './server.mjs';

export function liveCases(world) {
  describe('live', () => {
    let server;
    before(async () => {
      server = await Server.start();
    });
    after(() => server?.stop());

    it('shows a job as it is submitted, runs and ends', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/q/default/jobs');
      await tab.shows('No jobs yet');
      const id = await server.submit({ tag: 'live', count: 10, user: 'ann' });
      await tab.row(id).waitFor();
      await tab.shows(['active', '0/10'], `[data-row="${id}"]`);
      const worker = await server.worker({ name: 'w', tags: ['live'], slots: 10 });
      await worker.done(await worker.pull(4));
      await tab.shows('4/10', `[data-row="${id}"]`);
      assert.equal(await tab.row(id).getByRole('progressbar').getAttribute('aria-valuenow'), '40');
      await worker.done(await worker.pull(6));
      await tab.shows(['10/10', 'done'], `[data-row="${id}"]`);
      // All of that came by one stream.
      assert.equal(tab.requests.filter(({ url }) => url.includes('/default/jobs?')).length, 1);
      tab.clean();
      await tab.close();
    });

    it('moves the numbers and the picture of a job', { timeout: 60_000 }, async () => {
      const id = await server.submit({ tag: 'live2', count: 100 });
      const tab = await Tab.open(world.browser, server, `/jobs/${id}`);
      const worker = await server.worker({ name: 'w2', tags: ['live2'], slots: 100 });
      await worker.done(await worker.pull(30));
      await tab.shows('done 30', '[aria-label=progress]');
      await tab.shows('done 30', '[aria-label="picture of its tasks"]');
      await worker.failed(await worker.pull(1), 'it broke');
      await tab.shows('failed', '.head');
      await tab.shows('it broke', '[aria-label=errors]');
      tab.clean();
      await tab.close();
    });

    it('shows workers as they come and drain', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/workers');
      const worker = await server.worker({ name: 'newcomer', tags: ['x'], slots: 3 });
      await tab.shows(['newcomer', '0/3'], `[data-row="${worker.id}"]`);
      await server.post(`/v1/queues/default/workers/${worker.id}/drain`);
      await tab.shows('draining', `[data-row="${worker.id}"]`);
      await server.api('DELETE', `/v1/queues/default/workers/${worker.id}`, { key: worker.key });
      await tab.row(worker.id).waitFor({ state: 'detached' });
      tab.clean();
      await tab.close();
    });

    it('tells that the queue is paused, and that it goes on', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/q/default');
      await tab.shows('How the queue is set up');
      assert.equal(await tab.page.locator('.banner:has-text("paused")').count(), 0);
      await server.post('/v1/queues/default/pause');
      await tab.page.locator('.banner:has-text("paused")').waitFor();
      await server.post('/v1/queues/default/resume');
      await tab.page.locator('.banner:has-text("paused")').waitFor({ state: 'detached' });
      tab.clean();
      await tab.close();
    });

    it('says that the connection is lost, keeps what it showed, and comes back', { timeout: 90_000 }, async () => {
      const id = await server.submit({ tag: 'before', count: 1 });
      const tab = await Tab.open(world.browser, server, '/q/default/jobs');
      await tab.row(id).waitFor();
      await server.end();
      await tab.shows('Connection lost', '.lost');
      assert.equal(await tab.row(id).count(), 1);
      await server.start();
      await tab.page.locator('.lost').waitFor({ state: 'detached' });
      const next = await server.submit({ tag: 'after', count: 1 });
      await tab.row(next).waitFor();
      tab.clean(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|status of 503/);
      await tab.close();
    });

    it('begins once the server is there, if it was not', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/q/default');
      await tab.shows('How the queue is set up');
      // The page is there, and the API is not: as when a proxy keeps files.
      await tab.page.route('**/v1/**', (route) => route.abort());
      await tab.page.reload();
      await tab.shows('cannot be reached');
      await tab.page.unroute('**/v1/**');
      await tab.shows('How the queue is set up');
      tab.clean(/ERR_FAILED/);
      await tab.close();
    });

    it('holds no stream while it is hidden', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/q/default/jobs');
      await tab.row((await server.get('/v1/queues/default/jobs?limit=1')).jobs[0].id).waitFor();
      let ended = 0;
      tab.page.on('requestfailed', (request) => { if (request.url().includes('/default/jobs?')) ended++; });
      const hide = (hidden) => tab.page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
      await hide(true);
      await eventually('the stream is given back', () => ended === 1);
      const id = await server.submit({ tag: 'unseen', count: 1 });
      await hide(false);
      await tab.row(id).waitFor();
      tab.clean();
      await tab.close();
    });
  });
}

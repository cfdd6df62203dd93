// SPDX-License-Identifier: Apache-2.0
// With tokens: who one is decides what is seen, and what can be done.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Tab } from './pages.mjs';
import { eventually, Server } from './server.mjs';

export function signInCases(world) {
  describe('signing in', () => {
    let server;
    const tokens = {};
    const ids = {};
    before(async () => {
      server = await Server.start();
      tokens.admin = await server.makeToken('root', 'admin');
      tokens.read = await server.makeToken('looker', 'read');
      tokens.operate = await server.makeToken('ops', 'read,operate');
      tokens.ann = await server.makeToken('ann-token', 'read,submit', '--user', 'ann');
      server.token = tokens.ann;
      await eventually('the server knows the tokens', async () => (await server.get('/v1/server')).you?.user === 'ann');
      server.token = tokens.admin;
      await eventually('the server knows the tokens', async () => (await server.get('/v1/server')).you?.scopes.includes('admin'));
      ids.ann = await server.submit({ tag: 'a', user: 'ann', count: 5 });
      ids.bob = await server.submit({ tag: 'b', user: 'bob', count: 5 });
      ids.worker = (await server.worker({ name: 'host-1', tags: ['zzz'], slots: 1 })).id;
      await server.api('PUT', '/v1/queues/default/limits/l1', { tag: 't', name: 'some limit', expr: 'true', count: 5, window_ms: 1000, expires_in_ms: 300_000 });
    });
    after(() => server?.stop());

    const signIn = async (path, token) => {
      const tab = await Tab.open(world.browser, server, path);
      await tab.page.getByLabel('Token').fill(token);
      await tab.press('Sign in', 'main');
      return tab;
    };
    const secrets = () => Object.values(tokens).map((token) => token.split('_').pop());
    // The token is in no address: of the page, of requests, of what is remembered.
    const unseen = async (tab) => {
      const html = await tab.page.evaluate(() => document.documentElement.outerHTML + location.href + document.cookie + JSON.stringify(localStorage));
      for (const secret of secrets()) {
        for (const { url } of tab.requests) assert.ok(!url.includes(secret), 'a token in an address');
        assert.ok(!html.includes(secret), 'a token in the page');
      }
    };

    it('asks for a token, and refuses a wrong one', { timeout: 60_000 }, async () => {
      const tab = await signIn('/q/default/jobs', 'allot_0_0');
      await tab.shows('does not know this token', 'main');
      assert.equal(await tab.page.evaluate(() => sessionStorage.length), 0);
      assert.ok(!(await tab.text('body')).includes(ids.bob));
      await tab.page.getByLabel('Token').fill(tokens.read);
      await tab.page.keyboard.press('Enter');
      await tab.row(ids.bob).waitFor();
      await tab.shows('looker', 'header');
      // It is there after loading anew, in this tab alone.
      await tab.page.reload();
      await tab.row(ids.bob).waitFor();
      await unseen(tab);
      tab.clean(/status of 401/);
      await tab.close();
    });

    it('signs out, and forgets the token', { timeout: 60_000 }, async () => {
      const tab = await signIn('/q/default', tokens.read);
      await tab.shows('Why tasks wait');
      assert.equal(await tab.page.evaluate(() => sessionStorage.length), 1);
      await tab.press('Sign out', 'header');
      await tab.page.getByLabel('Token').waitFor();
      assert.deepEqual(await tab.page.evaluate(() => [sessionStorage.length, localStorage.length, document.cookie]), [0, 0, '']);
      await tab.page.reload();
      await tab.page.getByLabel('Token').waitFor();
      await unseen(tab);
      tab.clean(/status of 401/);
      await tab.close();
    });

    const kNoActions = /^(Pause|Resume|Cancel|Retry|Drain|Change|Renew|Edit|Delete|New limit|Priority|Set|Remove)(…)?$/;
    const actionsOn = async (tab) => (await tab.page.locator('#main button').allInnerTexts()).filter((text) => kNoActions.test(text.trim()));
    const kPlaces = () => [['/q/default', 'Why tasks wait', 'Pause'], ['/q/default/jobs', ids.bob, 'Cancel'], [`/jobs/${ids.bob}`, 'One by one', 'Cancel'],
      ['/workers', 'host-1', 'Drain'], [`/workers/${ids.worker}`, 'What it would get next', 'Drain…'], ['/sharing', 'mean wait', 'Set'],
      ['/limits', 'some limit', 'Renew'], ['/limits/l1', 'Terms', 'Delete…'], ['/strategies', 'What would come next', null]];

    it('shows no actions to those who may only read', { timeout: 60_000 }, async () => {
      const tab = await signIn('/', tokens.read);
      await tab.shows('default');
      for (const [path, text] of kPlaces()) {
        await tab.go(path);
        await tab.shows(text);
        assert.deepEqual(await actionsOn(tab), [], path);
      }
      await unseen(tab);
      tab.clean(/status of 401/);
      await tab.close();
    });

    it('shows actions to those who may, and they work', { timeout: 60_000 }, async () => {
      const tab = await signIn('/', tokens.operate);
      await tab.shows('default');
      for (const [path, text, action] of kPlaces()) {
        await tab.go(path);
        await tab.shows(text);
        if (action) await eventually(`${action} at ${path}`, async () => (await actionsOn(tab)).includes(action));
      }
      await tab.go(`/jobs/${ids.bob}`);
      await tab.press('Pause');
      await eventually('paused', async () => (await server.job(ids.bob)).paused);
      tab.clean(/status of 401/);
      await tab.close();
    });

    it('shows to a token of one user that user’s jobs alone', { timeout: 60_000 }, async () => {
      const tab = await signIn('/q/default/jobs', tokens.ann);
      await tab.row(ids.ann).waitFor();
      assert.equal(await tab.row(ids.bob).count(), 0);
      assert.ok((await actionsOn(tab)).includes('Cancel'), 'own jobs can be cancelled');
      await tab.go(`/jobs/${ids.bob}`);
      await tab.shows('there is no job');
      // Pages that tell of everyone say that they are not for this token, or show what is.
      for (const [path, text] of [['/q/default', 'Why tasks wait'], ['/sharing', 'ann'], ['/limits', 'forbidden'], ['/strategies', 'forbidden'], [`/workers/${ids.worker}`, 'host-1'], [`/jobs/${ids.ann}`, 'One by one']]) {
        await tab.go(path);
        await tab.shows(text);
        const seen = await tab.text('body');
        assert.ok(!seen.includes('bob'), `${path} names another user`);
      }
      await tab.go(`/jobs/${ids.ann}`);
      await tab.press('Cancel');
      await tab.asked();
      await tab.sure('Cancel the job');
      await eventually('cancelled', async () => (await server.job(ids.ann)).state === 'cancelled');
      await unseen(tab);
      tab.clean(/status of 40[134]/);
      await tab.close();
    });

    it('goes back to signing in when the token is revoked', { timeout: 60_000 }, async () => {
      const token = await server.makeToken('passing', 'read');
      await eventually('known', async () => (await fetch(`${server.url}/v1/server`, { headers: { Authorization: `Bearer ${token}` } })).ok);
      const tab = await signIn('/q/default/jobs', token);
      await tab.row(ids.bob).waitFor();
      await server.run('token', 'revoke', 'passing', '--data', `${server.folder}/data`);
      await tab.page.getByLabel('Token').waitFor();
      await tab.shows(/revoked/, 'main');
      assert.equal(await tab.page.evaluate(() => sessionStorage.length), 0);
      tab.clean(/status of 401/);
      await tab.close();
    });
  });
}

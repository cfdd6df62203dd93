// SPDX-License-Identifier: Apache-2.0
// Whatever users put in is shown as text: nothing of it becomes markup, a script or a link elsewhere.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { allPages, Tab } from './pages.mjs';
import { Server } from './server.mjs';

const kImage = '<img src=x onerror="window.pwned=1">';
const kScript = '</script><script>window.pwned=2</script>';
const kLink = 'javascript:window.pwned=3';
const kTurned = '\u202egnp.exe\u202c\u2066\u200f';
const kControl = '\u001b[31mred\u0007\b\u009b2J\u0000';
const kName = `${kImage}${kTurned}`;
const kAll = `${kImage}${kScript}<a href="${kLink}">x</a>{{7*7}}\${7*7}${kTurned}`;
const kTag = 'javascript:window.pwned=4';

export function hostileCases(world) {
  describe('hostile text', () => {
    let server;
    const ids = {};
    before(async () => {
      server = await Server.start();
      await server.api('PATCH', '/v1/queues/default', { settings: { property_keys: ['gpu'] } });
      const worker = await server.worker({ name: kName, tags: [kTag, 'both'], slots: 4, properties: { gpu: kName }, attributes: { note: kAll + kControl },
        requirements: `TARGET.User != "${kScript}"`, strategy: `select_only(user = ${JSON.stringify(kName)}, oldest)` });
      ids.worker = worker.id;
      ids.job = await server.submit({ tags: [kTag], user: kName, payloads: [kAll, { [kAll]: kAll + kControl }, kControl, [kAll], kAll, kAll], constraints: { gpu: kName },
        requirements: `TARGET.note != "${kLink}"`, meta: { note: kAll + kControl, link: kLink, onerror: kImage }, max_failed_tasks: 5, max_attempts: 2,
        idempotency_key: kName, payload_prefix: kName, trace: kName });
      ids.wanting = await server.submit({ tags: ['never-seen', kTag], user: kName, requirements: `TARGET.x == ${JSON.stringify(kImage)}`, count: 3 });
      const tasks = await worker.pull(4);
      await worker.done(tasks.slice(0, 1), kAll);
      await worker.done(tasks.slice(1, 2), { [kAll]: [kAll + kControl] });
      await worker.failed(tasks.slice(2, 3), kAll + kControl);
      await server.api('PUT', '/v1/queues/default/limits/hostile', { tag: kTag, name: kName, expr: `MY.User == ${JSON.stringify(kName)}`, count: 1, window_ms: 3_600_000, expires_in_ms: 300_000 });
      await worker.pull(2, { wait_ms: 0 });
      await server.api('PATCH', '/v1/queues/default', { settings: { weights: { [`user.${kName}`]: 2 } } });
      ids.limit = 'hostile';
    });
    after(() => server?.stop());

    const harmless = async (tab, where) => {
      const found = await tab.page.evaluate(() => ({
        pwned: window.pwned,
        images: [...document.querySelectorAll('img, iframe, object, embed, svg script, form[action]')].filter((one) => !(one.tagName === 'IMG' && one.src.startsWith(`${location.origin}/assets/`)))
          .map((one) => one.outerHTML),
        scripts: [...document.scripts].filter((one) => !one.src.startsWith(`${location.origin}/assets/`)).map((one) => one.outerHTML),
        links: [...document.querySelectorAll('a[href]')].filter((one) => one.origin !== location.origin).map((one) => one.outerHTML),
        handlers: [...document.querySelectorAll('*')].filter((one) => [...one.attributes].some(({ name }) => name.startsWith('on'))).map((one) => one.outerHTML),
      }));
      assert.deepEqual(found, { pwned: undefined, images: [], scripts: [], links: [], handlers: [] }, where);
    };

    it('stays text on every page', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/');
      const wanted = { jobs: [kImage, kTag], job: [kImage, kTag, kScript], workers: [kImage, kTag], worker: [kImage, kScript], sharing: [kImage], limits: [kImage, kTag], limit: [kImage, kTag], strategies: [kImage] };
      for (const [name, path] of Object.entries(allPages(ids))) {
        await tab.go(path);
        await tab.shows([...(wanted[name] ?? []), /\S/]);
        await harmless(tab, path);
      }
      tab.clean();
      await tab.close();
    });

    it('stays text in payloads, results, errors, reasons and receipts', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, '/');
      for (const index of [0, 1, 2, 3]) {
        await tab.go(`/jobs/${ids.job}?task=${index}`);
        await tab.shows([/Payload/, /How its last start was decided/], '#one-task');
        if (index !== 2 && index !== 3) await tab.shows(['onerror=', '<script>', 'window.pwned=2'], '#one-task');
        if (index === 2) await tab.shows([kImage, 'Error'], '#one-task');
        await harmless(tab, `task ${index}`);
      }
      await tab.shows(kImage.replace('1', '#'), '[aria-label=errors]');
      await tab.go(`/jobs/${ids.wanting}?worker=${ids.worker}`);
      await tab.shows([kImage, 'never-seen', 'mismatch']);
      await harmless(tab, 'explained');
      tab.clean();
      await tab.close();
    });

    it('stays text in dialogs and toasts', { timeout: 60_000 }, async () => {
      const tab = await Tab.open(world.browser, server, `/workers/${ids.worker}`);
      await tab.press('Change…');
      assert.ok((await tab.asked()).includes(kImage));
      await harmless(tab, 'a form');
      await tab.sure('Keep as it is');
      await tab.go(`/limits/${ids.limit}`);
      await tab.press('Delete…');
      assert.ok((await tab.asked()).includes(kImage));
      await tab.sure('Keep as it is');
      await tab.press('Renew');
      await tab.shows(kImage, '.toasts');
      await harmless(tab, 'a toast');
      await tab.go(`/q/default/jobs?user=${encodeURIComponent(kName)}`);
      await tab.row(ids.job).waitFor();
      await tab.press('Pause…', '.bulk');
      await tab.asked();
      await tab.shows(kImage, 'dialog[open]');
      await harmless(tab, 'a question');
      tab.clean();
      await tab.close();
    });

    it('stays text when it comes by the address', { timeout: 60_000 }, async () => {
      const text = encodeURIComponent(kAll);
      // What has a dot is a file, and no page.
      const part = encodeURIComponent(kAll.replaceAll('.', ''));
      const tab = await Tab.open(world.browser, server, '/');
      for (const path of [`/q/${text}`, `/q/${text}/jobs`, `/jobs/${part}`, `/workers/${part}`, `/limits/${part}`, `/${part}`, `/q/default/jobs?tag=${text}&user=${text}&state=${text}&before=${text}`,
        `/workers?find=${text}&after=${text}`, `/limits?find=${text}&tag=${text}&new=1`, `/sharing?user=${text}&sort=${text}&after=${text}`, `/strategies?s=${text}&p=${text}&w=${text}`,
        `/strategies?tags=${text}`, `/jobs/${ids.job}?task=${text}&from=${text}&to=${text}&tstate=${text}&tfrom=${text}&worker=${text}`, `/jobs/${ids.job}?from=99999999999&to=-1&task=99999999`]) {
        await tab.go(path);
        await tab.page.locator('#main h1').first().waitFor();
        await tab.page.waitForLoadState('load');
        await harmless(tab, path);
      }
      tab.clean(/status of 40[034]/);
      await tab.close();
    });

    it('cannot be framed, and the page takes no script but its own', { timeout: 60_000 }, async () => {
      const policy = (await fetch(`${server.url}/q/default`)).headers.get('content-security-policy');
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /script-src 'self'(;|$)/);
      assert.match(policy, /frame-ancestors 'none'/);
      const tab = await Tab.open(world.browser, server, '/q/default');
      await tab.page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'window.pwned = 5';
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.pwned=6"><img src="https://example.invalid/x.png">');
      });
      await tab.page.waitForFunction(() => document.querySelectorAll('img[src=x]').length === 1);
      assert.equal(await tab.page.evaluate(() => window.pwned), undefined);
      assert.ok(tab.errors.some((text) => /script-src/.test(text)), 'the policy would have stopped a script');
      await tab.close();
    });
  });
}

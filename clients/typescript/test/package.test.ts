// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';

import { bin, Server } from './server.js';

const run = promisify(execFile);
const root = new URL('../../', import.meta.url);

describe('the package', () => {
  it('has one dependency, and at most 150 KB', async () => {
    const manifest = JSON.parse(await readFile(new URL('package.json', root), 'utf8')) as { dependencies: object };
    assert.deepEqual(Object.keys(manifest.dependencies), ['ws']);
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'], { cwd: root });
    const [{ size, files }] = JSON.parse(stdout) as [{ size: number; files: { path: string }[] }];
    assert.ok(size <= 150_000, `${size} bytes`);
    assert.ok(files.every(({ path }) => /^(dist\/|package\.json|README\.md)/.test(path)));
  });
  it('needs nothing of Node in a browser', async () => {
    const dist = new URL('dist/', root);
    for (const name of (await readdir(dist, { recursive: true } as { recursive: true })).map(String)) {
      if (!name.endsWith('.js') || /platform\/node\.js|threads\/thread_main\.js/.test(name)) continue;
      const text = await readFile(new URL(name, dist), 'utf8');
      assert.doesNotMatch(text, /from ['"](node:|ws['"])|\b(process|Buffer|require)\./, name);
    }
  });
});

describe('in a browser', () => {
  const page = async (server: string, token: string) => {
    const program = new URL('./browser_program.js', import.meta.url).pathname;
    const { stdout } = await run(process.execPath, ['--conditions=browser', program, server, token], {
      timeout: 60_000,
    });
    assert.deepEqual(JSON.parse(stdout), { sum: 2_646_700, states: ['done', 'failed', 'done'] });
  };
  let server: Server;
  before(async () => (server = await Server.start()));
  after(() => server.stop());

  it('a page works over a WebSocket', () => page(server.url, ''));
  it('a page with a token works by requests', async () => {
    const { stdout } = await run(bin, ['token', 'create', 'page', '--scope', 'submit,work,read', '--data', server.data]);
    await server.restart();
    await page(server.url, stdout.trim());
  });
});

// SPDX-License-Identifier: Apache-2.0
// What a no-op task costs a worker in Node, beside BullMQ on a volatile Redis: npm run bench [-- TASKS CONCURRENCY].
// ALLOT_BIN is the program. BullMQ takes its turn where redis-server is there; its packages come from the registry.
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [items = '100000', concurrency = '50'] = process.argv.slice(2);
const here = fileURLToPath(new URL('.', import.meta.url));
const place = mkdtempSync(join(tmpdir(), 'allot-bench-'));
const children = [];
const start = (command, args) => {
  const child = spawn(command, args, { stdio: 'ignore' });
  child.on('error', () => {});
  children.push(child);
};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const node = (program, ...args) =>
  execFileSync(process.execPath, [program, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ALLOT_SERVER: url },
  });
const has = (command) => {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const port = 21_000 + (process.pid % 4_000) * 2;
const url = `http://127.0.0.1:${port}`;

try {
  start(process.env.ALLOT_BIN ?? 'allot', ['serve', '--data', join(place, 'data'), '--listen', `127.0.0.1:${port}`]);
  for (let i = 0; !(await fetch(`${url}/readyz`).catch(() => undefined))?.ok; i++) {
    if (i > 500) throw new Error('the server is not there: ALLOT_BIN says which program it is');
    await pause(20);
  }
  let peer = null;
  if (has('redis-server')) {
    start('redis-server', ['--port', String(port + 1), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', place]);
    writeFileSync(join(place, 'package.json'), '{"private": true}');
    execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts', 'bullmq@5'], { cwd: place });
    peer = join(place, 'bullmq.mjs');
    copyFileSync(join(here, 'bullmq.mjs'), peer);
  } else {
    console.log('without BullMQ: there is no redis-server');
  }
  for (let round = 0; round < 3; round++) {
    node(join(here, '../build/bench/noop.js'), items, concurrency);
    if (peer) node(peer, String(Math.ceil(Number(items) / 10)), concurrency, String(port + 1));
  }
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(place, { recursive: true, force: true });
}

// SPDX-License-Identifier: Apache-2.0
// BullMQ on a Redis of its own, as the other peers are measured: the same figures under the same names, as JSON.
//
//   node bullmq.mjs [none|always|everysec] [--seconds S] [--jobs N] [--samples N] [put] [drain] [latency]
//
// A client of BullMQ is a library of Node, not a line protocol: it loads the queue itself, in this one process, with
// connections and concurrency as its authors mean them. So its generator costs more than that of the other peers.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Queue, Worker } from 'bullmq';

const usage =
  'usage: node bullmq.mjs [none|always|everysec] [--seconds S] [--jobs N] [--samples N] [put] [drain] [latency]';
const options = { durability: 'none', seconds: 3, jobs: 100_000, samples: 5_000, scenarios: new Set() };
const words = process.argv.slice(2);
while (words.length > 0) {
  const word = words.shift();
  if (['none', 'always', 'everysec'].includes(word)) options.durability = word;
  else if (['--seconds', '--jobs', '--samples'].includes(word) && Number(words[0]) > 0)
    options[word.slice(2)] = Number(words.shift());
  else if (['put', 'drain', 'latency'].includes(word)) options.scenarios.add(word);
  else {
    console.error(usage);
    process.exit(2);
  }
}
if (options.scenarios.size === 0) options.scenarios = new Set(['put', 'drain', 'latency']);

const payload = 'x'.repeat(98); // 100 bytes as JSON
const figures = [];
const add = (name, value, unit) => figures.push({ name, value, unit });
const seconds = (since) => (performance.now() - since) / 1_000;

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer().on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

const folder = mkdtempSync(join(tmpdir(), 'allot-bullmq-'));
const port = await freePort();
const file = options.durability !== 'none';
const appending = ['--appendonly', file ? 'yes' : 'no', '--appendfsync', file ? options.durability : 'no'];
const redis = spawn(
  'redis-server',
  ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', '', ...appending],
  { stdio: 'ignore' },
);
redis.on('error', (error) => {
  console.error(`bullmq.mjs: redis-server: ${error.message}`);
  process.exit(1);
});
// Whatever happens, nothing is left behind.
process.on('exit', () => {
  redis.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const connection = { host: '127.0.0.1', port };
const keep = { removeOnComplete: true };
let made = 0;
// A queue of its own for each scenario.
const withQueue = async (f) => {
  const queue = new Queue(`q${++made}`, { connection });
  await queue.waitUntilReady();
  await f(queue);
  await queue.close();
};
const work = (queue, concurrency, handle) => new Worker(queue.name, handle, { connection, concurrency });

const put = (clients) =>
  withQueue(async (queue) => {
    let stored = 0;
    const began = performance.now();
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (seconds(began) < options.seconds) {
          await queue.add('p', payload, keep);
          ++stored;
        }
      }),
    );
    add(`put/clients=${clients}`, stored / seconds(began), 'jobs/s');
  });

const drain = (workers) =>
  withQueue(async (queue) => {
    const block = 1_000;
    for (let from = 0; from < options.jobs; from += block) {
      const count = Math.min(block, options.jobs - from);
      await queue.addBulk(Array.from({ length: count }, () => ({ name: 'p', data: payload, opts: keep })));
    }
    const began = performance.now();
    let done = 0;
    let worker;
    await new Promise((resolve) => {
      worker = work(queue, workers, async () => {});
      worker.on('completed', () => {
        if (++done === options.jobs || seconds(began) >= options.seconds) resolve();
      });
    });
    add(`drain/workers=${workers}`, done / seconds(began), 'jobs/s');
    await worker.close(true);
  });

const latency = () =>
  withQueue(async (queue) => {
    let started;
    let ended;
    const worker = work(queue, 1, async () => {
      started = performance.now();
    });
    worker.on('completed', () => ended());
    await worker.waitUntilReady();
    const micros = [];
    for (let i = 0; i < options.samples; ++i) {
      const over = new Promise((resolve) => {
        ended = resolve;
      });
      const submitted = performance.now();
      await queue.add('p', payload, keep);
      await over;
      micros.push((started - submitted) * 1_000);
    }
    micros.sort((a, b) => a - b);
    for (const [name, part] of [['p50', 0.5], ['p99', 0.99], ['p99.9', 0.999]]) {
      add(`latency/${name}`, micros[Math.min(micros.length - 1, Math.floor(micros.length * part))], 'us');
    }
    await worker.close(true);
  });

if (options.scenarios.has('put')) for (const clients of [1, 64]) await put(clients);
if (options.scenarios.has('drain')) for (const workers of [1, 8, 64]) await drain(workers);
if (options.scenarios.has('latency')) await latency();
console.log(JSON.stringify({ figures }));
process.exit(0);

// SPDX-License-Identifier: Apache-2.0
// The same of BullMQ: run.mjs puts it where its packages are.
import { Queue, Worker } from 'bullmq';

const [items, concurrency, port] = process.argv.slice(2).map(Number);
const connection = { host: '127.0.0.1', port };
const queue = new Queue('noop', { connection });
for (let from = 0; from < items; from += 1_000) {
  await queue.addBulk(Array.from({ length: Math.min(1_000, items - from) }, (_, n) => ({ name: 'noop', data: from + n })));
}
const before = process.cpuUsage();
const began = performance.now();
let done = 0;
await new Promise((resolve) => {
  const worker = new Worker('noop', async () => {}, { connection, concurrency });
  worker.on('completed', () => ++done === items && resolve());
});
const seconds = (performance.now() - began) / 1_000;
const { user, system } = process.cpuUsage(before);
console.log(
  JSON.stringify({
    what: 'bullmq',
    tasks_per_s: Math.round(items / seconds),
    cpu_us_per_task: Number(((user + system) / items).toFixed(2)),
  }),
);
process.exit(0);

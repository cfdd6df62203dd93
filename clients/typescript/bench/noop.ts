// SPDX-License-Identifier: Apache-2.0
// A worker of no-ops in this process, and what a task costs it. The program of run.mjs.
import { Client, task, Worker } from 'allotter';

const [items, concurrency] = process.argv.slice(2).map(Number) as [number, number];
const noop = task<number, void>('bench-noop', () => {});
const client = new Client();
const job = await client.submit(
  noop,
  Array.from({ length: items }, (_, n) => n),
  { leaseMs: 60_000 },
);

const before = process.cpuUsage();
const began = performance.now();
const stop = new AbortController();
const working = new Worker([noop], { concurrency, handleSignals: false }).run({ signal: stop.signal });
const view = await job.wait();
const seconds = (performance.now() - began) / 1_000;
const { user, system } = process.cpuUsage(before);
stop.abort();
await working;
if (view.done !== items) throw new Error(`${view.done} of ${items} are done`);

const readFrom = performance.now();
let read = 0;
for await (const outcome of job.outcomes()) read += outcome.state === 'done' ? 1 : 0;
const readSeconds = (performance.now() - readFrom) / 1_000;
console.log(
  JSON.stringify({
    what: 'allotter',
    tasks_per_s: Math.round(items / seconds),
    cpu_us_per_task: Number(((user + system) / items).toFixed(2)),
    results_read_per_s: Math.round(read / readSeconds),
  }),
);

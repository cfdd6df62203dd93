// SPDX-License-Identifier: Apache-2.0
// What a page does: run by browser.test.ts with the package's files for browsers.

import './browser_socket.js';
import { Client, task, Worker } from 'allotter';

const [server, token] = process.argv.slice(2) as [string, string];
const connection = { server, token };
const square = task<number, number>('browser', async (n) => n * n);
const failing = task<number, number>('failing', async (n) => {
  if (n === 1) throw new Error('on purpose');
  return n;
});

const stop = new AbortController();
const working = new Worker([square, failing], { ...connection, concurrency: 8 }).run({ signal: stop.signal });
const client = new Client(connection);
let sum = 0;
for await (const result of client.map(
  square,
  Array.from({ length: 200 }, (_, n) => n),
))
  sum += result;
const states: string[] = [];
const job = await client.submit(failing, [0, 1, 2], { maxAttempts: 1, maxFailedTasks: 1 });
for await (const outcome of job.outcomes()) states.push(outcome.state);
stop.abort();
await working;
console.log(JSON.stringify({ sum, states }));

// SPDX-License-Identifier: Apache-2.0
// A worker and a client of it in one program: squares of the first ten numbers.
import { Client, task, Worker } from 'allotter';

const square = task<number, number>('ts-square', async (n) => n * n);

const stop = new AbortController();
const working = new Worker([square], { concurrency: 4, handleSignals: false }).run({ signal: stop.signal });

const client = new Client();
for await (const result of client.map(square, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])) console.log(result);

stop.abort();
await working;

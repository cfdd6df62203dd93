// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { Client, task, Worker } from 'allotter';
import { Server } from './server.js';

const square = task<number, number>('square', async (n) => n * n);

describe('what is submitted is done by a worker', () => {
  let server: Server;
  let client: Client;
  let running: Promise<void>;
  const stop = new AbortController();
  before(async () => {
    server = await Server.start();
    client = new Client({ server: server.url });
    running = new Worker([square], { server: server.url, concurrency: 50, handleSignals: false }).run({ signal: stop.signal });
  });
  after(async () => {
    stop.abort();
    await running;
    await server.stop();
  });

  it('maps a list, in order', async () => {
    const results: number[] = [];
    for await (const result of client.map(square, [1, 2, 3, 4])) results.push(result);
    assert.deepEqual(results, [1, 4, 9, 16]);
  });
  it('maps in chunks, from an iterator', async () => {
    async function* numbers() {
      for (let n = 0; n < 2_500; n++) yield n;
    }
    const results: number[] = [];
    for await (const result of client.map(square, numbers(), { chunk: 1_000 })) results.push(result);
    assert.deepEqual(
      results,
      Array.from({ length: 2_500 }, (_, n) => n * n),
    );
  });
});

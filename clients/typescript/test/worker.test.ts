// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';

import * as al from 'allotter';
import { Client, task, threadTask, Worker } from 'allotter';
import { Proxy } from './proxy.js';
import { Random } from './random.js';
import { bin, Server, until } from './server.js';

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

// Resolves once it is told to go.
class Gate {
  private open!: () => void;
  readonly passed = new Promise<void>((resolve) => (this.open = resolve));
  go(): void {
    this.open();
  }
}

const module_ = new URL('./thread_tasks.js', import.meta.url);

describe('a worker', () => {
  let server: Server;
  let client: Client;
  before(async () => {
    server = await Server.start();
    client = new Client({ server: server.url });
  });
  after(() => server.stop());

  class Working {
    readonly stop = new AbortController();
    readonly events: al.WorkerEvent[] = [];
    readonly worker: Worker;
    readonly run: Promise<void>;
    constructor(tasks: al.TaskList, options: al.WorkerOptions = {}) {
      const onEvent = (event: al.WorkerEvent) => void this.events.push(event);
      this.worker = new Worker(tasks, { server: server.url, handleSignals: false, onEvent, ...options });
      this.run = this.worker.run({ signal: this.stop.signal });
    }
    async end(): Promise<void> {
      this.stop.abort();
      await this.run;
    }
  }

  it('runs several tasks, each by its name', async () => {
    const square = task<number, number>('square', (n) => n * n);
    const twice = task<string, string>('twice', async (text) => text + text);
    const working = new Working([square, twice]);
    const [squares, doubles] = await Promise.all([all(client.map(square, [1, 2, 3])), all(client.map(twice, ['a', 'b']))]);
    assert.deepEqual(
      [squares, doubles],
      [
        [1, 4, 9],
        ['aa', 'bb'],
      ],
    );
    const none = await client.submitSpec({ payloads: [1], max_attempts: 1 });
    assert.equal((await none.wait()).state, 'failed');
    assert.match((await none.taskAt(0)).error, /no function for a job with the tags \[\]/);
    await working.end();
  });
  it('tells functions apart by what the server says of a job, without the scope read', async () => {
    const own = await Server.start();
    const token = async (...scopes: string[]) => {
      const { stdout } = await promisify(execFile)(bin, ['token', 'create', scopes[0]!, '--scope', scopes.join(), '--data', own.data]);
      return stdout.trim();
    };
    const [admin, work] = [await token('admin'), await token('work')];
    await own.restart();
    const square = task<number, number>('square', (n) => n * n);
    const twice = task<number, number>('twice', (n) => 2 * n);
    const asking = new Client({ server: own.url, token: admin });
    const working = new Working([square, twice], { server: own.url, token: work });
    assert.deepEqual(await all(asking.map(square, [3])), [9]);
    assert.deepEqual(await all(asking.map(twice, [3, 4])), [6, 8]);
    await working.end();
    // A server that does not say it is asked: that takes the scope.
    const proxy = await Proxy.start(own.port);
    proxy.former = true;
    const blind = new Working([square, twice], { server: proxy.url, token: work });
    await asking.submit(square, [3]);
    await assert.rejects(blind.run, /scope `read`/);
    await proxy.stop();
    await own.stop();
  });
  it('says how far it is, and when to try again', async () => {
    const gate = new Gate();
    const far = task<string, string>('far', async (what, { progress, attempt }) => {
      if (attempt === 1) throw new al.Retry({ afterMs: 5 });
      progress(Number.NaN, { of: Infinity, message: '\u0000'.repeat(500) }); // as much of it as can be said
      for (const done of [1, 2, 3]) progress(done, { of: 4, message: 'frames' });
      await gate.passed;
      return what;
    });
    const working = new Working([far]);
    const job = await client.submit(far, ['x'], { backoff: { firstMs: 3_600_000, maxMs: 3_600_000 } });
    await until('progress', async () => {
      const { progress } = (await job.tasks().next()).value as al.wire.Task;
      return progress?.done === 3 && progress.of === 4 && progress.note === 'frames';
    });
    assert.equal((await job.view()).progress, 0.75);
    gate.go();
    assert.deepEqual(await all(job.results()), ['x']);
    assert.equal((await job.view()).progress, undefined);
    await working.end();
  });
  it('tells functions what they ask for', async () => {
    const context = task<number, unknown>('context', async (_, { job, index, attempt, count, trace, header, progress }) => {
      progress(3, { of: 10 });
      const { tags, meta } = await header();
      return { job, index, attempt, count, trace, tags, meta };
    });
    const working = new Working([context]);
    const job = await client.submit(context, [0, 0], { meta: { company_id: 7 }, trace: '00-x' });
    assert.deepEqual((await all(job.results()))[1], {
      job: job.id,
      index: 1,
      attempt: 1,
      count: 2,
      trace: '00-x',
      tags: ['context'],
      meta: { company_id: 7 },
    });
    assert.equal(working.events.filter((event) => event.type === 'progress' && event.done === 3 && event.of === 10).length, 2);
    await working.end();
  });
  it('carries bytes, large integers and codecs, also in chunks', async () => {
    const bytes = task<{ data: Uint8Array }, Uint8Array>('bytes', ({ data }) => data.map((byte) => byte + 1));
    const exact = task<bigint, bigint>('exact', (n) => n + 1n);
    const dates: al.Codec<Date> = { encode: (date) => date.getTime(), decode: (json) => new Date(json as number) };
    const dated = task<Date, Date>('dated', (date) => new Date(date.getTime() + 1), { input: dates, output: dates });
    const nothing = task<null, void>('nothing', () => {});
    const options = { server: server.url, integers: 'bigint' as const };
    const working = new Working([bytes, exact, dated, nothing], options);
    const lossless = new Client(options);
    for (const chunk of [undefined, 1, 2]) {
      const how = chunk === undefined ? {} : { chunk };
      assert.deepEqual(await all(client.map(bytes, [{ data: new Uint8Array([1, 2]) }, { data: new Uint8Array() }], how)), [
        new Uint8Array([2, 3]),
        new Uint8Array(),
      ]);
      assert.deepEqual(await all(lossless.map(exact, [2n ** 62n, -(2n ** 60n)], how)), [2n ** 62n + 1n, -(2n ** 60n) + 1n]);
      assert.deepEqual(await all(client.map(dated, [new Date(1), new Date(5), new Date(7)], how)), [new Date(2), new Date(6), new Date(8)]);
    }
    assert.deepEqual(await all(client.map(nothing, [null])), [undefined]);
    await working.end();
  });
  it('fails, gives up, tries again and gives back', async () => {
    let times = 0;
    const kinds = task<string, number>(
      'kinds',
      (kind) => {
        times++;
        if (kind === 'give up') throw new al.GiveUp('no use');
        if (kind === 'range') throw new RangeError('out of it');
        if (kind === 'release' && times === 1) throw new al.Release('not now');
        if (kind === 'retry' && times < 3) throw new al.Retry({ afterMs: 1, message: 'not yet' });
        if (kind === 'error' && times < 3) throw new Error('not yet');
        return times;
      },
      { giveUp: [RangeError] },
    );
    const working = new Working([kinds], { concurrency: 1 });
    const quick = { backoff: { firstMs: 1, factor: 1, maxMs: 1, jitter: 0 } };
    for (const kind of ['retry', 'error']) {
      times = 0;
      assert.equal(await client.call(kinds, kind, quick), 3);
    }
    for (const kind of ['give up', 'range']) {
      times = 0;
      await assert.rejects(
        client.call(kinds, kind, quick),
        (error) => error instanceof al.JobFailed && /no use|RangeError: out of it\n.*at /.test(error.message),
      );
      assert.equal(times, 1);
    }
    times = 0;
    // What was given back counts no attempt.
    assert.equal(await client.call(kinds, 'release', { maxAttempts: 1 }), 2);
    await working.end();
  });
  it('has a result refused that is too large, and fails that task alone', async () => {
    const large = task<number, string>('large', (n) => 'x'.repeat(n));
    const working = new Working([large]);
    const job = await client.submit(large, [10, 200_000, 20], { maxFailedTasks: 3 });
    assert.deepEqual(
      (await all(job.outcomes())).map((outcome) => outcome.state),
      ['done', 'failed', 'done'],
    );
    // And the connection went on.
    assert.ok(working.events.every(({ type }) => type !== 'disconnected'));
    await working.end();
  });
  it('stops what is cancelled at once, also while it drains', async () => {
    const began = new Gate();
    let reason: unknown;
    let stoppedAt = 0;
    const long = task<number, void>('long', async (_, { signal }) => {
      began.go();
      await new Promise<void>((_, reject) =>
        signal.addEventListener('abort', () => {
          stoppedAt = performance.now();
          reason = signal.reason;
          reject(signal.reason);
        }),
      );
    });
    const working = new Working([long], { concurrency: 1 });
    const job = await client.submit(long, [0, 1]);
    await began.passed;
    working.worker.drain();
    const before = performance.now();
    await job.cancel();
    await working.run;
    assert.ok(reason instanceof al.Cancelled && reason.reason === 'cancelled');
    // 100 ms on a machine of its own; this one may be busy.
    assert.ok(stoppedAt - before < 2_000, `${stoppedAt - before} ms`);
    assert.equal((await job.view()).state, 'cancelled');
  });
  it('leaves no socket to what a task starts', async () => {
    const list = task<null, string>('list', async () => {
      const child = spawn('sh', ['-c', 'for fd in /proc/self/fd/*; do echo "${fd##*/} $(readlink "$fd")"; done'], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      let text = '';
      child.stdout.on('data', (part: Buffer) => (text += part.toString()));
      await once(child, 'close');
      return text;
    });
    const working = new Working([list]);
    const lines = (await client.call(list, null)).trim().split('\n');
    // Its own three streams, and the folder that it reads.
    assert.deepEqual(
      lines.filter((line) => Number.parseInt(line) > 2 && /socket/.test(line)),
      [],
    );
    assert.ok(lines.length >= 3);
    await working.end();
  });
  it('does not wait for what does not listen, longer than its grace', async () => {
    const began = new Gate();
    const deaf = new Gate();
    const stubborn = task<number, void>('stubborn', async () => {
      began.go();
      await deaf.passed;
    });
    const working = new Working([stubborn], { graceMs: 50 });
    const job = await client.submit(stubborn, [0]);
    await began.passed;
    await job.cancel();
    await until('its lease is over', async () => ((await client.workers.get(working.worker.id!)).running ?? 0) === 0);
    assert.equal(working.worker.runningTasks, 1);
    deaf.go();
    await working.end();
  });
  it('gives back what has not begun when it drains, and finishes what has', async () => {
    const began = new Gate();
    const go = new Gate();
    const slow = task<number, number>('slow', async (n) => {
      began.go();
      await go.passed;
      return n;
    });
    const working = new Working([slow], { concurrency: 2, prefetch: 10 });
    const job = await client.submit(slow, [0, 1, 2, 3, 4, 5]);
    await began.passed;
    await until('all are with it', async () => (await client.workers.get(working.worker.id!)).running === 6);
    working.worker.drain();
    await until('four are given back', async () => (await job.view()).running === 2);
    go.go();
    await working.run;
    const view = await job.view();
    assert.deepEqual([view.done, view.queued, view.running], [2, 4, 0]);
    // The next one is the first attempt.
    const attempts: number[] = [];
    const other = new Working([task('slow', (_: number, { attempt }) => attempts.push(attempt))]);
    await job.wait();
    assert.deepEqual(attempts, [1, 1, 1, 1]);
    await other.end();
  });
  it('is asked to drain by the server', async () => {
    const working = new Working([task('idle', () => 0)]);
    await until('it is there', () => working.worker.connected);
    await client.workers.drain(working.worker.id!);
    await working.run;
    await assert.rejects(client.workers.get(working.worker.id!), al.UnknownWorker);
  });
  it('goes on after its connection broke, and the server died, with each result once', async (t) => {
    const random = new Random();
    t.diagnostic(`seed ${random.seed}`);
    const proxy = await Proxy.start(server.port);
    const seen = new Map<number, number>();
    const count = task<number, number>('count', async (n) => {
      seen.set(n, (seen.get(n) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, random.below(10)));
      return n;
    });
    const working = new Working([count], { server: proxy.url, concurrency: 20 });
    const job = await client.submit(
      count,
      Array.from({ length: 2_000 }, (_, n) => n),
      { maxAttempts: 100 },
    );
    for (let round = 0; round < 4; round++) {
      const connected = () => working.events.filter((event) => event.type === 'connected').length;
      await until('it went on', () => seen.size > (round + 1) * 300 && connected() > round);
      if (round === 2) await server.restart();
      else proxy.breakAll();
    }
    assert.deepEqual(
      await all(job.results()),
      Array.from({ length: 2_000 }, (_, n) => n),
    );
    await working.end();
    assert.ok(working.events.filter((event) => event.type === 'disconnected').length >= 4);
    // Leases were resumed: a lost connection costs no second attempt; the server's death may.
    const twice = [...seen.values()].filter((times) => times > 1).length;
    assert.ok(twice < 200, `${twice} ran again`);
    await proxy.stop();
  });
  it('keeps its leases while its connection is away', async () => {
    const proxy = await Proxy.start(server.port);
    const began = new Gate();
    const go = new Gate();
    let runs = 0;
    const kept = task<number, number>('kept', async () => {
      runs++;
      began.go();
      await go.passed;
      return runs;
    });
    const working = new Working([kept], { server: proxy.url });
    const job = await client.submit(kept, [0]);
    await began.passed;
    const { id } = working.worker;
    proxy.breakAll();
    await until('it came back', () => working.events.filter((event) => event.type === 'connected').length === 2);
    assert.equal(working.worker.id, id);
    go.go();
    assert.deepEqual(await all(job.results()), [1]);
    await working.end();
    await proxy.stop();
  });
  it('shows signs of life for as long as a task takes', async () => {
    const go = new Gate();
    let attempts = 0;
    const long = task<number, number>('alive', async () => {
      attempts++;
      await go.passed;
      return attempts;
    });
    const working = new Working([long]);
    const job = await client.submit(long, [0], { leaseMs: 1_000 });
    setTimeout(() => go.go(), 3_000);
    assert.deepEqual(await all(job.results()), [1]);
    await working.end();
  });
  it('ends where trying again cannot help', async () => {
    await assert.rejects(new Working([task('x', () => 0)], { queue: 'nope' }).run, al.UnknownQueue);
    await assert.rejects(new Working([task('x', () => 0)], { strategy: 'olest' }).run, al.BadValue);
    assert.throws(() => new Worker([]), TypeError);
    assert.throws(() => new Worker([task('x')]), TypeError);
  });
  it('takes tasks by its strategy, and changes what it is', async () => {
    const got: number[] = [];
    const picked = task<number, void>('picked', (n) => void got.push(n));
    await client.submit(picked, [1], { meta: { mode: 'bulk' } });
    const wanted = await client.submit(picked, [2], { meta: { mode: 'preview' } });
    const working = new Working([picked], { strategy: al.selectOnly('mode', 'preview', al.oldest()), attributes: { memory: 1 } });
    await wanted.wait();
    assert.deepEqual(got, [2]);
    working.worker.set({ strategy: al.oldest(), attributes: { memory: 2n ** 60n } });
    await until('the other one', () => got.length === 2);
    const exact = new Client({ server: server.url, integers: 'bigint' });
    await until('it is said', async () => (await exact.workers.get(working.worker.id!)).attributes['memory'] === 2n ** 60n);
    await working.end();
  });
  it('ends when it was idle for long enough', async () => {
    const working = new Working([task('idle-exit', () => 1)], { idleExitMs: 100 });
    await working.run;
  });

  describe('with threads', () => {
    const options = { threads: 2, graceMs: 200, threadMemoryMb: 48 };
    it('runs what keeps a CPU busy beside its connection', async () => {
      const busy = threadTask<number, number>('busy', module_, { export: 'busy' });
      const working = new Working([busy], options);
      const job = await client.submit(busy, [1_500, 1_500, 10], { leaseMs: 1_000, maxAttempts: 1 });
      assert.deepEqual(await all(job.results()), [1_500, 1_500, 10]);
      await working.end();
    });
    it('tells errors, progress and what a job is', async () => {
      const mixed = threadTask<string, unknown>('mixed', module_, { export: 'mixed', giveUp: [RangeError] });
      const working = new Working([mixed], options);
      assert.deepEqual(await client.call(mixed, 'header', { meta: { a: 1 } }), { a: 1 });
      assert.deepEqual(await client.call(mixed, 'bytes'), new Uint8Array([1, 2]));
      for (const [what, how] of [
        ['range', /RangeError: too far/],
        ['give up', /no use/],
      ] as const) {
        await assert.rejects(client.call(mixed, what), how);
      }
      assert.equal(working.events.filter((event) => event.type === 'progress' && event.done === 1).length, 1);
      assert.equal(working.events.filter((event) => event.type === 'finished' && event.outcome === 'failed').length, 2);
      await working.end();
    });
    it('loses a thread that dies, and that task alone', async () => {
      const mixed = threadTask<string, unknown>('dies', module_, { export: 'mixed' });
      const working = new Working([mixed], options);
      const job = await client.submit(mixed, ['ok', 'exit', 'ok', 'heap', 'ok'], { maxAttempts: 1, maxFailedTasks: 5 });
      assert.deepEqual(
        (await all(job.outcomes())).map((outcome) => outcome.state),
        ['done', 'failed', 'done', 'failed', 'done'],
      );
      await working.end();
    });
    it('stops what is cancelled, whether it listens or not', async () => {
      const endless = threadTask<string, void>('endless', module_, { export: 'endless' });
      const working = new Working([endless], options);
      for (const how of ['listens', 'does not']) {
        const job = await client.submit(endless, [how]);
        await until(
          'it runs',
          async () => (await job.view()).running === 1 && working.events.some((event) => event.type === 'progress' && event.job === job.id),
        );
        await job.cancel();
        await until('it stopped', () => working.worker.runningTasks === 0);
      }
      assert.ok(working.events.every((event) => event.type !== 'finished' || event.outcome === 'released'));
      await working.end();
    });
  });

  it('ends with 0 after SIGTERM, once what runs is finished', async () => {
    const child = spawn(process.execPath, [new URL('./sigterm_worker.js', import.meta.url).pathname], {
      env: { ...process.env, ALLOT_SERVER: server.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    const slow = task<number, number>('sigterm');
    const job = await client.submit(slow, [1]);
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    assert.equal((await job.view()).state, 'done');
  });
});

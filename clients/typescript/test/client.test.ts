// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import * as al from 'allotter';
import { Client, task, Worker } from 'allotter';
import { Proxy } from './proxy.js';
import { Server, until } from './server.js';

const square = task<number, number>('square', async (n) => n * n);
const never = task<unknown, unknown>('never');

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe('a client', () => {
  let server: Server;
  let client: Client;
  before(async () => {
    server = await Server.start();
    client = new Client({ server: server.url });
  });
  after(() => server.stop());

  const jobs = (tag: string) => all(client.jobs({ tag }));

  it('submits an empty list: a job that is done', async () => {
    const job = await client.submit(task('empty'), []);
    assert.equal((await job.wait()).state, 'done');
    assert.deepEqual(await all(job.results()), []);
  });
  it('leaves no job where the items raise half-way, and throws what they threw', async () => {
    const broken = new Error('half-way');
    async function* items() {
      for (let n = 0; n < 50_000; n++) yield 'x'.repeat(20);
      throw broken;
    }
    await assert.rejects(client.submit(task('half'), items()), (error) => error === broken);
    function* few() {
      yield 1;
      throw broken;
    }
    await assert.rejects(client.submit(task('half'), few()), (error) => error === broken);
    assert.deepEqual(await jobs('half'), []);
  });
  it('submits nothing where an item is no JSON', async () => {
    const circle: unknown[] = [];
    circle.push(circle);
    await assert.rejects(client.submit(task<unknown, unknown>('circle'), [1, circle]), TypeError);
    await assert.rejects(client.submit(task<string, unknown>('circle'), 'text'), TypeError);
    assert.deepEqual(await jobs('circle'), []);
  });
  it('makes one job of a submit that was cut anywhere', async () => {
    const proxy = await Proxy.start(server.port);
    const through = new Client({ server: proxy.url });
    const kinds = [
      () => [1, 2, 3],
      function* () {
        yield* [1, 2, 3];
      },
    ];
    let cuts = 0;
    for (const items of kinds) {
      for (const [cut, step, most] of [
        ['cutRequestAt', 23, 700],
        ['cutAnswerAt', 41, 900],
      ] as const) {
        for (let at = 1; at < most; at += step) {
          // The connection would be kept alive, and count from its beginning.
          proxy.breakAll();
          proxy[cut] = at;
          const job = await through.submit(task<number, unknown>('cut'), items());
          assert.equal((await job.view()).count, 3);
          proxy.cutRequestAt = proxy.cutAnswerAt = Infinity;
          cuts++;
        }
      }
    }
    await proxy.stop();
    assert.equal((await jobs('cut')).length, cuts);
  });
  it('finds the job of a long stream whose answer was lost, and says where there is none', async () => {
    const proxy = await Proxy.start(server.port);
    const through = new Client({ server: proxy.url });
    function* long() {
      for (let n = 0; n < 400_000; n++) yield 'x'.repeat(40);
    }
    proxy.cutAnswerAt = 10;
    const job = await through.submit(task<string, unknown>('long'), long());
    assert.equal((await job.view()).count, 400_000);
    proxy.breakAll();
    proxy.cutRequestAt = 12 << 20;
    await assert.rejects(through.submit(task<string, unknown>('long'), long()), al.Unavailable);
    await proxy.stop();
    assert.equal((await jobs('long')).length, 1);
  });
  it('gives the same job for the same key, and refuses other content under it', async () => {
    const first = await client.submit(never, [1], { idempotencyKey: 'k' });
    const second = await client.submit(never, [1], { idempotencyKey: 'k' });
    assert.equal(second.id, first.id);
    assert.equal(second.existing, true);
    await assert.rejects(client.submit(never, [2], { idempotencyKey: 'k' }), al.IdempotencyConflict);
  });
  it('has an error class for each code', async () => {
    await assert.rejects(
      client.job('1').view(),
      (error) =>
        error instanceof al.UnknownJob &&
        error instanceof al.Refused &&
        error.code === 'unknown_job' &&
        error.status === 404 &&
        error.name === 'UnknownJob',
    );
    await assert.rejects(client.queues.named('nope').view(), al.UnknownQueue);
    await assert.rejects(client.workers.get('1'), al.UnknownWorker);
    await assert.rejects(client.limits.get('nope'), al.UnknownLimit);
    await assert.rejects(client.submit(never, [1], { requirements: 'TARGET.memory >=' }), al.BadValue);
    await assert.rejects(client.submitSpec({ tag: 'x', colour: 1 } as object), al.UnknownField);
    await assert.rejects(client.submit(never, ['x'.repeat(2 << 20)]), al.TooLarge);
    const nobody = new Client({ server: 'http://127.0.0.1:9', retryForMs: 100 });
    await assert.rejects(nobody.server(), al.Unavailable);
  });
  it('waits for a server that comes back', async () => {
    await server.kill9();
    const looking = client.server();
    await server.launch();
    assert.equal((await looking).name, 'allotter');
  });
  it('submits with all that a job can be told', async () => {
    const job = await client.submit(never, [{ a: 1 }], {
      tags: ['gpu'],
      meta: { company_id: 7, size: 2n ** 60n, ratio: 0.5, hot: true },
      priority: 5,
      user: 'ann',
      interactive: true,
      requirements: al.target('memory').ge(4096).and(al.target('arch').eq('x86_64')),
      rank: al.target('memory'),
      delayMs: 3_600_000,
      maxAttempts: 3,
      backoff: { firstMs: 10, factor: 1, maxMs: 10, jitter: 0 },
      leaseMs: 5_000,
      timeoutMs: 6_000,
      maxFailedTasks: '5%',
      retentionMs: 7_000,
      payloadPrefix: 'p',
      trace: '00-1',
    });
    const view = await job.view();
    assert.deepEqual(view.tags, ['gpu', 'never']);
    assert.equal(view.requirements, 'TARGET.memory >= 4096 && TARGET.arch == "x86_64"');
    assert.deepEqual([view.priority, view.user, view.async, view.state, view.max_attempts], [5, 'ann', false, 'scheduled', 3]);
    const exact = await new Client({ server: server.url, integers: 'bigint' }).job(job.id).view();
    assert.deepEqual(exact.meta, { company_id: 7, size: 2n ** 60n, ratio: 0.5, hot: true });
    assert.deepEqual((await job.taskAt(0)).payload, { a: 1 });
  });
  it('changes, pauses, cancels and lists jobs', async () => {
    const mine = task<number, number>('mine');
    const job = await client.submit(mine, [1, 2, 3]);
    assert.equal((await job.change({ priority: 9 })).priority, 9);
    assert.equal((await job.pause()).paused, true);
    assert.equal((await job.resume()).paused, false);
    assert.equal((await all(job.tasks())).length, 3);
    assert.equal((await job.picture()).count, 3);
    const batch = await client.submitBatch([
      { tag: 'mine', count: 2 },
      { tag: 'mine', payloads: [1] },
    ]);
    assert.equal(batch.length, 2);
    assert.deepEqual(
      (await jobs('mine')).map((each) => each.id),
      [batch[1]!.id, batch[0]!.id, job.id],
    );
    const dry = await client.change('cancel', { tag: 'mine', dry_run: true });
    assert.deepEqual([dry.matching, dry.tasks], [3, 6]);
    assert.equal((await job.cancel()).state, 'cancelled');
    await assert.rejects(all(job.results()), al.JobCancelled);
    await assert.rejects(job.change({ priority: 1 }), al.JobEnded);
    assert.equal((await client.change('cancel', { tag: 'mine' })).changed, 2);
  });
  it('explains', async () => {
    const job = await client.submit(never, [1], { requirements: al.target('memory').ge(1) });
    const why = await job.explain();
    assert.equal(why.verdict.kind, 'operator');
    assert.equal((await client.explain(never)).job, null);
    assert.equal((await job.explain({ task: 0 })).task?.index, 0);
    assert.ok((await client.demand()).rows.length > 0);
    assert.ok((await all(client.users())).length > 0);
    assert.deepEqual(await all(client.receipts()), []);
  });
  it('sets limits, and holds one for as long as it is wanted', async () => {
    const options = { tag: 'ts', expr: al.my('User').eq('ann'), count: 10, windowMs: 60_000, expiresInMs: 60_000 };
    const { uuid } = await client.limits.put(options);
    assert.equal((await client.limits.put({ ...options, count: 5 }, { uuid })).created, false);
    assert.equal((await client.limits.get(uuid)).count, 5);
    assert.equal((await client.limits.renew(uuid, { expiresInMs: 1_000 })).expires_in_ms, 1_000);
    assert.equal((await client.limits.try({ expr: options.expr })).job_only, true);
    await client.limits.delete(uuid);
    assert.deepEqual(await client.limits.list({ tag: 'ts' }), []);

    const stop = new AbortController();
    const holding = client.limits.hold(options, stop.signal);
    await until('the limit is there', async () => (await client.limits.list({ tag: 'ts' })).length === 1);
    stop.abort();
    await holding;
    assert.deepEqual(await client.limits.list({ tag: 'ts' }), []);
  });
  it('makes and sets queues', async () => {
    const queue = await client.queues.create('other', { dispatch: 'balanced' });
    await assert.rejects(client.queues.create('other'), al.QueueExists);
    const set = await queue.set({ policy: al.fair('user', al.workersOwn()), weights: { 'user.ann': 3 }, property_keys: ['gpu'] });
    assert.equal(set.settings.policy, 'fair(user, worker)');
    assert.equal((await queue.pause()).paused, true);
    assert.equal((await queue.resume()).paused, false);
    assert.equal((await queue.overview()).queue.name, 'other');
    assert.equal((await queue.history({ step: 'minute' })).step_ms, 60_000);
    assert.equal((await client.queues.list()).length, 2);
    await queue.delete();
    await assert.rejects(queue.view(), al.UnknownQueue);
  });
  it('ends whatever waits when its signal is aborted', async () => {
    const job = await client.submit(never, [1]);
    const waits: ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => job.wait({ signal }),
      (signal) => all(job.results({ signal })),
      (signal) => all(job.results({ ordered: false, signal })),
      (signal) => all(job.watch({ signal })),
      (signal) => all(client.map(never, [1], { signal })),
      (signal) => new Client({ server: 'http://127.0.0.1:9' }).server({ signal }),
      (signal) =>
        client.submit(
          never,
          (async function* () {
            yield 1;
            await new Promise(() => {});
          })(),
          { signal },
        ),
    ];
    for (const [i, wait] of waits.entries()) {
      const stop = new AbortController();
      const reason = new Error(`enough of ${i}`);
      setTimeout(() => stop.abort(reason), 100);
      await assert.rejects(wait(stop.signal), (error) => error === reason);
    }
    // What map() submitted is its own.
    const [newest] = await jobs('never');
    assert.equal(newest?.state, 'cancelled');
  });
  it('takes server, queue and token from the environment, and from files', async () => {
    const { ALLOT_SERVER, ALLOT_QUEUE, ALLOT_TOKEN, ALLOT_TOKEN_FILE } = process.env;
    const file = join(await mkdtemp(join(tmpdir(), 'allot-ts-')), 'token');
    await writeFile(file, ' from-file \n');
    try {
      process.env['ALLOT_SERVER'] = server.url;
      process.env['ALLOT_QUEUE'] = 'q';
      process.env['ALLOT_TOKEN_FILE'] = file;
      const { connection } = new Client().http;
      assert.deepEqual([connection.server, connection.queue, connection.token], [server.url, 'q', 'from-file']);
      process.env['ALLOT_TOKEN'] = 'from-environment';
      assert.equal(new Client().http.connection.token, 'from-environment');
      assert.equal(new Client({ tokenFile: file }).http.connection.token, 'from-file');
      assert.throws(() => new Client({ server: 'ftp://x' }), TypeError);
    } finally {
      for (const [name, value] of Object.entries({ ALLOT_SERVER, ALLOT_QUEUE, ALLOT_TOKEN, ALLOT_TOKEN_FILE })) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
  });
});

describe('results', () => {
  let server: Server;
  let client: Client;
  before(async () => {
    server = await Server.start();
    client = new Client({ server: server.url });
  });
  after(() => server.stop());

  const odd = task<number, number>('odd', async (n) => {
    if (n % 2 === 0) throw new al.GiveUp(`${n} is even`);
    return n;
  });
  const work = async (tasks: al.TaskList, what: () => Promise<void>) => {
    const stop = new AbortController();
    const running = new Worker(tasks, { server: server.url, handleSignals: false }).run({ signal: stop.signal });
    try {
      await what();
    } finally {
      stop.abort();
      await running;
    }
  };

  it('come in order without gaps, and as they complete without gaps and twins', async () => {
    const held = new Map<number, () => void>();
    const slow = task<number, number>('slow', async (n) => {
      if (n % 10 === 0) await new Promise<void>((resolve) => held.set(n, resolve));
      return n;
    });
    await work([slow], async () => {
      const items = Array.from({ length: 50 }, (_, n) => n);
      const job = await client.submit(slow, items);
      const seen: number[] = [];
      for await (const outcome of job.outcomes({ ordered: false })) {
        seen.push(outcome.value());
        // Those that are held come last.
        if (seen.length === 45) {
          assert.ok(seen.every((n) => n % 10 !== 0));
          for (const go of held.values()) go();
        }
      }
      assert.deepEqual(
        [...seen].sort((a, b) => a - b),
        items,
      );
      assert.deepEqual(await all(job.results()), items);
    });
  });
  for (const former of [false, true]) {
    it(`as they complete survive lost connections and restarts${former ? ', of servers that do not push them' : ''}`, async () => {
      const proxy = await Proxy.start(server.port);
      proxy.former = former;
      const far = new Client({ server: proxy.url });
      assert.equal(await far.features.has('results_as_completed'), !former);
      const square = task<number, number>('square', (n) => n * n);
      const job = await far.submit(
        square,
        Array.from({ length: 3_000 }, (_, n) => n),
        { maxAttempts: 100 },
      );
      await work([square], async () => {
        const seen: number[] = [];
        for await (const outcome of job.outcomes({ ordered: false })) {
          assert.equal(outcome.value(), outcome.index ** 2);
          seen.push(outcome.index);
          if (seen.length === 100 || seen.length === 1_000) proxy.breakAll();
          if (seen.length === 500) await server.restart();
        }
        assert.equal(new Set(seen).size, 3_000);
        assert.equal(seen.length, 3_000);
      });
      await proxy.stop();
    });
  }
  it('of a job that is gone, or is not there, are refused', async () => {
    await assert.rejects(all(client.job('12345').outcomes({ ordered: false })), al.UnknownJob);
  });
  it('leave a job with what it was submitted with', async () => {
    const job = await client.submitSpec({ tag: 'none', count: 2, payload: { scene: 7 } });
    assert.deepEqual(await job.payload(), { scene: 7 });
    await job.cancel();
  });
  it('of failed tasks throw, and their outcomes tell', async () => {
    await work([odd], async () => {
      const job = await client.submit(odd, [1, 2, 3], { maxFailedTasks: 1 });
      const outcomes = await all(job.outcomes());
      assert.deepEqual(
        outcomes.map((outcome) => outcome.state),
        ['done', 'failed', 'done'],
      );
      assert.throws(
        () => outcomes[1]!.value(),
        (error) => error instanceof al.TaskFailed && error.index === 1 && /2 is even/.test(error.error),
      );
      await assert.rejects(all(job.results()), al.TaskFailed);
      assert.equal((await job.errors()).groups[0]?.tasks, 1);

      const failed = await client.submit(odd, [1, 3, 4]);
      await assert.rejects(
        all(failed.results()),
        (error) => error instanceof al.JobFailed && error.firstError?.index === 2 && error.done === 2,
      );
      await assert.rejects(client.call(odd, 2), al.JobFailed);
      assert.equal(await client.call(odd, 5), 5);
      assert.equal(await failed.retry(), 1);
      await failed.wait();
    });
  });
  it('of a map that is left early: its job is cancelled', async () => {
    const some = task<number, number>('some', async (n, { signal }) => {
      if (n > 3) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return n;
    });
    await work([some], async () => {
      for await (const n of client.map(some, [1, 2, 3, 4, 5])) if (n === 3) break;
      const [job] = await all(client.jobs({ tag: 'some' }));
      assert.equal(job?.state, 'cancelled');
    });
  });
  it('are read again from a server that was killed', async () => {
    const job = await client.submit(
      square,
      Array.from({ length: 3_000 }, (_, n) => n),
    );
    const reading = all(job.results());
    await server.restart();
    await work([square], async () => assert.equal((await reading).length, 3_000));
    const views = await all(job.watch());
    assert.equal(views.at(-1)?.state, 'done');
    assert.deepEqual(
      (await job.outcome(7))?.map((outcome) => outcome.value()),
      [49],
    );
    assert.equal((await job.receipt(2_999)).index, 2_999);
  });
});

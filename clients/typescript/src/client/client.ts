// SPDX-License-Identifier: Apache-2.0
// A client of one queue of a server.

import { Http } from '../base/http.js';
import { resolve } from '../base/options.js';
import type { ConnectionOptions } from '../base/options.js';
import { Features } from '../features.js';
import type { Output, Task } from '../task.js';
import type * as wire from '../wire.js';
import { Job } from './job.js';
import { Limits } from './limits.js';
import type { ReadOptions } from './outcomes.js';
import { Queue, Queues } from './queues.js';
import { newKey, specOf, submitItems } from './submit.js';
import type { SubmitOptions } from './submit.js';
import { views } from './views.js';
import { Workers } from './workers.js';

export interface MapOptions extends SubmitOptions {
  // Results in the order of the items (true, unless said), or as they complete.
  ordered?: boolean;
}

export type JobsFilter = Pick<wire.JobsFilter, 'state' | 'tag' | 'user'>;
export type Action = 'cancel' | 'pause' | 'resume' | 'retry';

export class Client {
  // The connection to the server, for requests that have no method here: client.http.get('/v1/…').
  readonly http: Http;
  // What the server can beyond the first version of the protocol.
  readonly features: Features;
  readonly limits: Limits;
  readonly workers: Workers;
  readonly queues: Queues;
  // This client's own queue.
  readonly queue: Queue;

  constructor(options: ConnectionOptions = {}) {
    this.http = new Http(resolve(options));
    this.features = Features.of(this.http);
    this.limits = new Limits(this.http);
    this.workers = new Workers(this.http);
    this.queues = new Queues(this.http);
    this.queue = this.queues.named(this.http.connection.queue);
  }

  // ---- Jobs.

  // A job with a task for each item; it exists once the last one is stored. May be a stream of any length.
  async submit<I, O>(task: Task<I, O>, items: Iterable<I> | AsyncIterable<I>, options: SubmitOptions = {}): Promise<Job<O>> {
    const { job, existing } = await submitItems(this.http, task, items, options);
    return new Job<O>(this.http, job.id, task, existing);
  }

  // What comes of each item. The job is this call's own: who leaves the loop early, or aborts, cancels it.
  async *map<I, O>(task: Task<I, O>, items: Iterable<I> | AsyncIterable<I>, options: MapOptions = {}): AsyncGenerator<O, void, undefined> {
    const job = await this.submit(task, items, options);
    let over = false;
    try {
      yield* job.results({ ordered: options.ordered ?? true, ...(options.signal ? { signal: options.signal } : {}) });
      over = true;
    } finally {
      if (!over && !job.existing) await job.cancel().catch(() => {});
    }
  }

  // What comes of one item.
  async call<I, O>(task: Task<I, O>, item: I, options: SubmitOptions = {}): Promise<O> {
    for await (const result of this.map(task, [item], options)) return result;
    throw new RangeError('a job of one task has no result');
  }

  // A job as the protocol has it.
  async submitSpec(spec: wire.JobSpec, { signal }: ReadOptions = {}): Promise<Job> {
    const body = { ...spec, idempotency_key: spec.idempotency_key ?? newKey() };
    const { job, existing } = await this.http.post<wire.Submitted>(this.http.inQueue('/jobs'), body, { signal, again: true });
    return new Job(this.http, job.id, undefined, existing);
  }
  // Up to 1,000 jobs at once: all, or none.
  async submitBatch(specs: readonly wire.JobSpec[], { signal }: ReadOptions = {}): Promise<Job[]> {
    const jobs = specs.map((spec) => ({ ...spec, idempotency_key: spec.idempotency_key ?? newKey() }));
    const answer = await this.http.post<wire.BatchSubmitted>(this.http.inQueue('/jobs/batch'), { jobs }, { signal, again: true });
    return answer.jobs.map(({ id, existing }) => new Job(this.http, id, undefined, existing));
  }

  // A job by its id; `last` is the newest. Whether it is there is found out by its methods.
  job<O = unknown>(id: string, task?: Output<O>): Job<O> {
    return new Job<O>(this.http, id, task);
  }

  // Jobs, newest first.
  async *jobs({ signal, ...filter }: JobsFilter & ReadOptions = {}): AsyncGenerator<wire.Job, void, undefined> {
    for (let before: string | null | undefined; before !== null;) {
      const page: wire.JobsPage = await this.http.get(this.http.inQueue('/jobs'), { query: { ...filter, before, limit: 1_000 }, signal });
      yield* page.jobs;
      before = page.next;
    }
  }

  // Does that to all jobs that the filter finds. With `dry_run` they are only counted.
  change(action: Action, filter: wire.JobsFilter, { signal }: ReadOptions = {}): Promise<wire.BulkAnswer> {
    return this.http.post(this.http.inQueue(`/jobs/${action}`), filter, { signal });
  }

  // Whether and where a job of the task could run, and if nowhere, why. Nothing is submitted.
  explain(task: { name: string }, { signal, ...options }: SubmitOptions = {}): Promise<wire.Explanation> {
    const { idempotency_key: _, ...spec } = specOf(task, options);
    return this.http.post(this.http.inQueue('/explain'), spec, { signal, again: true });
  }

  // ---- Looks.

  server({ signal }: ReadOptions = {}): Promise<wire.ServerInfo> {
    return this.http.get('/v1/server', { signal });
  }

  async *users({ signal, user }: ReadOptions & { user?: string } = {}): AsyncGenerator<wire.User, void, undefined> {
    for (let after: string | null | undefined; after !== null;) {
      const page: wire.UsersPage = await this.http.get(this.http.inQueue('/users'), { query: { user, after, limit: 1_000 }, signal });
      yield* page.users;
      after = page.next;
    }
  }

  // How the last starts were decided, newest first.
  async *receipts({ signal }: ReadOptions = {}): AsyncGenerator<wire.Receipt, void, undefined> {
    for (let before: number | null | undefined; before !== null;) {
      const page: wire.ReceiptsPage = await this.http.get(this.http.inQueue('/receipts'), { query: { before, limit: 1_000 }, signal });
      yield* page.receipts;
      before = page.next;
    }
  }

  // What could start if workers were there.
  demand({ signal, ...query }: ReadOptions & { user?: string; tag?: string; limit?: number } = {}): Promise<wire.Demand> {
    return this.http.get(this.http.inQueue('/demand'), { query, signal });
  }

  // Whether it is a strategy (or a policy), its canonical text, and what it will do.
  checkStrategy(strategy: unknown, { signal, policy = false }: ReadOptions & { policy?: boolean } = {}): Promise<wire.StrategyCheck> {
    return this.http.post('/v1/strategies/check', policy ? { policy: strategy } : { strategy }, { signal, again: true });
  }
  // Those that have a name.
  async strategies({ signal }: ReadOptions = {}): Promise<wire.StrategyCheck[]> {
    return (await this.http.get<{ strategies: wire.StrategyCheck[] }>('/v1/strategies', { signal })).strategies;
  }
  // Which tasks a worker with it would get now, and why.
  tryStrategy(
    what: { strategy: unknown; policy?: unknown; worker?: string | wire.Hello; count?: number },
    { signal }: ReadOptions = {},
  ): Promise<wire.StrategyTry> {
    return this.http.post(this.http.inQueue('/strategy/try'), what, { signal, again: true });
  }

  // What a GET below the queue shows, now and whenever that changed, for as long as it is iterated over: '/overview'.
  watch<T = unknown>(path: string, { signal }: ReadOptions = {}): AsyncGenerator<T, void, undefined> {
    return views<T>(this.http, this.http.inQueue(path), signal);
  }
}

// SPDX-License-Identifier: Apache-2.0
// A job of the server, by its id.

import { JobCancelled, JobFailed, TaskFailed, Unsupported } from '../base/errors.js';
import type { Http } from '../base/http.js';
import { Features, JOB_PAYLOAD } from '../features.js';
import { DONE, FAILED, JOB_CANCELLED, JOB_FAILED, jobEnded } from '../states.js';
import type { Output } from '../task.js';
import type * as wire from '../wire.js';
import { asCompleted } from './completed.js';
import { inOrder, outcomesOf, readPage } from './outcomes.js';
import type { Outcome, ReadOptions } from './outcomes.js';
import { views } from './views.js';

export interface OutcomeOptions extends ReadOptions {
  // In the order of indices (true, unless said), or as they complete.
  ordered?: boolean;
}

const WAIT_MS = 60_000;

export class Job<O = unknown> {
  constructor(
    private readonly http: Http,
    readonly id: string,
    private readonly task?: Output<O>,
    // Whether its submit found it there, by its idempotency key.
    readonly existing = false,
  ) {}

  private path(rest = ''): string {
    return this.http.inQueue(`/jobs/${encodeURIComponent(this.id)}${rest}`);
  }

  // How it is now.
  view({ signal }: ReadOptions = {}): Promise<wire.Job> {
    return this.http.get(this.path(), { signal });
  }

  // What it was submitted with for all of its tasks, as it is on the wire; undefined: nothing.
  async payload({ signal }: ReadOptions = {}): Promise<unknown> {
    if (!(await Features.of(this.http).has(JOB_PAYLOAD))) throw new Unsupported(JOB_PAYLOAD);
    return (await this.http.get<wire.Job>(this.path(), { query: { payload: true }, signal, values: true })).payload;
  }

  // How it is once it has ended, well or not.
  async wait({ signal }: ReadOptions = {}): Promise<wire.Job> {
    for (;;) {
      const job = await this.http.get<wire.Job>(this.path(), { query: { wait_ms: WAIT_MS }, waitMs: WAIT_MS, signal });
      if (jobEnded(job.state)) return job;
    }
  }

  // How each task ended, as soon as it did: an outcome for each item.
  async *outcomes({ ordered = true, signal }: OutcomeOptions = {}): AsyncGenerator<Outcome<O>, void, undefined> {
    const pages = ordered ? inOrder : asCompleted;
    for await (const page of pages(this.http, this.id, signal ? { signal } : {})) {
      for (const result of page) yield* outcomesOf(this.id, result, this.task);
    }
  }

  // The results of all items, in order (or as they complete). Throws where one is missing: JobCancelled, JobFailed, or
  // TaskFailed where the job goes on all the same.
  async *results(options: OutcomeOptions = {}): AsyncGenerator<O, void, undefined> {
    for await (const outcome of this.outcomes(options)) {
      if (outcome.state !== DONE) throw await this.whyMissing(outcome, options.signal);
      yield outcome.value();
    }
  }

  private async whyMissing(outcome: Outcome<O>, signal: AbortSignal | undefined): Promise<Error> {
    const job = await this.view(signal ? { signal } : {});
    if (job.state === JOB_CANCELLED) return new JobCancelled(this.id, job.done);
    let failed = outcome.state === FAILED ? new TaskFailed(this.id, outcome.index, outcome.error) : null;
    if (job.state !== JOB_FAILED) return failed ?? new TaskFailed(this.id, outcome.index, outcome.state);
    if (!failed) {
      const [first] = (await this.http.get<wire.TasksPage>(this.path('/tasks'), { query: { state: FAILED, limit: 1 }, signal })).tasks;
      if (first) failed = new TaskFailed(this.id, first.index, first.error);
    }
    return new JobFailed(this.id, job.reason, failed, job.done);
  }

  // The outcomes of one task, which has ended; undefined: it has not.
  async outcome(index: number, { signal }: ReadOptions = {}): Promise<Outcome<O>[] | undefined> {
    const [result] = (await readPage(this.http, this.id, index, { limit: 1, signal })).results;
    return result && outcomesOf(this.id, result, this.task);
  }

  cancel(options: ReadOptions = {}): Promise<wire.Job> {
    return this.http.post(this.path('/cancel'), {}, { ...options, again: true });
  }
  pause(options: ReadOptions = {}): Promise<wire.Job> {
    return this.http.post(this.path('/pause'), {}, { ...options, again: true });
  }
  resume(options: ReadOptions = {}): Promise<wire.Job> {
    return this.http.post(this.path('/resume'), {}, { ...options, again: true });
  }
  // Runs its failed and skipped tasks anew; the answer is how many.
  async retry(options: ReadOptions = {}): Promise<number> {
    return (await this.http.post<{ retried: number }>(this.path('/retry'), {}, options)).retried;
  }
  // Changes it while it has not ended.
  change(change: wire.JobChange, options: ReadOptions = {}): Promise<wire.Job> {
    return this.http.call('PATCH', this.path(), { ...options, body: change, again: true });
  }

  // Why it does not run; of one task, or on one worker.
  explain(options?: ReadOptions & { task?: number }): Promise<wire.Explanation>;
  explain(options: ReadOptions & { worker: string }): Promise<wire.WorkerExplanation>;
  explain({ signal, ...query }: ReadOptions & { task?: number; worker?: string } = {}): Promise<wire.Explanation | wire.WorkerExplanation> {
    return this.http.get(this.path('/explain'), { query, signal });
  }

  // Its tasks, in order of index.
  async *tasks({ state, from = 0, signal }: ReadOptions & { state?: wire.TaskState; from?: number } = {}): AsyncGenerator<
    wire.Task,
    void,
    undefined
  > {
    for (let next: number | null = from; next !== null;) {
      const page: wire.TasksPage = await this.http.get(this.path('/tasks'), { query: { state, from: next, limit: 1_000 }, signal });
      yield* page.tasks;
      next = page.next;
    }
  }
  // One of them, with payload and result as they are on the wire.
  taskAt(index: number, { signal }: ReadOptions = {}): Promise<wire.Task> {
    return this.http.get(this.path(`/tasks/${index}`), { signal, values: true });
  }
  // How its last start was decided.
  receipt(index: number, { signal }: ReadOptions = {}): Promise<wire.Receipt> {
    return this.http.get(this.path(`/tasks/${index}/receipt`), { signal });
  }
  // How its tasks stand over the range of their indices.
  picture({ signal, ...query }: ReadOptions & { parts?: number; from?: number; to?: number } = {}): Promise<wire.Picture> {
    return this.http.get(this.path('/picture'), { query, signal });
  }
  // What its failed tasks say, those that say the same together.
  errors({ signal, ...query }: ReadOptions & { from?: number; limit?: number } = {}): Promise<wire.ErrorsPage> {
    return this.http.get(this.path('/errors'), { query, signal });
  }
  // How it is, now and whenever that changed; ends with the job. A lost connection is made anew.
  async *watch({ signal }: ReadOptions = {}): AsyncGenerator<wire.Job, void, undefined> {
    for await (const job of views<wire.Job>(this.http, this.path(), signal)) {
      yield job;
      if (jobEnded(job.state)) return;
    }
  }
}

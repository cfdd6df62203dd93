// SPDX-License-Identifier: Apache-2.0
// Results of a job, in the order of indices.

import { chunkOf, decode } from '../chunks.js';
import { TaskFailed } from '../base/errors.js';
import type { Http } from '../base/http.js';
import { DONE } from '../states.js';
import type { Output } from '../task.js';
import type { JobState, Result, ResultsPage, TaskState } from '../wire.js';

// How a task ended.
export interface Outcome<O> {
  // Of the task. Items of a chunk have its index, and their place in it.
  readonly index: number;
  readonly place: number;
  readonly state: TaskState;
  // What its worker said; empty, unless it failed.
  readonly error: string;
  // The result; throws TaskFailed where there is none because the task has failed or was skipped.
  value(): O;
}

class Ended<O> implements Outcome<O> {
  constructor(
    private readonly job: string,
    readonly index: number,
    readonly place: number,
    readonly state: TaskState,
    readonly error: string,
    private readonly result: unknown,
    private readonly task: Output<O> | undefined,
  ) {}

  value(): O {
    if (this.state !== DONE) throw new TaskFailed(this.job, this.index, this.error || this.state);
    return decode(this.result, this.task?.output);
  }
}

// The outcomes that a result tells of: one, or one for each item of a chunk. A chunk that failed is one.
export function outcomesOf<O>(job: string, result: Result, task: Output<O> | undefined): Outcome<O>[] {
  const { index, state, error = '' } = result;
  const items = state === DONE ? chunkOf(result.result) : undefined;
  if (!items) return [new Ended(job, index, 0, state, error, result.result, task)];
  return items.map((item, place) => new Ended(job, index, place, state, error, item, task));
}

export interface ReadOptions {
  signal?: AbortSignal;
}

const PAGE = 1_000;
const WAIT_MS = 30_000;

export interface Page {
  results: Result[];
  next: number | null;
  jobState: JobState;
}

export async function readPage(
  http: Http,
  job: string,
  from: number,
  options: { waitMs?: number; limit?: number; signal?: AbortSignal | undefined },
): Promise<Page> {
  const { waitMs = 0, limit = PAGE, signal } = options;
  const answer = await http.get<ResultsPage>(http.inQueue(`/jobs/${encodeURIComponent(job)}/results`), {
    query: { from, limit, wait_ms: waitMs || undefined },
    waitMs,
    signal,
    values: true,
  });
  return { results: answer.results, next: answer.next, jobState: answer.job_state };
}

// All results, page by page, without gaps. The next page is asked for while this one is looked at.
export async function* inOrder(http: Http, job: string, { signal }: ReadOptions): AsyncGenerator<Result[]> {
  const left = new AbortController();
  const leave = () => left.abort(signal!.reason);
  if (signal?.aborted) throw signal.reason;
  signal?.addEventListener('abort', leave, { once: true });
  const read = (from: number) => {
    const page = readPage(http, job, from, { waitMs: WAIT_MS, signal: left.signal });
    // It is awaited below, unless nobody wants more.
    page.catch(() => {});
    return page;
  };
  try {
    let page: Promise<Page> | undefined = read(0);
    while (page) {
      const { results, next }: Page = await page;
      page = next === null ? undefined : read(next);
      if (results.length > 0) yield results;
    }
  } finally {
    signal?.removeEventListener('abort', leave);
    left.abort();
  }
}

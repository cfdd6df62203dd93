// SPDX-License-Identifier: Apache-2.0
// Results of a job as its tasks complete, in any order, each once.
//
// A server that pushes them has the feature RESULTS_AS_COMPLETED. Others tell results in the order of indices alone. There
// this waits for the first that is missing, and meanwhile looks which of those behind have ended, at most once in a while:
// it tells of them a moment late.

import { platform } from '#platform';
import { errorFrom, worthRetrying } from '../base/errors.js';
import type { Http } from '../base/http.js';
import { parseValue } from '../base/json.js';
import { pauseBefore, sleep } from '../base/signals.js';
import { Features, RESULTS_AS_COMPLETED } from '../features.js';
import type { Socket } from '../platform/platform.js';
import { DONE, FAILED } from '../states.js';
import type { ErrorBody, Result, TasksPage } from '../wire.js';
import { readPage } from './outcomes.js';
import type { ReadOptions } from './outcomes.js';
import { Ranges } from './ranges.js';

// How many tasks behind the first missing one are looked at.
const AHEAD = 20_000;
const PAGE = 1_000;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 1_000;

// How many results may be on their way, and how many ranges of those that came a connection can begin with.
const CREDIT = 4_000;
const MOST_RANGES = 10_000;

export async function* asCompleted(http: Http, job: string, options: ReadOptions): AsyncGenerator<Result[]> {
  const sockets = !http.connection.token || platform.noSocketWithToken === null;
  const push = sockets && (await Features.of(http).has(RESULTS_AS_COMPLETED));
  yield* push ? pushed(http, job, options) : lookedFor(http, job, options);
}

interface WaitNews {
  results?: { job: string; results: Result[]; end: boolean }[];
  unknown?: string[];
  error?: ErrorBody;
}

// What comes over one connection, until that ends; then `over` says why.
class Subscription {
  private readonly news: WaitNews[] = [];
  private wake: () => void = () => {};
  private over: Error | undefined;
  private readonly socket: Socket;

  constructor(http: Http, hello: string) {
    const { connection } = http;
    const url = connection.server.replace(/^http/, 'ws') + http.inQueue('/wait');
    this.socket = platform.openSocket(url, connection, {
      opened: () => this.socket.send(hello),
      message: (text) => {
        this.news.push(parseValue(text, connection.integers) as WaitNews);
        this.wake();
      },
      alive: () => {},
      closed: (error) => {
        this.over ??= error;
        this.wake();
      },
    });
  }

  async next(signal: AbortSignal | undefined): Promise<WaitNews> {
    const wake = () => this.wake();
    signal?.addEventListener('abort', wake, { once: true });
    try {
      for (;;) {
        if (signal?.aborted) throw signal.reason;
        const news = this.news.shift();
        if (news?.error) throw errorFrom(news.error);
        if (news) return news;
        if (this.over) throw this.over;
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
    } finally {
      signal?.removeEventListener('abort', wake);
    }
  }

  send(text: string): void {
    if (!this.over) this.socket.send(text);
  }
  close(): void {
    this.socket.close();
  }
}

async function* pushed(http: Http, job: string, { signal }: ReadOptions): AsyncGenerator<Result[]> {
  const had = new Ranges();
  const ask = (credit: number, have: object = {}) => JSON.stringify({ results: [{ job, credit, ...have }] });
  let end = Date.now() + http.connection.retryForMs;
  for (let attempt = 0; ; attempt++) {
    const subscription = new Subscription(http, ask(CREDIT, { have: had.list(MOST_RANGES) }));
    try {
      for (let credit = CREDIT; ;) {
        const news = await subscription.next(signal);
        attempt = 0;
        end = Date.now() + http.connection.retryForMs;
        if (news.unknown) throw errorFrom({ code: 'unknown_job', message: `there is no job ${job}` });
        for (const { results, end } of news.results ?? []) {
          credit -= results.length;
          // Some may come again after a lost connection.
          const fresh = results.filter((result) => had.add(result.index));
          if (fresh.length > 0) yield fresh;
          if (end) return;
        }
        if (credit > CREDIT / 2) continue;
        subscription.send(ask(CREDIT - credit));
        credit = CREDIT;
      }
    } catch (error) {
      const pause = pauseBefore(attempt, 50, 2_000);
      if (!worthRetrying(error) || signal?.aborted || Date.now() + pause > end) throw error;
      await sleep(pause, signal);
    } finally {
      subscription.close();
    }
  }
}

async function* lookedFor(http: Http, job: string, { signal }: ReadOptions): AsyncGenerator<Result[]> {
  let head = 0; // all before have been told
  const told = new Set<number>(); // and these, behind it
  let waitMs = FIRST_WAIT_MS;
  for (;;) {
    const page = await readPage(http, job, head, { waitMs, signal });
    const fresh = page.results.filter((result) => !told.delete(result.index));
    if (fresh.length > 0) yield fresh;
    if (page.next === null) return;
    const moved = page.next > head;
    head = page.next;
    // A full page: what follows is most likely there, too.
    if (page.results.length >= PAGE) continue;
    let found = 0;
    for (const [from, length] of await endedBehind(http, job, head, told, signal)) {
      const behind = await readPage(http, job, from, { limit: length, signal });
      const news = behind.results.filter((result) => result.index < from + length && !told.has(result.index));
      for (const result of news) told.add(result.index);
      found += news.length;
      if (news.length > 0) yield news;
    }
    waitMs = moved || found > 0 ? FIRST_WAIT_MS : Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
}

// Runs of tasks from `head` on that have ended and are not told: from, length.
async function endedBehind(
  http: Http,
  job: string,
  head: number,
  told: ReadonlySet<number>,
  signal: AbortSignal | undefined,
): Promise<[number, number][]> {
  const ended: number[] = [];
  for (const state of [DONE, FAILED]) {
    for (let from: number | null = head; from !== null && from < head + AHEAD;) {
      const page: TasksPage = await http.get<TasksPage>(http.inQueue(`/jobs/${encodeURIComponent(job)}/tasks`), {
        query: { state, from, limit: PAGE },
        signal,
      });
      for (const task of page.tasks) if (!told.has(task.index)) ended.push(task.index);
      from = page.next;
    }
  }
  ended.sort((a, b) => a - b);
  const runs: [number, number][] = [];
  for (const index of ended) {
    const last = runs.at(-1);
    if (last && last[0] + last[1] === index && last[1] < PAGE) last[1]++;
    else runs.push([index, 1]);
  }
  return runs;
}

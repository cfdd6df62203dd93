// SPDX-License-Identifier: Apache-2.0
// Results of a job as its tasks complete, in any order, each once.
//
// The server tells results in the order of indices alone. So this waits for the first that is missing, and meanwhile
// looks which of those behind have ended, at most once in a while: it tells of them a moment late. A server that pushes
// them has the feature RESULTS_AS_COMPLETED, and this becomes its subscriber.

import type { Http } from '../base/http.js';
import { DONE, FAILED } from '../states.js';
import type { Result, TasksPage } from '../wire.js';
import { readPage } from './outcomes.js';
import type { ReadOptions } from './outcomes.js';

// How many tasks behind the first missing one are looked at.
const AHEAD = 20_000;
const PAGE = 1_000;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 1_000;

export async function* asCompleted(http: Http, job: string, { signal }: ReadOptions): AsyncGenerator<Result[]> {
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

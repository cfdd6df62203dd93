// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { extendHistory } from './history';
import type { History, Overview } from './types';

const history: History = {
  step_ms: 1000,
  from_at_ms: 10_000,
  submitted: [1, 2, 3],
  started: [1, 2, 3],
  done: [1, 2, 3],
  failed: [0, 0, 0],
  queued: [7, 8, 9],
  retrying: [0, 0, 0],
  running: [1, 1, 1],
  oldest_ms: [0, 0, 0],
};
const overview = {
  rates: { submitted: 4, started: 5, done: 6, failed: 0.5 },
  queue: { tasks: { queued: 11, retrying: 2, running: 3 } },
  oldest_waiting: { job: '1', since_at_ms: 12_000 },
} as unknown as Overview;

describe('extendHistory', () => {
  it('leaves alone what is up to date', () => {
    expect(extendHistory(history, overview, 13_999, 3)).toBe(history);
  });

  it('adds what is missing and lets the oldest go', () => {
    const next = extendHistory(history, overview, 15_100, 3);
    expect(next.from_at_ms).toBe(12_000);
    expect(next.done).toEqual([3, 6, 6]);
    expect(next.queued).toEqual([9, 11, 11]);
    expect(next.failed).toEqual([0, 0.5, 0.5]);
    expect(next.oldest_ms).toEqual([0, 2000, 3000]);
    expect(history.done).toEqual([1, 2, 3]);
  });

  it('grows until it has enough', () => {
    const next = extendHistory(history, overview, 15_000, 4);
    expect(next.from_at_ms).toBe(11_000);
    expect(next.done).toEqual([2, 3, 6, 6]);
  });

  it('is all of the overview after a long time', () => {
    const next = extendHistory(history, overview, 1_000_000, 3);
    expect(next.done).toEqual([6, 6, 6]);
    expect(next.from_at_ms).toBe(997_000);
  });

  it('comes to the same in one step or many', () => {
    let step = history;
    for (let now = 13_000; now <= 20_000; now += 500) step = extendHistory(step, overview, now, 3);
    expect(step).toEqual(extendHistory(history, overview, 20_000, 3));
  });
});

// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { partRange, readRange, zoomOut, zoomTo } from './picture';
import type { Picture } from './types';

const lists = (n: number) => Array.from({ length: n }, () => 0);
const picture: Picture = {
  job: '1',
  count: 1_000_000_000,
  from: 0,
  to: 1_000_000_000,
  width: 5_013_504,
  queued: lists(200),
  running: lists(200),
  retrying: lists(200),
  done: lists(200),
  failed: lists(200),
  skipped: lists(200),
};

describe('picture', () => {
  it('ends its last part with the range', () => {
    expect(partRange(picture, 0)).toEqual({ from: 0, to: 5_013_504 });
    expect(partRange(picture, 199)).toEqual({ from: 997_687_296, to: 1_000_000_000 });
  });

  it('zooms to parts from either end', () => {
    expect(zoomTo(picture, 2, 3)).toEqual(zoomTo(picture, 3, 2));
    expect(zoomTo(picture, 2, 3)).toEqual({ from: 10_027_008, to: 20_054_016 });
  });

  it('zooms out inside the job, and at last to all of it', () => {
    expect(zoomOut({ from: 0, to: 10 }, 1000)).toEqual({ from: 0, to: 100 });
    expect(zoomOut({ from: 990, to: 1000 }, 1000)).toEqual({ from: 900, to: 1000 });
    expect(zoomOut({ from: 450, to: 550 }, 1000)).toBeNull();
  });

  it('reads only ranges that are ones', () => {
    expect(readRange('5', '10', 100)).toEqual({ from: 5, to: 10 });
    expect(readRange('5', '1000', 100)).toEqual({ from: 5, to: 100 });
    for (const [from, to] of [
      [null, '5'],
      ['5', null],
      ['5', '5'],
      ['7', '5'],
      ['-1', '5'],
      ['a', '5'],
      ['0', '100'],
      ['200', '300'],
    ] as const) {
      expect(readRange(from, to, 100)).toBeNull();
    }
  });
});

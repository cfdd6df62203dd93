// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import * as format from './format';

describe('format', () => {
  it('says how far a task is', () => {
    expect(format.progress({ done: 3, of: 12, note: 'frames' })).toBe('25 % (3 of 12), frames');
    expect(format.progress({ done: 13, of: 12 })).toBe('100 % (13 of 12)');
    expect(format.progress({ done: 7 })).toBe('7');
    expect(format.progress({ done: 7, of: 0 })).toBe('7');
  });

  it.each([
    [0, '0ms'],
    [250, '250ms'],
    [999, '999ms'],
    [1000, '1s'],
    [4700, '4.7s'],
    [9949, '9.9s'],
    [9951, '10s'],
    [59_400, '59s'],
    [60_000, '1m'],
    [95_000, '1m35s'],
    [3_599_400, '59m59s'],
    [3_600_000, '1h'],
    [12_000_000, '3h20m'],
    [86_400_000, '1d'],
    [187_200_000, '2d4h'],
    [40_000_000_000, '463d'],
    [9e12, '285y'],
    [-5, '0ms'],
  ])('says %d ms as %s', (ms, text) => expect(format.duration(ms)).toBe(text));

  it.each([
    [0, '0'],
    [7, '7'],
    [7.25, '7.3'],
    [999, '999'],
    [1000, '1k'],
    [1204, '1.2k'],
    [9950, '10k'],
    [83_000, '83k'],
    [999_500, '1M'],
    [1_000_000_000, '1G'],
    [-1500, '-1.5k'],
    [10, '10'],
    [100, '100'],
    [20_000, '20k'],
    [100_000, '100k'],
  ])('shortens %d to %s', (n, text) => expect(format.short(n)).toBe(text));

  it.each([
    [12.5, '12.5/s'],
    [0, '0/s'],
    [0.5, '30/min'],
    [0.001, '3.6/h'],
    [120, '120/s'],
    [12_000, '12k/s'],
    [Infinity, '0/s'],
    [10, '10/s'],
  ])('says a rate of %d a second as %s', (perSecond, text) => expect(format.rate(perSecond)).toBe(text));

  it('says ages in one unit, and what is to come', () => {
    expect(format.ago(1000, 1500)).toBe('now');
    expect(format.ago(0, 95_000)).toBe('1m ago');
    expect(format.ago(95_000, 0)).toBe('in 1m');
  });

  it('rounds no share to nothing or all that is not', () => {
    expect(format.percent(0)).toBe('0%');
    expect(format.percent(0.001)).toBe('<1%');
    expect(format.percent(0.999)).toBe('>99%');
    expect(format.percent(1)).toBe('100%');
  });

  it('quotes words for the shell', () => {
    expect(format.shellWord('render/a.b-c')).toBe('render/a.b-c');
    expect(format.shellWord(`it's $(x)`)).toBe(`'it'\\''s $(x)'`);
    expect(format.shellWord('')).toBe(`''`);
  });

  it('is short where a number is long, and exact where it is not', () => {
    expect([0, 0.25, 9999, 10_000, 4_294_967_295, -1e12].map(format.compact)).toEqual(['0', '0.25', '9,999', '10k', '4.3G', '-1T']);
  });

  it('tells no two times of an axis alike', () => {
    const noon = Date.UTC(2026, 0, 31, 12) / 1000;
    for (const step of [1, 5, 15, 30, 60, 300, 3600]) {
      const labels = format.clockLabels(Array.from({ length: 6 }, (_, i) => noon + i * step));
      expect(new Set(labels).size).toBe(6);
      expect(labels[0]!.length).toBe(step < 60 ? 8 : 5);
    }
    expect(format.clockLabels([noon + 30])[0]).toMatch(/:30$/);
    expect(format.clockLabels([])).toEqual([]);
  });
});

// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { durationText, parseDuration } from './durations';

describe('durations', () => {
  it('are read with one unit or several', () => {
    expect(parseDuration('60s')).toBe(60_000);
    expect(parseDuration(' 1h 30m ')).toBe(5_400_000);
    expect(parseDuration('250ms')).toBe(250);
    expect(parseDuration('1.5s')).toBe(1500);
    expect(parseDuration('0s')).toBe(0);
  });

  it('need a unit', () => {
    for (const text of ['', '60', 's', '-1s', '1 fortnight', '1s2', 'NaNs', '1e3s']) expect(parseDuration(text)).toBeNull();
  });

  it('are written so that they are read as the same', () => {
    for (const ms of [0, 1, 999, 1000, 60_000, 61_001, 5_400_000, 86_400_000, 90_061_007]) expect(parseDuration(durationText(ms))).toBe(ms);
    expect(durationText(90_061_007)).toBe('1d1h1m1s7ms');
  });
});

// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { left, levelAt } from './level';

describe('a level', () => {
  it('stands between what may be owed and what may be held', () => {
    const limit = { count: 10, burst: 5 };
    expect(levelAt(-5, limit)).toBe(0);
    expect(levelAt(0, limit)).toBeCloseTo(1 / 3);
    expect(levelAt(10, limit)).toBe(1);
    // A change of the terms may leave it outside for a moment.
    expect(levelAt(-50, limit)).toBe(0);
    expect(levelAt(50, limit)).toBe(1);
    expect(levelAt(0, { count: 0, burst: 0 })).toBe(0);
  });

  it('is counted down, and not below 0', () => {
    expect(left(5000, Date.now() - 60_000)).toBe(0);
    expect(left(60_000, Date.now())).toBeGreaterThan(59_000);
  });
});

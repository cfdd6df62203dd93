// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { estimateRate, RateMeter, remainingMs } from './rates';

const job = { count: 1000, done: 100, failed: 0, skipped: 0, started_at_ms: 0, ended_at_ms: null };

describe('rates', () => {
  it('needs two looks and some time', () => {
    const meter = new RateMeter();
    expect(meter.rate(0)).toBeNull();
    meter.add(0, 10);
    expect(meter.rate(5000)).toBeNull();
    meter.add(1000, 20);
    expect(meter.rate(1000)).toBeNull();
    meter.add(2000, 30);
    expect(meter.rate(2000)).toBe(10);
  });

  it('goes by the last half minute', () => {
    const meter = new RateMeter();
    for (let s = 0; s <= 60; s++) meter.add(s * 1000, s * 100);
    for (let s = 61; s <= 100; s++) meter.add(s * 1000, 6000 + (s - 60));
    expect(meter.rate(100_000)).toBeCloseTo(1, 5);
  });

  it('slows down in silence', () => {
    const meter = new RateMeter();
    meter.add(0, 0);
    meter.add(2000, 20);
    expect(meter.rate(20_000)).toBe(1);
  });

  it('begins anew after a retry', () => {
    const meter = new RateMeter();
    meter.add(0, 100);
    meter.add(5000, 40);
    expect(meter.rate(5000)).toBeNull();
  });

  it('falls back to the whole of its time', () => {
    expect(estimateRate(job, undefined, 10_000)).toBe(10);
    expect(estimateRate({ ...job, started_at_ms: null }, undefined, 10_000)).toBeNull();
    expect(estimateRate({ ...job, ended_at_ms: 50_000 }, undefined, 90_000)).toBe(2);
  });

  it('tells what is left only of what runs', () => {
    expect(remainingMs(job, 10)).toBe(90_000);
    expect(remainingMs(job, 0)).toBeNull();
    expect(remainingMs(job, null)).toBeNull();
    expect(remainingMs({ ...job, ended_at_ms: 1 }, 10)).toBeNull();
  });
});

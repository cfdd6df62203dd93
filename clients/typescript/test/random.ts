// SPDX-License-Identifier: Apache-2.0
// Numbers that look random and come again with the same seed. A test prints its seed; ALLOT_SEED sets it.

export class Random {
  readonly seed: number;
  private state: number;
  constructor(seed = Number(process.env['ALLOT_SEED'] ?? Math.floor(Math.random() * 2 ** 31))) {
    this.seed = seed;
    this.state = seed >>> 0;
  }
  // 0 … 1
  unit(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
  below(n: number): number {
    return Math.floor(this.unit() * n);
  }
  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
}

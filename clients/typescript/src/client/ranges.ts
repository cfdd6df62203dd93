// SPDX-License-Identifier: Apache-2.0
// Indices as ranges: what mostly comes in order takes few of them.

export class Ranges {
  // From the first to the first behind it, sorted, none touches the next.
  private readonly all: [number, number][] = [];

  // Adds one. False: it was there before.
  add(index: number): boolean {
    const { all } = this;
    // The first range that ends at or behind it. Most come near the end.
    let at = all.length;
    if (at > 0 && all[at - 1]![1] >= index) {
      let low = 0;
      for (let high = at - 1; low < high;) {
        const middle = (low + high) >> 1;
        if (all[middle]![1] >= index) high = middle;
        else low = middle + 1;
      }
      at = low;
    }
    const range = all[at];
    if (range && range[0] <= index && index < range[1]) return false;
    if (range && range[1] === index) {
      range[1]++;
      const next = all[at + 1];
      if (next && next[0] === range[1]) {
        range[1] = next[1];
        all.splice(at + 1, 1);
      }
    } else if (range && range[0] === index + 1) range[0]--;
    else all.splice(at, 0, [index, index + 1]);
    return true;
  }

  // At most so many, the lowest.
  list(most: number): { from: number; to: number }[] {
    return this.all.slice(0, most).map(([from, to]) => ({ from, to }));
  }
}

// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { sortingOf, sortingText, sortRows } from './sorting';

const rows = [
  { name: 'b', n: 2 },
  { name: 'c', n: null },
  { name: 'a', n: 10 },
  { name: 'd', n: 2 },
];
const keys = { name: (row: (typeof rows)[0]) => row.name, n: (row: (typeof rows)[0]) => row.n };
const names = (text: string | null) =>
  sortRows(rows, keys, sortingOf(text))
    .map((row) => row.name)
    .join('');

describe('sorting', () => {
  it('goes by numbers as numbers, and leaves equals as they were', () => {
    expect(names('n')).toBe('bdac');
    expect(names('-n')).toBe('abdc');
    expect(names('name')).toBe('abcd');
    expect(names('-name')).toBe('dcba');
  });

  it('leaves the order alone where nothing, or nothing known, is asked for', () => {
    for (const text of [null, '', '-', 'other', 'constructor', '__proto__']) expect(names(text)).toBe('bcad');
    expect(rows.map((row) => row.name).join('')).toBe('bcad');
  });

  it('is written as it is read', () => {
    for (const text of ['', 'n', '-n']) expect(sortingText(sortingOf(text))).toBe(text);
  });
});

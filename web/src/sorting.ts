// SPDX-License-Identifier: Apache-2.0
// Sorting of what a page shows, by the query string: `sort=running` the least first, `sort=-running` the most first.
import { setQuery } from './router';

export interface Sorting {
  by: string;
  down: boolean;
}

export function sortingOf(text: string | null): Sorting {
  const given = text ?? '';
  return { by: given.replace(/^-/, ''), down: given.startsWith('-') };
}

export function sortingText({ by, down }: Sorting): string {
  return by ? `${down ? '-' : ''}${by}` : '';
}

export type SortKeys<T> = Record<string, (row: T) => number | string | null>;

// Those without a value come last either way; equals stay as they came.
export function sortRows<T>(rows: T[], keys: SortKeys<T>, { by, down }: Sorting): T[] {
  const key = Object.hasOwn(keys, by) ? keys[by] : undefined;
  if (!key) return rows;
  const sign = down ? -1 : 1;
  return rows
    .map((row) => ({ row, at: key(row) }))
    .sort((a, b) => {
      if (a.at === null || b.at === null) return (a.at === null ? 1 : 0) - (b.at === null ? 1 : 0);
      return a.at < b.at ? -sign : a.at > b.at ? sign : 0;
    })
    .map(({ row }) => row);
}

// The heading's part of a column: the first click gives the most first (of text, the first), the second turns it, the third ends it.
export function sortColumn(sorting: Sorting, by: string, text = false): { onSort: () => void; sorted?: 'ascending' | 'descending' } {
  const here = sorting.by === by;
  const next = !here ? { by, down: !text } : sorting.down === !text ? { by, down: text } : { by: '', down: false };
  return {
    onSort: () => setQuery({ sort: sortingText(next) }, { replace: true }),
    sorted: here ? (sorting.down ? 'descending' : 'ascending') : undefined,
  };
}

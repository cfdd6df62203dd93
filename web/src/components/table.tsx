// SPDX-License-Identifier: Apache-2.0
// A table that becomes a list of cards where it is narrow. Rows can be walked with j and k, and opened with Enter.
import { signal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Named } from './text';

export interface Column<T> {
  name: string;
  cell: (row: T) => ComponentChildren;
  // Numbers are set to the right. `main` heads the card; `wide` columns take a line of their own in it.
  num?: boolean;
  main?: boolean;
  wide?: boolean;
  // Without its name in cards: what it shows speaks for itself.
  bare?: boolean;
  // Left out where there is little room.
  minor?: boolean;
  // The heading is for readers of the screen alone.
  quiet?: boolean;
  // The heading is a button that sorts by it; how it is sorted now.
  onSort?: () => void;
  sorted?: 'ascending' | 'descending';
}

const widths = new Map<number, Signal<boolean>>();

// Whether the window is narrower than that.
function below(px: number): boolean {
  let known = widths.get(px);
  if (!known) {
    const query = window.matchMedia(`(max-width: ${px - 1}px)`);
    const made = signal(query.matches);
    query.addEventListener('change', () => (made.value = query.matches));
    widths.set(px, (known = made));
  }
  return known.value;
}

export function Table<T>({
  columns,
  rows,
  id,
  label,
  selected,
  onSelect,
  current,
  cardsBelow = 700,
}: {
  columns: Column<T>[];
  rows: T[];
  id: (row: T) => string;
  label: string;
  // With these rows have a box to tick.
  selected?: ReadonlySet<string>;
  onSelect?: (ids: string[], on: boolean) => void;
  // The row that is shown elsewhere on the page.
  current?: string | null;
  // Where the window is narrower it is a list of cards: tables with many columns need more.
  cardsBelow?: number;
}) {
  const all = rows.length > 0 && rows.every((row) => selected?.has(id(row)));
  const cls = (c: Column<T>) => [c.num && 'num', c.main && 'main', c.wide && 'wide', c.minor && 'minor'].filter(Boolean).join(' ');
  return (
    <table class={`table ${below(cardsBelow) ? 'cards' : ''}`} role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {onSelect && (
            <th role="columnheader" class="tick">
              <input
                type="checkbox"
                aria-label="all on this page"
                checked={all}
                onChange={(event) => onSelect(rows.map(id), event.currentTarget.checked)}
              />
            </th>
          )}
          {columns.map((column) => (
            <th
              key={column.name}
              role="columnheader"
              scope="col"
              class={cls(column)}
              aria-sort={column.onSort ? (column.sorted ?? 'none') : undefined}>
              {column.quiet ? (
                <span class="visually-hidden">{column.name}</span>
              ) : column.onSort ? (
                <button type="button" class="sort" onClick={column.onSort}>
                  {column.name}
                  {column.sorted && <span aria-hidden="true">{column.sorted === 'ascending' ? ' ↑' : ' ↓'}</span>}
                </button>
              ) : (
                <Named name={column.name} />
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => {
          const key = id(row);
          return (
            <tr
              key={key}
              role="row"
              data-row={key}
              tabIndex={-1}
              class={key === current ? 'current' : ''}
              aria-selected={selected ? selected.has(key) : undefined}>
              {onSelect && (
                <td role="cell" class="tick">
                  <input
                    type="checkbox"
                    aria-label={`select ${key}`}
                    checked={selected?.has(key)}
                    onChange={(event) => onSelect([key], event.currentTarget.checked)}
                  />
                </td>
              )}
              {columns.map((column) => (
                <td key={column.name} role="cell" data-label={column.quiet || column.bare ? '' : column.name} class={cls(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

// Pages by key: forward with what the last one said, back to the first by one step, to others by the browser.
export function Pager({
  first,
  next,
  onFirst,
  onNext,
  label = 'pages',
  newest = 'First',
  older = 'More',
}: {
  first: boolean;
  next: string | number | null | undefined;
  onFirst: () => void;
  onNext: () => void;
  label?: string;
  newest?: string;
  older?: string;
}) {
  if (first && (next === null || next === undefined)) return null;
  return (
    <nav class="pager" aria-label={label}>
      <button type="button" disabled={first} onClick={onFirst}>
        « {newest}
      </button>
      <button type="button" disabled={next === null || next === undefined} onClick={onNext}>
        {older} ›
      </button>
    </nav>
  );
}

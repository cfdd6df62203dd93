// SPDX-License-Identifier: Apache-2.0
// The tasks of a job over the range of their indices: a column for each part, stacked by state. A click, a drag or
// Enter goes into it, down to single tasks; also of a billion.
import { useEffect, useRef, useState } from 'preact/hooks';
import { apiPath, queryText } from '../api';
import { kStates, Legend } from '../components/bars';
import { Show } from '../components/feedback';
import * as format from '../format';
import { useLive } from '../live';
import { partCounts, partRange, partsOf, readRange, zoomOut, zoomTo } from '../picture';
import type { Range } from '../picture';
import { setQuery } from '../router';
import type { Job, Picture } from '../types';

export function JobPicture({ queue, job, query }: { queue: string; job: Job; query: URLSearchParams }) {
  const range = readRange(query.get('from'), query.get('to'), job.count);
  const [narrow] = useState(() => window.innerWidth < 600);
  const path = apiPath(queue, 'jobs', job.id, 'picture') + queryText({ parts: narrow ? 80 : 200, from: range?.from, to: range?.to });
  const live = useLive<Picture>(path, { secondary: true, keep: true });
  const show = (to: Range | null) => setQuery({ from: to?.from, to: to?.to, tfrom: null });
  return (
    <section class="card" aria-label="picture of its tasks">
      <div class="head">
        <h2>
          Tasks{' '}
          {range ? (
            <span class="num dim">
              {format.count(range.from)} – {format.count(range.to - 1)}
            </span>
          ) : (
            <span class="num dim">0 – {format.count(job.count - 1)}</span>
          )}
        </h2>
        <div class="actions">
          {range && (
            <button type="button" class="small" onClick={() => show(zoomOut(range, job.count))}>
              Zoom out
            </button>
          )}
          {range && (
            <button type="button" class="small" onClick={() => show(null)}>
              All
            </button>
          )}
        </div>
      </div>
      <Show live={live} what="The picture of its tasks">
        {(picture) => (
          <Strip picture={picture} onZoom={show} onOut={() => range && show(zoomOut(range, job.count))} chosen={query.get('task')} />
        )}
      </Show>
    </section>
  );
}

function Strip({
  picture,
  onZoom,
  onOut,
  chosen,
}: {
  picture: Picture;
  onZoom: (to: Range) => void;
  onOut: () => void;
  chosen: string | null;
}) {
  const parts = partsOf(picture);
  const [at, setAt] = useState<number | null>(null);
  const [from, setFrom] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    setAt(null);
    setFrom(null);
  }, [picture.from, picture.to, picture.width]);
  const single = picture.width === 1;
  const enter = (a: number, b: number) => {
    if (single && a === b) setQuery({ task: partRange(picture, a).from });
    else if (!single || Math.abs(a - b) + 1 < parts) onZoom(zoomTo(picture, a, b));
  };
  const partAt = (event: PointerEvent) => {
    const rect = box.current!.getBoundingClientRect();
    return Math.max(0, Math.min(parts - 1, Math.floor(((event.clientX - rect.left) / rect.width) * parts)));
  };
  const onKey = (event: KeyboardEvent) => {
    const here = at ?? 0;
    const move = (to: number) => setAt(Math.max(0, Math.min(parts - 1, to)));
    switch (event.key) {
      case 'ArrowRight':
        at === null ? move(0) : move(here + (event.shiftKey ? 10 : 1));
        break;
      case 'ArrowLeft':
        move(here - (event.shiftKey ? 10 : 1));
        break;
      case 'Home':
        move(0);
        break;
      case 'End':
        move(parts - 1);
        break;
      case 'Enter':
      case ' ':
      case '+':
        if (at !== null) enter(at, at);
        break;
      case 'Backspace':
      case '-':
        onOut();
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const marked = (part: number) => at !== null && (from === null ? part === at : part >= Math.min(from, at) && part <= Math.max(from, at));
  const chosenPart =
    chosen !== null && /^\d+$/.test(chosen) && Number(chosen) >= picture.from && Number(chosen) < picture.to
      ? Math.floor((Number(chosen) - picture.from) / picture.width)
      : -1;
  const sums = { count: picture.to - picture.from, queued: 0, running: 0, retrying: 0, done: 0, failed: 0, skipped: 0 };
  const columns = [];
  for (let part = 0; part < parts; part++) {
    const counts = partCounts(picture, part);
    for (const state of kStates) sums[state] += counts[state];
    columns.push(
      <div key={part} class={`column${marked(part) ? ' marked' : ''}${part === chosenPart ? ' chosen' : ''}`}>
        {kStates.map((state) => counts[state] > 0 && <i key={state} class={`fill fill-${state}`} style={{ flexGrow: counts[state] }} />)}
      </div>,
    );
  }
  return (
    <>
      <div
        ref={box}
        class="strip"
        tabIndex={0}
        role="application"
        aria-roledescription="picture of tasks"
        aria-label={`${kStates
          .filter((state) => sums[state])
          .map((state) => `${format.count(sums[state])} ${state}`)
          .join(', ')}. Arrows move, Enter goes in, Backspace out.`}
        aria-describedby="strip-at"
        onKeyDown={onKey}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          box.current!.setPointerCapture(event.pointerId);
          setFrom(partAt(event));
          setAt(partAt(event));
        }}
        onPointerMove={(event) => setAt(partAt(event))}
        onPointerUp={(event) => {
          if (from !== null) enter(from, partAt(event));
          setFrom(null);
        }}
        onPointerCancel={() => setFrom(null)}
        onPointerLeave={() => {
          if (from === null) setAt(null);
        }}>
        {columns}
      </div>
      <p id="strip-at" class="strip-at" aria-live="polite">
        {at === null || at >= parts ? (
          <span class="dim">
            {single ? 'A click shows the task.' : 'A click or a drag goes into a part; with the keyboard, arrows and Enter.'}
          </span>
        ) : (
          describe(picture, from ?? at, at)
        )}
      </p>
      <Legend counts={sums} />
    </>
  );
}

function describe(picture: Picture, a: number, b: number): string {
  const { from, to } = zoomTo(picture, a, b);
  const sums: Record<string, number> = {};
  for (let part = Math.min(a, b); part <= Math.max(a, b); part++) {
    const counts = partCounts(picture, part);
    for (const state of kStates) sums[state] = (sums[state] ?? 0) + counts[state];
  }
  const what = kStates
    .filter((state) => sums[state])
    .map((state) => `${format.count(sums[state]!)} ${state}`)
    .join(', ');
  return to - from === 1
    ? `task ${format.count(from)}: ${what.replace(/^1 /, '')}`
    : `tasks ${format.count(from)} – ${format.count(to - 1)}: ${what}`;
}

// SPDX-License-Identifier: Apache-2.0
// The workers of a queue: whether they are there, what they are, and how busy.
import { useEffect, useState } from 'preact/hooks';
import { apiPath, queryText } from '../api';
import { ActionButton, CopyButton, Empty, Show } from '../components/feedback';
import { Presence, presenceOf, SlotsBar } from '../components/presence';
import { Pager, Table } from '../components/table';
import { Num, Tags, TimeAgo } from '../components/text';
import * as format from '../format';
import { useLive } from '../live';
import { href, setQuery } from '../router';
import { can } from '../session';
import type { Worker, WorkersPage as Page } from '../types';
import { drain } from '../worker_actions';
import { FilterField } from './jobs';

const kPerPage = 100;

export function WorkersPage({ queue, query }: { queue: string; query: URLSearchParams }) {
  const after = query.get('after') ?? '';
  const text = query.get('find') ?? '';
  const path = apiPath(queue, 'workers') + queryText({ after, limit: kPerPage });
  const live = useLive<Page>(path, { keep: true });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => setSelected(new Set()), [path]);
  const select = (ids: string[], on: boolean) =>
    setSelected((was) => {
      const now = new Set(was);
      for (const id of ids) on ? now.add(id) : now.delete(id);
      return now;
    });
  const all = live.data?.workers ?? [];
  const shown = all.filter((worker) => matches(worker, text));
  // What is selected and no longer seen is not acted on.
  const chosen = shown.filter((worker) => selected.has(worker.id));
  const more = queue === 'default' ? '' : ` -q ${format.shellWord(queue)}`;
  return (
    <>
      <div class="head">
        <h1>Workers</h1>
        <div class="actions">
          <CopyButton text={`allot workers${more}`} />
        </div>
      </div>
      <form class="filters" role="search" aria-label="filter" onSubmit={(event) => event.preventDefault()}>
        <FilterField name="find" value={text} first />
        {text && (
          <span class="dim filter-note">
            {format.count(shown.length)} of the {format.count(all.length)} on this page
          </span>
        )}
      </form>
      {chosen.length > 0 && (
        <div class="bulk" role="group" aria-label="actions on workers">
          <span class="bulk-what">{chosen.length} selected</span>
          <ActionButton
            scope="operate"
            small
            danger
            action={async () => {
              if (await drain(queue, chosen)) setSelected(new Set());
            }}>
            Drain…
          </ActionButton>
          <button type="button" class="small plain" onClick={() => setSelected(new Set())}>
            Clear
          </button>
        </div>
      )}
      <Show live={live} what="Workers">
        {({ next }) => (
          <>
            {shown.length > 0 && <List queue={queue} workers={shown} selected={selected} onSelect={can('operate') ? select : undefined} />}
            {shown.length === 0 &&
              (text && all.length > 0 ? (
                <Empty>None on this page has “{text}” in its name, tags, properties, strategy or address.</Empty>
              ) : after ? (
                <Empty>No further workers.</Empty>
              ) : (
                <Empty>
                  No workers. <CopyButton text={`allot work${more} --tag square -- cat`} />
                </Empty>
              ))}
            <Pager first={!after} next={next} onFirst={() => setQuery({ after: null })} onNext={() => setQuery({ after: next })} />
          </>
        )}
      </Show>
    </>
  );
}

// Whether every word of `text` is somewhere in what is shown of it.
export function matches(worker: Worker, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return true;
  const all = [
    worker.id,
    worker.name,
    worker.address,
    worker.user,
    worker.strategy,
    presenceOf(worker),
    ...worker.tags,
    ...Object.entries(worker.properties).map(([key, value]) => `${key}=${value}`),
  ]
    .join('\n')
    .toLowerCase();
  return words.every((word) => all.includes(word));
}

export function Properties({ of, most = 4 }: { of: Record<string, string | number | boolean>; most?: number }) {
  return <Tags tags={Object.entries(of).map(([key, value]) => `${key}=${value}`)} most={most} />;
}

function List({
  queue,
  workers,
  selected,
  onSelect,
}: {
  queue: string;
  workers: Worker[];
  selected: ReadonlySet<string>;
  onSelect?: (ids: string[], on: boolean) => void;
}) {
  const balanced = workers.some((worker) => worker.promised !== undefined);
  return (
    <Table
      label="workers"
      rows={workers}
      id={(worker) => worker.id}
      selected={selected}
      onSelect={onSelect}
      cardsBelow={1100}
      columns={[
        {
          name: 'worker',
          main: true,
          cell: (worker) => (
            <a data-open href={href('worker', queue, worker.id)} title={`worker ${worker.id}`}>
              {worker.name || <span class="id">{worker.id}</span>}
            </a>
          ),
        },
        { name: 'presence', bare: true, cell: (worker) => <Presence worker={worker} /> },
        { name: 'seen', num: true, cell: (worker) => <TimeAgo at={worker.last_seen_at_ms} /> },
        { name: 'slots', bare: true, cell: (worker) => <SlotsBar worker={worker} /> },
        ...(balanced
          ? [
              {
                name: 'promised',
                num: true,
                cell: (worker: Worker) => (
                  <span title={`of ${format.plural(worker.promised_jobs ?? 0, 'job')}`}>
                    <Num value={worker.promised ?? 0} short />
                  </span>
                ),
              },
            ]
          : []),
        { name: 'tags', wide: true, cell: (worker) => <Tags tags={worker.tags} link most={4} /> },
        { name: 'properties', cell: (worker) => <Properties of={worker.properties} /> },
        {
          name: 'strategy',
          cell: (worker) => (
            <code class="clipped" title={worker.strategy}>
              {worker.strategy}
            </code>
          ),
        },
        { name: 'registered', num: true, minor: true, cell: (worker) => <TimeAgo at={worker.registered_at_ms} /> },
        {
          name: 'actions',
          quiet: true,
          cell: (worker) =>
            !worker.draining && (
              <ActionButton scope="operate" small danger title={`Drain ${worker.name || worker.id}`} action={() => drain(queue, [worker])}>
                Drain
              </ActionButton>
            ),
        },
      ]}
    />
  );
}

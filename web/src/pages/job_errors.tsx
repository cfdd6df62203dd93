// SPDX-License-Identifier: Apache-2.0
// What the tasks of a job failed with, those with the same text together.
import { useEffect, useState } from 'preact/hooks';
import { apiPath, get, queryText } from '../api';
import { ActionButton, Empty, ErrorState, Loading } from '../components/feedback';
import { Table } from '../components/table';
import { Num } from '../components/text';
import * as format from '../format';
import { useGet } from '../live';
import { setQuery } from '../router';
import type { ErrorGroup, ErrorsPage, Job } from '../types';

// Groups with the same text become one; those with the most tasks come first.
export function mergeGroups(pages: ErrorGroup[][]): ErrorGroup[] {
  const merged = new Map<string, ErrorGroup>();
  for (const group of pages.flat()) {
    const before = merged.get(group.text);
    if (!before) merged.set(group.text, { ...group });
    else {
      before.tasks += group.tasks;
      before.first = Math.min(before.first, group.first);
      before.last = Math.max(before.last, group.last);
    }
  }
  return [...merged.values()].sort((a, b) => b.tasks - a.tasks);
}

export function JobErrors({ queue, job }: { queue: string; job: Job }) {
  const path = apiPath(queue, 'jobs', job.id, 'errors');
  const first = useGet<ErrorsPage>(path, `${job.failed} ${job.retrying}`, 5_000);
  const [further, setFurther] = useState<ErrorsPage[]>([]);
  useEffect(() => setFurther([]), [first.data]);
  const pages = first.data ? [first.data, ...further] : [];
  const next = pages.length ? pages[pages.length - 1]!.next : null;
  const groups = mergeGroups(pages.map((page) => page.groups));
  const examined = pages.reduce((sum, page) => sum + page.examined, 0);
  const show = (group: ErrorGroup) => setQuery({ tstate: job.failed > 0 ? 'failed' : 'retrying', tfrom: group.first, task: group.first });
  return (
    <section class="card" aria-label="errors">
      <h2>Errors</h2>
      {first.loading && !first.data && <Loading />}
      {first.error && !first.data && <ErrorState error={first.error} what="Errors by their text" />}
      {first.data && groups.length === 0 && next === null && <Empty>No errors are told.</Empty>}
      {groups.length > 0 && (
        <Table
          label="errors"
          rows={groups}
          id={(group) => group.text}
          columns={[
            {
              name: 'error',
              main: true,
              wide: true,
              cell: (group) => (
                <button type="button" class="link error-text" data-open title={group.example} onClick={() => show(group)}>
                  {group.text || '(no text)'}
                </button>
              ),
            },
            { name: 'tasks', num: true, cell: (group) => <Num value={group.tasks} /> },
            {
              name: 'first',
              num: true,
              cell: (group) => (
                <button type="button" class="link" onClick={() => setQuery({ task: group.first })}>
                  {format.count(group.first)}
                </button>
              ),
            },
            {
              name: 'last',
              num: true,
              cell: (group) => (
                <button type="button" class="link" onClick={() => setQuery({ task: group.last })}>
                  {format.count(group.last)}
                </button>
              ),
            },
          ]}
        />
      )}
      {next !== null && (
        <p class="quiet">
          Of the first {format.plural(examined, 'error')}.{' '}
          <ActionButton
            small
            action={async () => {
              const page = await get<ErrorsPage>(path + queryText({ from: next, limit: 10_000 }));
              setFurther([...further, page]);
            }}>
            Look further
          </ActionButton>
        </p>
      )}
    </section>
  );
}

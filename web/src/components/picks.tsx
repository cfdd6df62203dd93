// SPDX-License-Identifier: Apache-2.0
// What would be handed out next, in order, each with the blocks of policy and strategy that led to it.
import * as format from '../format';
import { href, route } from '../router';
import type { PickedTask, Why } from '../types';
import { Table } from './table';
import { Tags, User } from './text';
import { WhyList } from './why';

export function TaskLink({ job, index, open = false }: { job: string; index: number | null; open?: boolean }) {
  return (
    <a class="id" data-open={open ? '' : undefined} href={href('job', route.value.queue, job, index === null ? {} : { task: index })}>
      {job}
      {index === null ? '' : <span class="dim"> #{format.count(index)}</span>}
    </a>
  );
}

// fair ann › or_else 2/2 › oldest: the way in a line, without what says nothing of this pick.
export function wayOf(why: Why[]): string {
  const steps = why
    .filter((block) => block.block !== 'worker')
    .map((block) => {
      if (block.branch !== undefined) return `${block.block} ${block.branch}/${block.branches ?? '?'}`;
      if (block.key !== undefined) return `${block.block} ${block.value === null || block.value === undefined ? '–' : String(block.value)}`;
      return block.block;
    });
  return steps.join(' › ') || 'worker';
}

export function Picks({ picks, open = false }: { picks: PickedTask[]; open?: boolean }) {
  const rows = picks.map((pick, i) => ({ ...pick, place: i + 1 }));
  return (
    <Table
      label="next picks"
      rows={rows}
      id={(row) => String(row.place)}
      cardsBelow={820}
      columns={[
        { name: '', num: true, cell: (row) => <span class="dim">{row.place}.</span> },
        {
          name: 'job and task',
          main: true,
          cell: (row) => (
            <>
              <TaskLink job={row.job} index={row.index} open />
              {row.index === null ? (
                <span class="dim nowrap" title="it was taken while looking">
                  {' '}
                  taken meanwhile
                </span>
              ) : (
                row.random && (
                  <span class="dim nowrap" title="by chance: another look gives another">
                    {' '}
                    one of many
                  </span>
                )
              )}
            </>
          ),
        },
        { name: 'user', cell: (row) => <User user={row.user} link /> },
        { name: 'tags', cell: (row) => <Tags tags={row.tags} link most={4} /> },
        {
          name: 'why',
          wide: true,
          cell: (row) => (
            <details class="why-cell" open={open}>
              <summary>
                <span class="mono">{wayOf(row.why)}</span>
              </summary>
              <WhyList why={row.why} />
            </details>
          ),
        },
      ]}
    />
  );
}

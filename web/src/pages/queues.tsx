// SPDX-License-Identifier: Apache-2.0
// All queues.
import { Empty, Show } from '../components/feedback';
import { Table } from '../components/table';
import { Num } from '../components/text';
import * as format from '../format';
import { useLive } from '../live';
import { href } from '../router';
import type { Queue } from '../types';

export function QueuesPage() {
  const live = useLive<{ queues: Queue[] }>('/v1/queues');
  return (
    <>
      <h1>Queues</h1>
      <Show live={live} what="Queues">
        {({ queues }) => (
          <Table
            label="queues"
            rows={queues}
            id={(queue) => queue.name}
            columns={[
              {
                name: 'queue',
                main: true,
                cell: (queue) => (
                  <a data-open class="id" href={href('overview', queue.name)}>
                    {queue.name}
                  </a>
                ),
              },
              {
                name: 'state',
                bare: true,
                cell: (queue) =>
                  queue.paused ? (
                    <span class="state state-paused">
                      <i class="mark" aria-hidden="true" />
                      paused
                    </span>
                  ) : (
                    <span class="state state-active">
                      <i class="mark" aria-hidden="true" />
                      open
                    </span>
                  ),
              },
              { name: 'active jobs', num: true, cell: (queue) => <Num value={queue.jobs.active} /> },
              { name: 'queued', num: true, cell: (queue) => <Num value={queue.tasks.queued} /> },
              { name: 'running', num: true, cell: (queue) => <Num value={queue.tasks.running} /> },
              { name: 'retrying', num: true, cell: (queue) => <Num value={queue.tasks.retrying} /> },
              { name: 'failed jobs', num: true, cell: (queue) => <Num value={queue.jobs.failed} /> },
              { name: 'workers', num: true, cell: (queue) => <Num value={queue.workers} /> },
              { name: 'file', num: true, minor: true, cell: (queue) => format.bytes(queue.store.file_bytes) },
            ]}
          />
        )}
      </Show>
      {live.data?.queues.length === 0 && <Empty>There are no queues that this token may see.</Empty>}
    </>
  );
}

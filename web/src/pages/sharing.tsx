// SPDX-License-Identifier: Apache-2.0
// Who uses how much of a queue, against the share that weights give; and how long each one's tasks wait.
import { useState } from 'preact/hooks';
import { apiPath, queryText } from '../api';
import { CopyButton, Empty, Show } from '../components/feedback';
import { Pager, Table } from '../components/table';
import { Duration, Nothing, Num, Since, User as UserText } from '../components/text';
import * as format from '../format';
import { useLive } from '../live';
import { href, setQuery } from '../router';
import { can } from '../session';
import { sortColumn, sortingOf, sortingText, sortRows } from '../sorting';
import type { SortKeys } from '../sorting';
import type { Queue, User, UsersPage } from '../types';
import { FilterField } from './jobs';
import { WeightDialog, Weights } from './sharing_weights';

const kPerPage = 100;

const kKeys: SortKeys<User> = {
  user: (user) => user.user,
  weight: (user) => user.weight,
  share: (user) => user.share,
  use: (user) => user.use,
  // How far it is from what it should have, by how much.
  over: (user) => user.use - user.share,
  running: (user) => user.running,
  queued: (user) => user.queued,
  retrying: (user) => user.retrying,
  jobs: (user) => user.jobs,
  starts: (user) => user.starts_per_s,
  mean: (user) => waited(user)?.mean ?? null,
  p50: (user) => waited(user)?.p50 ?? null,
  p95: (user) => waited(user)?.p95 ?? null,
  oldest: (user) => (user.oldest_at_ms === null ? null : -user.oldest_at_ms),
};

const kNames: Record<string, string> = {
  user: 'name',
  weight: 'weight',
  share: 'share',
  use: 'use',
  over: 'use over share',
  running: 'running',
  queued: 'queued',
  retrying: 'retrying',
  jobs: 'jobs',
  starts: 'starts a second',
  mean: 'mean wait',
  p50: 'median wait',
  p95: '95% wait',
  oldest: 'oldest',
};

// How long starts waited says nothing where there were none.
function waited(user: User): User['waited_ms'] | null {
  return user.started > 0 ? user.waited_ms : null;
}

export function SharingPage({ queue, query }: { queue: string; query: URLSearchParams }) {
  const user = query.get('user') ?? '';
  const after = user ? '' : (query.get('after') ?? '');
  const live = useLive<UsersPage>(apiPath(queue, 'users') + queryText({ user, after, limit: kPerPage }), { keep: true });
  const settings = useLive<Queue>(apiPath(queue), { secondary: true }).data?.settings;
  const sorting = sortingOf(query.get('sort'));
  const more = queue === 'default' ? '' : ` ${format.shellWord(queue)}`;
  return (
    <>
      <div class="head">
        <h1>Sharing</h1>
        {settings?.weights && (
          <div class="actions">
            <CopyButton text={`allot queue set${more} --weight user.NAME=3`} />
          </div>
        )}
      </div>
      {settings?.policy !== undefined && !/\bfair\(\s*user\b/.test(settings.policy) && (
        <p class="dim">
          The queue’s policy is <code>{settings.policy}</code>: shares by weight hold only where workers’ own strategies have{' '}
          <code>fair(user, …)</code>.
        </p>
      )}
      <form class="filters" role="search" aria-label="filter" onSubmit={(event) => event.preventDefault()}>
        <FilterField name="user" value={user} first />
        <label class="field">
          <span>sorted by</span>
          <select
            value={sorting.by}
            onChange={(event) =>
              setQuery(
                { sort: sortingText({ by: event.currentTarget.value, down: event.currentTarget.value !== 'user' }) },
                { replace: true },
              )
            }>
            <option value="">name, as it comes</option>
            {Object.keys(kKeys).map((key) => (
              <option key={key} value={key}>
                {kNames[key]}
              </option>
            ))}
          </select>
        </label>
        {sorting.by && (
          <button
            type="button"
            class="plain"
            onClick={() => setQuery({ sort: sortingText({ ...sorting, down: !sorting.down }) }, { replace: true })}>
            {sorting.down ? '↓ most first' : '↑ least first'}
          </button>
        )}
      </form>
      <Show live={live} what="Users">
        {(page) => (
          <>
            <div class="tiles">
              <Total name="users with work" value={format.count(page.active)} />
              <Total name="running" value={format.count(page.running)} />
              <Total name="starts" value={format.rate(page.starts_per_s)} />
            </div>
            {page.users.length > 0 ? (
              <List queue={queue} users={sortRows(page.users, kKeys, sorting)} sort={(by, text) => sortColumn(sorting, by, text)} />
            ) : (
              <Empty>
                {user ? `${user} has no jobs that have not ended.` : after ? 'No further users.' : 'Nobody has jobs that have not ended.'}
              </Empty>
            )}
            {sorting.by && (page.next !== null || after) && <p class="dim">Sorted within this page; pages are in order of name.</p>}
            <Pager
              first={!after}
              next={page.next}
              onFirst={() => setQuery({ after: null })}
              onNext={() => setQuery({ after: page.next })}
            />
          </>
        )}
      </Show>
      {settings?.weights && <Weights queue={queue} weights={settings.weights} />}
    </>
  );
}

function Total({ name, value }: { name: string; value: string }) {
  return (
    <div class="tile">
      <div class="name">{name}</div>
      <div class="value">{value}</div>
    </div>
  );
}

// Percentiles are told to the next power of two.
function AtMost({ ms }: { ms: number | undefined }) {
  return ms === undefined ? (
    <Nothing />
  ) : (
    <span class="num" title="to the next power of two">
      ≤{format.duration(ms)}
    </span>
  );
}

// Share above, use below, on one scale.
function Pair({ user, scale }: { user: User; scale: number }) {
  const width = (part: number) => `${Math.min(1, part / scale) * 100}%`;
  const name = user.user || 'nobody';
  return (
    <div
      class="pair"
      role="img"
      aria-label={`${name}: share ${format.percent(user.share)}, use ${format.percent(user.use)}`}
      title={`share ${format.percent(user.share)}, use ${format.percent(user.use)}`}>
      <span class="pair-bar">
        <i class="fill fill-share" style={{ width: width(user.share) }} />
      </span>
      <span class="num dim">{format.percent(user.share)}</span>
      <span class="pair-bar">
        <i class="fill fill-running" style={{ width: width(user.use) }} />
      </span>
      <span class="num">{format.percent(user.use)}</span>
    </div>
  );
}

function List({
  queue,
  users,
  sort,
}: {
  queue: string;
  users: User[];
  sort: (by: string, text?: boolean) => ReturnType<typeof sortColumn>;
}) {
  const [weighing, setWeighing] = useState<User | null>(null);
  // Of many users each has little: the bars are as long as the most on the page lets them be.
  const scale = Math.max(0.001, ...users.map((user) => Math.max(user.share, user.use)));
  return (
    <>
      <ul class="legend" aria-hidden="true">
        <li>
          <i class="swatch fill-share" />
          share, by weight
        </li>
        <li>
          <i class="swatch fill-running" />
          use, by running tasks
        </li>
      </ul>
      <Table
        label="users"
        rows={users}
        id={(user) => user.user}
        cardsBelow={1000}
        columns={[
          {
            name: 'user',
            main: true,
            ...sort('user', true),
            cell: (user) =>
              user.user === '' ? (
                <span class="dim">(no user)</span>
              ) : (
                <a data-open class="user" href={href('jobs', queue, '', { user: user.user })} title={`jobs of ${user.user}`}>
                  {user.user}
                </a>
              ),
          },
          {
            name: 'weight',
            num: true,
            ...sort('weight'),
            cell: (user) =>
              user.user !== '' && can('operate') ? (
                <button type="button" class="small" title={`change the weight of ${user.user}`} onClick={() => setWeighing(user)}>
                  {format.count(user.weight)}
                </button>
              ) : (
                format.count(user.weight)
              ),
          },
          { name: 'share and use', wide: true, ...sort('over'), cell: (user) => <Pair user={user} scale={scale} /> },
          { name: 'running', num: true, ...sort('running'), cell: (user) => <Num value={user.running} short /> },
          { name: 'queued', num: true, ...sort('queued'), cell: (user) => <Num value={user.queued} short /> },
          {
            name: 'retrying',
            num: true,
            minor: true,
            ...sort('retrying'),
            cell: (user) => (user.retrying ? <Num value={user.retrying} short /> : <span class="dim">0</span>),
          },
          { name: 'jobs', num: true, ...sort('jobs'), cell: (user) => <Num value={user.jobs} short /> },
          {
            name: 'starts',
            num: true,
            ...sort('starts'),
            cell: (user) => <span title={`${format.count(user.started)} since the server’s start`}>{format.rate(user.starts_per_s)}</span>,
          },
          { name: 'mean wait', num: true, ...sort('mean'), cell: (user) => <Duration ms={waited(user)?.mean} /> },
          { name: 'median', num: true, minor: true, ...sort('p50'), cell: (user) => <AtMost ms={waited(user)?.p50} /> },
          { name: '95%', num: true, ...sort('p95'), cell: (user) => <AtMost ms={waited(user)?.p95} /> },
          { name: 'oldest', num: true, ...sort('oldest'), cell: (user) => <Since at={user.oldest_at_ms} /> },
        ]}
      />
      {weighing && (
        <WeightDialog
          queue={queue}
          name={`user.${weighing.user}`}
          title={
            <>
              Weight of <UserText user={weighing.user} />
            </>
          }
          weight={weighing.weight}
          onClose={() => setWeighing(null)}
        />
      )}
    </>
  );
}

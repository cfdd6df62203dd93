// SPDX-License-Identifier: Apache-2.0
// Limits on starts: how much each still lets start, who waits for it, and for how long it is there.
import { apiPath, queryText } from '../api';
import { useNow } from '../clock';
import { ActionButton, CopyButton, Empty, Show } from '../components/feedback';
import { useArrival } from '../components/fields';
import { left, LevelBar, rateText } from '../components/level';
import { Table } from '../components/table';
import { Duration, Nothing, Num, Tag, User } from '../components/text';
import * as format from '../format';
import { nameOf, remove, renew } from '../limit_actions';
import { useLive } from '../live';
import { href, setQuery } from '../router';
import { can } from '../session';
import type { Limit } from '../types';
import { FilterField } from './jobs';
import { LimitForm } from './limit_form';

// A queue has at most 1,000; so many are drawn.
const kShown = 200;

export interface LimitsAnswer {
  limits: Limit[];
}

export function LimitsPage({ queue, query }: { queue: string; query: URLSearchParams }) {
  const tag = query.get('tag') ?? '';
  const text = query.get('find') ?? '';
  const making = query.get('new') !== null && can('operate');
  const live = useLive<LimitsAnswer>(apiPath(queue, 'limits') + queryText({ tag }), { keep: true });
  const arrived = useArrival(live.data);
  const all = live.data?.limits ?? [];
  const found = all.filter((limit) => matches(limit, text));
  const more = queue === 'default' ? '' : ` -q ${format.shellWord(queue)}`;
  return (
    <>
      <div class="head">
        <h1>Limits</h1>
        <div class="actions">
          <CopyButton text={`allot limit list${more}`} />
          {can('operate') && !making && (
            <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
              New limit
            </button>
          )}
        </div>
      </div>
      {making && (
        <section class="card" aria-label="a new limit">
          <h2>A new limit</h2>
          <LimitForm queue={queue} onClose={() => setQuery({ new: null })} />
        </section>
      )}
      <form class="filters" role="search" aria-label="filter" onSubmit={(event) => event.preventDefault()}>
        <FilterField name="find" value={text} first />
        <FilterField name="tag" value={tag} />
        {text && (
          <span class="dim filter-note">
            {format.count(found.length)} of {format.count(all.length)}
          </span>
        )}
      </form>
      <Show live={live} what="Limits">
        {() => (
          <>
            {found.length > 0 && <List queue={queue} limits={found.slice(0, kShown)} arrived={arrived} />}
            {found.length > kShown && <p class="dim">{format.count(found.length - kShown)} more: find them by name, tag or user.</p>}
            {found.length === 0 && (
              <Empty>
                {all.length > 0
                  ? `None has “${text}” in its name, tag, expression or users.`
                  : tag
                    ? `No limits with the tag ${tag}.`
                    : 'No limits: whatever can start may start.'}
              </Empty>
            )}
          </>
        )}
      </Show>
    </>
  );
}

function matches(limit: Limit, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = [limit.uuid, limit.name, limit.tag, limit.expr, ...limit.ignored_users].join('\n').toLowerCase();
  return words.every((word) => all.includes(word));
}

export function Marks({ limit }: { limit: Limit }) {
  return (
    <>
      {limit.monitor && (
        <span class="badge" title="it counts, and holds nothing back">
          monitor
        </span>
      )}
      {limit.count === 0 && !limit.monitor && (
        <span class="badge badge-bad" title="a count of 0 lets nothing start">
          stops all
        </span>
      )}
      {limit.waiting_forever > 0 && limit.count > 0 && (
        <span class="badge badge-bad" title="what waits costs more than it can ever pay">
          can never pay
        </span>
      )}
      {limit.cost_failed && (
        <span class="badge badge-warn" title="the cost of some start could not be evaluated, and counted as 1">
          cost failed
        </span>
      )}
    </>
  );
}

// When the cheapest of what waits can be paid, counted down; and where that is never.
export function Payable({ limit, arrived }: { limit: Limit; arrived: number }) {
  if (limit.waiting === 0) return <Nothing />;
  if (limit.payable_in_ms === null) return <span class="bad">never</span>;
  const ms = left(limit.payable_in_ms, arrived);
  return ms === 0 ? <>now</> : <Duration ms={ms} />;
}

// The last ones that it blocked, the last first.
export function Blocked({ users, most }: { users: string[]; most: number }) {
  if (!users.length) return <Nothing />;
  const last = [...users].reverse();
  return (
    <span class="user-list">
      {last.slice(0, most).map((user) =>
        user === '' ? (
          <span key="" class="dim">
            (no user)
          </span>
        ) : (
          <User key={user} user={user} link />
        ),
      )}
      {last.length > most && (
        <span class="dim" title={last.slice(most, most + 40).join('\n')}>
          +{last.length - most}
        </span>
      )}
    </span>
  );
}

function List({ queue, limits, arrived }: { queue: string; limits: Limit[]; arrived: number }) {
  useNow();
  return (
    <Table
      label="limits"
      rows={limits}
      id={(limit) => limit.uuid}
      cardsBelow={1100}
      columns={[
        {
          name: 'limit',
          main: true,
          cell: (limit) => (
            <>
              <a data-open href={href('limit', queue, limit.uuid)} title={`limit ${limit.uuid}`}>
                {nameOf(limit)}
              </a>{' '}
              <Marks limit={limit} />
            </>
          ),
        },
        { name: 'tag', bare: true, cell: (limit) => <Tag tag={limit.tag} /> },
        {
          name: 'level',
          wide: true,
          cell: (limit) => (
            <div class="bar-cell level-cell">
              <LevelBar limit={limit} label={`level of ${nameOf(limit)}`} />
              <span class="num">
                {format.compact(limit.tokens)}
                <span class="dim">/{format.short(limit.count)}</span>
              </span>
            </div>
          ),
        },
        { name: 'refills', num: true, minor: true, cell: (limit) => rateText(limit) },
        {
          name: 'waiting',
          num: true,
          cell: (limit) =>
            limit.waiting ? (
              <span class="warn">
                <Num value={limit.waiting} />
              </span>
            ) : (
              <span class="dim">0</span>
            ),
        },
        { name: 'pays in', num: true, cell: (limit) => <Payable limit={limit} arrived={arrived} /> },
        { name: 'allowed', num: true, cell: (limit) => <Num value={limit.allowed} short /> },
        { name: 'blocked for', num: true, cell: (limit) => (limit.blocked_ms ? <Duration ms={limit.blocked_ms} /> : <Nothing />) },
        { name: 'who', cell: (limit) => <Blocked users={limit.ignored_users} most={3} /> },
        { name: 'ends in', num: true, cell: (limit) => <Ends limit={limit} arrived={arrived} /> },
        {
          name: 'actions',
          quiet: true,
          cell: (limit) =>
            can('operate') && (
              <span class="row-actions">
                <ActionButton small title={`Renew ${nameOf(limit)}`} action={() => renew(queue, limit)}>
                  Renew
                </ActionButton>
                <ActionButton small danger title={`Delete ${nameOf(limit)}`} action={() => remove(queue, limit)}>
                  Delete
                </ActionButton>
              </span>
            ),
        },
      ]}
    />
  );
}

// What is left of the lease; soon over, it is told apart.
export function Ends({ limit, arrived }: { limit: Limit; arrived: number }) {
  const ms = left(limit.expires_in_ms, arrived);
  return <span class={`num ${ms < 15_000 ? 'warn' : ''}`}>{format.duration(Math.ceil(ms / 1000) * 1000)}</span>;
}

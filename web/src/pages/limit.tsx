// SPDX-License-Identifier: Apache-2.0
// One limit: its level over time, its terms, whom it blocks; edit, renew and delete.
import { useMemo, useState } from 'preact/hooks';
import { apiPath, queryText } from '../api';
import { returns, tick, useNow } from '../clock';
import { Chart } from '../components/chart';
import type { Line } from '../components/chart';
import { ActionButton, CopyButton, ErrorState, Loading, Show } from '../components/feedback';
import { useArrival } from '../components/fields';
import { LevelBar, rateText } from '../components/level';
import { Duration, Fact, Facts, Nothing, Num, Tag, TextBlock, TimeAgo } from '../components/text';
import * as format from '../format';
import { nameOf, remove, renew } from '../limit_actions';
import { useGet, useLive } from '../live';
import { href, navigate } from '../router';
import { can } from '../session';
import type { Limit, LimitHistory } from '../types';
import { LimitForm } from './limit_form';
import { Blocked, Ends, Marks, Payable } from './limits';
import type { LimitsAnswer } from './limits';

export function LimitPage({ queue, id }: { queue: string; id: string; query: URLSearchParams }) {
  // The list is what is told live; of one limit it is the list of that one.
  const live = useLive<LimitsAnswer>(apiPath(queue, 'limits') + queryText({ uuid: id }));
  const arrived = useArrival(live.data);
  const [last, setLast] = useState<Limit | null>(null);
  const now = live.data?.limits[0] ?? null;
  if (now && now !== last) setLast(now);
  const gone = live.data !== undefined && now === null;
  return (
    <>
      {!now && (
        <div class="head">
          <h1>Limit {last ? nameOf(last) : <span class="mono">{id}</span>}</h1>
          <a href={href('limits', queue)}>all limits</a>
        </div>
      )}
      {gone && (
        <div class="banner banner-warning" role="status">
          {last
            ? 'This limit has ended: its lease was over, or it was deleted. It holds nothing back any more.'
            : 'There is no such limit: it has ended, or was never there.'}
        </div>
      )}
      {!gone && (
        <Show live={live} what="The limit">
          {() => now && <Body queue={queue} limit={now} arrived={arrived} />}
        </Show>
      )}
      {gone && last && <Terms limit={last} />}
    </>
  );
}

function Body({ queue, limit, arrived }: { queue: string; limit: Limit; arrived: number }) {
  const [editing, setEditing] = useState(false);
  useNow();
  const more = queue === 'default' ? '' : ` -q ${format.shellWord(queue)}`;
  return (
    <>
      <div class="head">
        <h1>Limit {nameOf(limit)}</h1>
        <Marks limit={limit} />
        <div class="actions">
          <ActionButton scope="operate" action={() => renew(queue, limit)}>
            Renew
          </ActionButton>
          {can('operate') && (
            <button type="button" aria-expanded={editing} onClick={() => setEditing(!editing)}>
              Edit
            </button>
          )}
          <ActionButton
            scope="operate"
            danger
            action={async () => {
              if (await remove(queue, limit)) navigate(href('limits', queue));
            }}>
            Delete…
          </ActionButton>
        </div>
      </div>
      <section class="card" aria-label="level">
        <div class="level-big">
          <LevelBar limit={limit} label="level" />
          <div class="level-scale num dim" aria-hidden="true">
            <span>{limit.burst > 0 ? `-${format.short(limit.burst)}` : '0'}</span>
            <span>
              now <b>{format.real(limit.tokens)}</b>
            </span>
            <span>{format.short(limit.count)}</span>
          </div>
        </div>
        <Facts>
          <Fact name="refills">{rateText(limit)}</Fact>
          <Fact name="groups of jobs that wait">
            {format.count(limit.waiting)}
            {limit.waiting_forever > 0 && <span class="bad"> ({format.count(limit.waiting_forever)} for what it can never pay)</span>}
          </Fact>
          <Fact name="cheapest of their starts">
            {limit.cheapest === null || limit.waiting === 0 ? <Nothing /> : <>costs {format.real(limit.cheapest)}</>}
          </Fact>
          <Fact name="can be paid in">
            <Payable limit={limit} arrived={arrived} />
          </Fact>
          <Fact name="starts allowed">
            <Num value={limit.allowed} /> <span class="dim">at a cost of {format.real(limit.cost_allowed)}</span>
          </Fact>
          <Fact name={limit.monitor ? 'starts it would have blocked' : 'times it blocked'}>
            <Num value={limit.skipped} />
          </Fact>
          <Fact name="tries that it denied">
            {format.plural(limit.ignored_matches, 'time')}
            {limit.last_ignored_at_ms !== null && (
              <span class="dim">
                , last <TimeAgo at={limit.last_ignored_at_ms} />
              </span>
            )}
          </Fact>
          <Fact name="something waited for it">
            <Duration ms={limit.blocked_ms} />
          </Fact>
          <Fact name="ends in">
            <Ends limit={limit} arrived={arrived} />
          </Fact>
        </Facts>
        {limit.ignored_users.length > 0 && (
          <>
            <h3>Whose starts it {limit.monitor ? 'would have blocked' : 'blocked'}, the last first</h3>
            <Blocked users={limit.ignored_users} most={256} />
          </>
        )}
        <div class="actions">
          <CopyButton text={`allot limit show ${limit.uuid}${more}`} />
        </div>
      </section>
      {editing && (
        <section class="card" aria-label="edit">
          <h2>Edit</h2>
          <LimitForm queue={queue} limit={limit} onClose={() => setEditing(false)} />
        </section>
      )}
      <LevelOverTime queue={queue} limit={limit} />
      <Terms limit={limit} />
    </>
  );
}

function LevelOverTime({ queue, limit }: { queue: string; limit: Limit }) {
  const history = useGet<LimitHistory>(
    apiPath(queue, 'limits', limit.uuid, 'history'),
    `${Math.floor(tick.value / 5)} ${returns.value}`,
    4_000,
  );
  const chart = useMemo(() => {
    if (!history.data) return null;
    const { from_at_ms: from, step_ms: step, tokens, waiting } = history.data;
    const level: Line[] = [{ label: 'level', color: '--running', fill: true, values: tokens }];
    const waits: Line[] = [{ label: 'groups that wait', color: '--retrying', fill: true, stepped: true, values: waiting }];
    return { times: tokens.map((_, i) => (from + i * step) / 1000), level, waits };
  }, [history.data]);
  return (
    <section class="card" aria-label="history">
      {!chart && history.loading && <Loading />}
      {!chart && history.error && <ErrorState error={history.error} what="The level over time" />}
      {chart && chart.times.length < 2 && <p class="dim">The level over time is drawn once there is some of it.</p>}
      {chart && chart.times.length >= 2 && (
        <div class="charts">
          <Chart
            label="Level, over the last 10 minutes"
            times={chart.times}
            lines={chart.level}
            format={format.compact}
            min={-limit.burst}
            max={limit.count}
          />
          <Chart label="What waited for it" times={chart.times} lines={chart.waits} format={format.real} />
        </div>
      )}
    </section>
  );
}

function Terms({ limit }: { limit: Limit }) {
  return (
    <section class="card" aria-label="terms">
      <h2>Terms</h2>
      <Facts>
        <Fact name="count">{format.count(limit.count)}</Fact>
        <Fact name="window">
          <Duration ms={limit.window_ms} />
        </Fact>
        <Fact name="burst">{format.count(limit.burst)}</Fact>
        <Fact name="most that a start takes">
          {limit.max_burst_cost ? format.count(limit.max_burst_cost) : <span class="dim">what it costs</span>}
        </Fact>
        <Fact name="blocks">
          {limit.monitor ? 'nothing: it only counts' : limit.job_only ? 'on any worker' : 'on some workers: it reads what they are'}
        </Fact>
        <Fact name="tag">
          <Tag tag={limit.tag} />
        </Fact>
        <Fact name="uuid">
          <span class="mono">{limit.uuid}</span>
        </Fact>
      </Facts>
      <div class="columns">
        <div>
          <h3>Applies to starts for which this is true</h3>
          <TextBlock text={limit.expr} label="expression" />
        </div>
        <div>
          <h3>Cost of a start</h3>
          <TextBlock text={limit.cost === null ? '1' : String(limit.cost)} label="cost" />
        </div>
      </div>
    </section>
  );
}

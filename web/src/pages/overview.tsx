// SPDX-License-Identifier: Apache-2.0
// How a queue stands: what comes and goes, what waits and why, and what somebody should look at.
import { useMemo, useRef } from 'preact/hooks';
import { apiPath, post } from '../api';
import { returns, tick, useNow } from '../clock';
import { Chart } from '../components/chart';
import type { Line } from '../components/chart';
import { ActionButton, confirm, CopyButton, Empty, ErrorState, Show, toast } from '../components/feedback';
import { Table } from '../components/table';
import { Fact, Facts, JobLink, Nothing, Num, ReasonChip, Since, State, Tags } from '../components/text';
import * as format from '../format';
import { extendHistory } from '../history';
import { useGet, useLive } from '../live';
import { sentence } from '../reasons';
import { href, route, setQuery } from '../router';
import { can } from '../session';
import type { Banner, History, Overview, OverviewReason, Queue } from '../types';

async function pause(queue: string): Promise<void> {
  const sure = await confirm({
    title: `Pause the queue ${queue}?`,
    text: 'Nothing is handed out until it is resumed. What runs goes on; submits and reports are taken.',
    yes: 'Pause',
  });
  if (!sure) return;
  await post<Queue>(apiPath(queue, 'pause'));
  toast(`Paused: ${queue}`);
}

async function resume(queue: string): Promise<void> {
  await post<Queue>(apiPath(queue, 'resume'));
  toast(`Resumed: ${queue}`);
}

export function OverviewPage({ queue }: { queue: string }) {
  const live = useLive<Overview>(apiPath(queue, 'overview'));
  // Servers that have no overview still tell of the queue.
  const plain = useGet<Queue>(live.error?.notAvailable ? apiPath(queue) : null);
  const state = live.data?.queue ?? plain.data;
  return (
    <>
      <div class="head">
        <h1>{queue}</h1>
        {state?.paused && <State state="paused" />}
        <div class="actions">
          <CopyButton text={`allot top${queue === 'default' ? '' : ` -q ${format.shellWord(queue)}`}`} />
          {state &&
            (state.paused ? (
              <ActionButton scope="operate" primary action={() => resume(queue)}>
                Resume
              </ActionButton>
            ) : (
              <ActionButton scope="operate" action={() => pause(queue)}>
                Pause
              </ActionButton>
            ))}
        </div>
      </div>
      {live.error?.notAvailable && plain.data ? (
        <>
          <Levels queue={plain.data} />
          <ErrorState error={live.error} what="The overview" />
        </>
      ) : (
        <Show live={live} what="The overview">
          {(overview) => <Body queue={queue} overview={overview} />}
        </Show>
      )}
    </>
  );
}

function Levels({ queue }: { queue: Queue }) {
  return (
    <div class="tiles">
      <Tile name="queued" value={format.count(queue.tasks.queued)} more={`${format.count(queue.tasks.retrying)} retrying`} />
      <Tile name="running" value={format.count(queue.tasks.running)} />
      <Tile name="failed jobs" value={format.count(queue.jobs.failed)} link={href('jobs', queue.name, '', { state: 'failed' })} />
      <Tile name="workers" value={format.count(queue.workers)} link={href('workers', queue.name)} />
    </div>
  );
}

function Tile({ name, value, more, link, tone }: { name: string; value: string; more?: string; link?: string; tone?: string }) {
  const inside = (
    <>
      <div class="name">{name}</div>
      <div class={`value ${tone ?? ''}`} title={value}>
        {value}
      </div>
      <div class="more">{more || '\u00a0'}</div>
    </>
  );
  return link ? (
    <a class="tile" href={link}>
      {inside}
    </a>
  ) : (
    <div class="tile">{inside}</div>
  );
}

// A number in full, unless it would not fit.
const level = (n: number) => (n < 10_000_000 ? format.count(n) : format.short(n));

function Body({ queue, overview }: { queue: string; overview: Overview }) {
  const now = useNow();
  const { rates, workers, oldest_waiting: oldest, queue: state } = overview;
  const apart = [workers.away && `${format.count(workers.away)} away`, workers.draining && `${format.count(workers.draining)} draining`];
  return (
    <>
      <Banners queue={queue} overview={overview} />
      <div class="tiles">
        <Tile
          name="done"
          value={format.rate(rates.done)}
          more={`in ${format.rate(rates.submitted)} · started ${format.rate(rates.started)}`}
        />
        <Tile
          name="queued"
          value={level(state.tasks.queued)}
          more={
            state.tasks.retrying
              ? `and ${format.count(state.tasks.retrying)} retrying`
              : `of ${format.plural(state.jobs.active, 'active job')}`
          }
          link={href('jobs', queue, '', { state: 'active' })}
        />
        <Tile
          name="running"
          value={level(state.tasks.running)}
          more={`${format.count(workers.busy)} of ${format.plural(workers.slots, 'slot')}`}
        />
        <Tile
          name="failed attempts"
          value={format.rate(rates.failed)}
          tone={rates.failed > 0 ? 'bad' : ''}
          more={format.plural(state.jobs.failed, 'failed job')}
          link={href('jobs', queue, '', { state: 'failed' })}
        />
        <Tile
          name="oldest waiting"
          value={oldest ? format.duration(now - oldest.since_at_ms) : '–'}
          more={oldest ? (oldest.job ? `job ${oldest.job}` : 'since its job could run') : 'nothing waits'}
          link={oldest?.job ? href('job', queue, oldest.job) : undefined}
        />
        <Tile
          name="workers"
          value={format.count(workers.registered)}
          more={apart.filter(Boolean).join(' · ') || `${format.count(workers.waiting)} idle`}
          link={href('workers', queue)}
        />
      </div>
      <Charts queue={queue} overview={overview} />
      <Reasons overview={overview} />
      <Settings queue={state} />
    </>
  );
}

function Banners({ queue, overview }: { queue: string; overview: Overview }) {
  const banners: Banner[] = [...overview.banners];
  if (overview.queue.paused && !banners.some((banner) => banner.code === 'queue_paused')) {
    banners.unshift({ level: 'warning', code: 'queue_paused', message: 'the queue is paused: nothing is handed out', hint: '' });
  }
  return (
    <div aria-live="polite">
      {banners.map((banner) => (
        <div key={`${banner.code} ${banner.job ?? ''}`} class={`banner banner-${banner.level}`}>
          <strong>{banner.message}</strong>
          <div class="actions">
            {banner.hint && (banner.hint.startsWith('allot ') ? <CopyButton text={banner.hint} /> : <span>{banner.hint}</span>)}
            {banner.job && <a href={href('job', queue, banner.job)}>job {banner.job}</a>}
            {banner.code === 'queue_paused' && can('operate') && (
              <ActionButton scope="operate" small primary action={() => resume(queue)}>
                Resume
              </ActionButton>
            )}
          </div>
        </div>
      ))}
    </div>
  );
}

const kSteps = { minutes: { step: 'second', least: 600 }, day: { step: 'minute', least: 1440 } } as const;

// What is seen of the past comes once a minute, and when the page is seen again; what happens meanwhile is in the overview, which is live.
function Charts({ queue, overview }: { queue: string; overview: Overview }) {
  const now = useNow();
  const span = route.value.query.get('span') === 'day' ? 'day' : 'minutes';
  const { step, least } = kSteps[span];
  const { data, error } = useGet<History>(
    `${apiPath(queue, 'history')}?step=${step}`,
    `${Math.floor(tick.value / 60)} ${returns.value}`,
    1_000,
  );
  const shown = useRef<{ of: History; now: History } | null>(null);
  if (data) shown.current = { of: data, now: extendHistory(shown.current?.of === data ? shown.current.now : data, overview, now, least) };
  const history = data ? shown.current!.now : undefined;
  const charts = useMemo(() => history && chartsOf(history), [history]);
  if (error && !data) return <ErrorState error={error} what="History" />;
  return (
    <section class="card" aria-label="history">
      <div class="head">
        <div class="actions" role="group" aria-label="time">
          <button type="button" class="small" aria-pressed={span === 'minutes'} onClick={() => setQuery({ span: null })}>
            10 minutes
          </button>
          <button type="button" class="small" aria-pressed={span === 'day'} onClick={() => setQuery({ span: 'day' })}>
            24 hours
          </button>
        </div>
      </div>
      {charts && (
        <div class="charts charts-3">
          <Chart label="Tasks a second" times={charts.times} lines={charts.flow} format={format.compact} />
          <Chart label="Tasks that wait and run" times={charts.times} lines={charts.levels} format={format.short} />
          <Chart
            label="Age of the oldest that waits"
            times={charts.times}
            lines={charts.oldest}
            format={(ms) => (ms === 0 ? '0' : format.duration(ms))}
          />
        </div>
      )}
    </section>
  );
}

function chartsOf(history: History) {
  const n = history.done.length;
  const times = Array.from({ length: n }, (_, i) => (history.from_at_ms + i * history.step_ms) / 1000);
  const perSecond = (counts: number[]) => counts.map((c) => (c * 1000) / history.step_ms);
  const flow: Line[] = [
    { label: 'in', color: '--dim', dash: [2, 3], values: perSecond(history.submitted) },
    { label: 'started', color: '--running', dash: [6, 3], values: perSecond(history.started) },
    { label: 'done', color: '--done', fill: true, values: perSecond(history.done) },
    { label: 'failed', color: '--failed', values: perSecond(history.failed) },
  ];
  const levels: Line[] = [
    { label: 'queued', color: '--dim', fill: true, values: history.queued },
    { label: 'retrying', color: '--retrying', dash: [2, 3], values: history.retrying },
    { label: 'running', color: '--running', values: history.running },
  ];
  return { times, flow, levels, oldest: [{ label: 'oldest', color: '--retrying', fill: true, values: history.oldest_ms }] as Line[] };
}

function Reasons({ overview }: { overview: Overview }) {
  return (
    <section aria-label="reasons">
      <h2>Why tasks wait</h2>
      {overview.reasons.length === 0 ? (
        <Empty>Nothing waits.</Empty>
      ) : (
        <Table
          label="reasons"
          cardsBelow={900}
          rows={overview.reasons}
          id={(reason) => `${reason.code} ${reason.job ?? ''}`}
          columns={[
            { name: 'reason', main: true, cell: (reason) => <ReasonChip code={reason.code} kind={reason.kind} /> },
            { name: 'meaning', wide: true, cell: (reason) => sentence(reason.code) },
            { name: 'tasks', num: true, cell: (reason) => <Num value={reason.tasks} /> },
            { name: 'jobs', num: true, cell: (reason) => <Num value={reason.jobs} /> },
            {
              name: 'since',
              num: true,
              cell: (reason) => (reason.since_at_ms === null ? <span class="dim">the start</span> : <Since at={reason.since_at_ms} />),
            },
            { name: 'most of', cell: (reason) => (reason.job ? <JobLink id={reason.job} /> : <Nothing />) },
            { name: 'stopped by', cell: (reason) => <StoppedBy reason={reason} /> },
            { name: 'tags', bare: true, cell: (reason) => <Tags tags={reason.tags ?? []} link most={4} /> },
          ]}
        />
      )}
    </section>
  );
}

// The limits, or values of a ceiling, that stop the most.
function StoppedBy({ reason }: { reason: OverviewReason }) {
  const limits = reason.limits ?? [];
  const ceilings = reason.ceilings ?? [];
  if (limits.length + ceilings.length === 0) return <Nothing />;
  return (
    <ul class="stopped-by">
      {limits.map((limit) => (
        <li key={limit.uuid}>
          limit <b>{limit.name || limit.tag}</b> <span class="dim">{format.plural(limit.tasks, 'task')}</span>
        </li>
      ))}
      {ceilings.map((one) => (
        <li key={`${one.of} ${one.key} ${JSON.stringify(one.value)}`}>
          {one.key} <b>{typeof one.value === 'string' ? one.value : JSON.stringify(one.value)}</b>{' '}
          <span class="dim">
            {one.running} of {one.max} run, {format.plural(one.tasks, 'task')}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Settings({ queue }: { queue: Queue }) {
  const { settings } = queue;
  return (
    <section class="card" aria-label="settings">
      <h2>How the queue is set up</h2>
      <Facts>
        {settings.policy !== undefined && (
          <Fact name="policy">
            <code>{settings.policy}</code>
          </Fact>
        )}
        <Fact name="dispatch">
          {settings.dispatch}
          {settings.dispatch === 'balanced' && `, ${settings.balance.replace('_', ' ')}`}
        </Fact>
        <Fact name="property keys">
          {settings.property_keys.length ? <Tags tags={settings.property_keys} /> : <span class="dim">none</span>}
        </Fact>
        <Fact name="grace of lost workers">{format.duration(settings.worker_grace_ms)}</Fact>
        <Fact name="a result at most">{format.bytes(settings.max_result_bytes)}</Fact>
        <Fact name="ended jobs kept">{format.count(settings.max_finished_jobs)}</Fact>
        <Fact name="jobs">{format.count(Object.values(queue.jobs).reduce((sum, n) => sum + n, 0))}</Fact>
        <Fact name="file">{format.bytes(queue.store.file_bytes)}</Fact>
      </Facts>
    </section>
  );
}

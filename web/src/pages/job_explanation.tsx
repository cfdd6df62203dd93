// SPDX-License-Identifier: Apache-2.0
// Why a job does not run: the verdict, every reason, how far workers come, limits, and its place in the order.
import { apiPath } from '../api';
import { ShareBar } from '../components/bars';
import { Show } from '../components/feedback';
import { Table } from '../components/table';
import { JobLink, Nothing, Since, User, WorkerLink } from '../components/text';
import { ReasonLine, WhyList } from '../components/why';
import * as format from '../format';
import { useLive } from '../live';
import { kStages } from '../reasons';
import { href } from '../router';
import type { Clause, Explanation, ExplainedLimit, Order } from '../types';
import { JobAndWorker } from './job_worker';

export function JobExplanation({ queue, id, worker }: { queue: string; id: string; worker: string }) {
  const live = useLive<Explanation>(apiPath(queue, 'jobs', id, 'explain'), { secondary: true });
  return (
    <section class="card" aria-label="explanation">
      <h2>Why it waits, or does not</h2>
      <Show live={live} what="The explanation">
        {(explained) => <Body queue={queue} explained={explained} />}
      </Show>
      <JobAndWorker queue={queue} id={id} worker={worker} />
    </section>
  );
}

function Body({ queue, explained }: { queue: string; explained: Explanation }) {
  const others = explained.reasons.filter(
    (reason) => reason.code !== explained.verdict.code || reason.message !== explained.verdict.message,
  );
  const suggestions = explained.suggestions.filter((one) => explained.reasons.every((reason) => !reason.message.includes(one.message)));
  return (
    <>
      <div aria-live="polite">
        <ReasonLine reason={explained.verdict} strong />
      </div>
      {others.map((reason, i) => (
        <ReasonLine key={i} reason={reason} />
      ))}
      {suggestions.length > 0 && (
        <ul class="plain-list">
          {suggestions.map((one, i) => (
            <li key={i}>{one.message}</li>
          ))}
        </ul>
      )}
      <div class="explain-columns">
        <Funnel explained={explained} />
        {explained.order && <OrderPart order={explained.order} />}
        {explained.promised && explained.promised.tasks > 0 && (
          <div>
            <h3>Promised</h3>
            <p>
              {format.plural(explained.promised.tasks, 'task')} in the queues of {format.plural(explained.promised.workers, 'worker')}.
              {explained.promised.longest && (
                <>
                  {' '}
                  Most are with <WorkerLink id={explained.promised.longest.worker} name={explained.promised.longest.name} />:{' '}
                  {format.count(explained.promised.longest.tasks)} of the {format.count(explained.promised.longest.queue)} in its queue.
                </>
              )}
            </p>
          </div>
        )}
        {explained.nearest && (
          <div>
            <h3>
              Nearest miss: <WorkerLink id={explained.nearest.worker} name={explained.nearest.name} />
            </h3>
            <ul class="plain-list">
              {explained.nearest.misses.map((miss, i) => (
                <li key={i}>
                  <span class="bad" aria-hidden="true">
                    ✗
                  </span>{' '}
                  {miss.message}
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
      {explained.limits && explained.limits.length > 0 && <Limits queue={queue} limits={explained.limits} />}
      <Conditions explained={explained} />
    </>
  );
}

function Funnel({ explained }: { explained: Explanation }) {
  const total = explained.workers.total;
  const partial = explained.workers.examined < total;
  return (
    <div>
      <h3>Workers{partial && <span class="dim"> (of the first {format.count(explained.workers.examined)})</span>}</h3>
      {total === 0 ? (
        <p class="dim">There are none.</p>
      ) : (
        <div class="funnel">
          {explained.funnel.map(({ stage, workers }) => (
            <div key={stage} class="funnel-row">
              <span class="num">{format.count(workers)}</span>
              <ShareBar value={total ? workers / total : 0} label={`workers ${kStages[stage] ?? stage}`} />
              <span class={workers === 0 ? 'bad' : ''}>{kStages[stage] ?? stage}</span>
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

function OrderPart({ order }: { order: Order }) {
  return (
    <div>
      <h3>Place in the order</h3>
      {order.place !== undefined && (
        <p>
          {order.place === null ? (
            'Not among the next 100 tasks'
          ) : (
            <>
              <b class="num">{format.count(order.place)}.</b>
              {order.complete === false && ' at the earliest'}
            </>
          )}
          {order.workers !== undefined && (
            <span class="dim">
              {' '}
              by <code>{order.strategy}</code>
              {order.policy && order.policy !== 'worker' && (
                <>
                  {' '}
                  below <code>{order.policy}</code>
                </>
              )}
              , which {format.plural(order.workers, 'worker')} of those that may run it {order.workers === 1 ? 'has' : 'have'}
            </span>
          )}
        </p>
      )}
      {order.ceilings.map((ceiling, i) => (
        <p key={i} class="warn">
          {ceiling.key} {ceiling.value === null ? '(none)' : `“${ceiling.value}”`}: {format.count(ceiling.running)} of at most{' '}
          {format.count(ceiling.max)} run (by the {ceiling.of})
        </p>
      ))}
      {order.first && (
        <details>
          <summary>
            First is job <JobLink id={order.first.job} />
            {order.first.user && (
              <>
                {' '}
                of <User user={order.first.user} />
              </>
            )}
            : why
          </summary>
          <WhyList why={order.first.why} />
        </details>
      )}
      {order.own && (
        <details>
          <summary>How this job stands</summary>
          <WhyList why={order.own.why} />
        </details>
      )}
    </div>
  );
}

function Limits({ queue, limits }: { queue: string; limits: ExplainedLimit[] }) {
  const state = (limit: ExplainedLimit) => {
    if (limit.monitor) return <span class="dim nowrap">only counts</span>;
    if (!limit.blocks) return <span class="good">lets it pass</span>;
    if (limit.stops) return <span class="bad">stops it</span>;
    if (limit.never || limit.payable_in_ms === null) return <span class="bad">can never pay</span>;
    return <span class="warn">holds it back{limit.overtaken && ', and others were there first'}</span>;
  };
  return (
    <>
      <h3>Limits</h3>
      <Table
        label="limits"
        rows={limits}
        id={(limit) => limit.uuid}
        columns={[
          {
            name: 'limit',
            main: true,
            cell: (limit) => (
              <a data-open href={href('limit', queue, limit.uuid)}>
                {limit.name || limit.tag || limit.uuid}
              </a>
            ),
          },
          { name: 'it', cell: state },
          { name: 'level', num: true, cell: (limit) => format.real(limit.level) },
          { name: 'cost', num: true, cell: (limit) => format.real(limit.cost) },
          {
            name: 'pays in',
            num: true,
            cell: (limit) => (limit.blocks && limit.payable_in_ms !== null ? format.duration(limit.payable_in_ms) : <Nothing />),
          },
          {
            name: 'on workers',
            num: true,
            cell: (limit) =>
              limit.reads_worker ? (
                `${format.count(limit.workers_blocked)} of ${format.count(limit.workers)}`
              ) : (
                <span class="dim">all</span>
              ),
          },
        ]}
      />
    </>
  );
}

const kTagStatus: Record<string, string> = {
  never_seen: 'never seen',
  gone: 'gone',
  unavailable: 'draining or away',
  busy: 'busy',
  free: 'free',
};

// What is asked of workers, one by one; folded away, since the verdict says what matters of it.
function Conditions({ explained }: { explained: Explanation }) {
  const { tags, constraints, requirements, worker_requirements: refusals } = explained;
  if (!tags.length && !constraints.length && !requirements.length && !refusals.length) return null;
  return (
    <details class="more-below">
      <summary>Conditions, one by one</summary>
      {tags.length > 0 && (
        <Table
          label="tags"
          rows={tags}
          id={(tag) => tag.tag}
          columns={[
            { name: 'tag', main: true, cell: (tag) => <span class="tag">{tag.tag}</span> },
            {
              name: 'status',
              cell: (tag) => (
                <span class={tag.status === 'free' ? 'good' : tag.status === 'busy' ? '' : 'bad'}>
                  {kTagStatus[tag.status] ?? tag.status}
                </span>
              ),
            },
            { name: 'workers', num: true, cell: (tag) => format.count(tag.workers) },
            { name: 'available', num: true, cell: (tag) => format.count(tag.available) },
            { name: 'free', num: true, cell: (tag) => format.count(tag.free) },
            { name: 'last seen', num: true, cell: (tag) => <Since at={tag.last_seen_at_ms} /> },
          ]}
        />
      )}
      {constraints.length > 0 && (
        <Table
          label="constraints"
          rows={constraints}
          id={(one) => one.tag}
          columns={[
            { name: 'constraint', main: true, cell: (one) => <span class="tag">{one.tag}</span> },
            { name: 'workers', num: true, cell: (one) => format.count(one.workers) },
            {
              name: 'of which each',
              wide: true,
              cell: (one) => one.properties.map((p) => `${p.key}=${p.value}: ${format.count(p.workers)}`).join(', '),
            },
          ]}
        />
      )}
      <Clauses label="Its requirements" clauses={requirements} />
      <Clauses label="Requirements by which workers refuse it" clauses={refusals} />
    </details>
  );
}

function Clauses({ label, clauses }: { label: string; clauses: Clause[] }) {
  if (!clauses.length) return null;
  return (
    <>
      <h3>{label}</h3>
      <Table
        label={label}
        rows={clauses}
        id={(clause) => clause.clause}
        columns={[
          { name: 'clause', main: true, wide: true, cell: (clause) => <code>{clause.clause}</code> },
          { name: 'reached', num: true, cell: (clause) => format.count(clause.reached) },
          { name: 'failed', num: true, cell: (clause) => <span class={clause.failed ? 'bad' : ''}>{format.count(clause.failed)}</span> },
          { name: 'lack it', num: true, cell: (clause) => format.count(clause.undefined) },
          { name: 'errors', num: true, cell: (clause) => format.count(clause.error) },
          { name: 'best', num: true, cell: (clause) => clause.best ?? <Nothing /> },
        ]}
      />
    </>
  );
}

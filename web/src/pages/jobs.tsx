// SPDX-License-Identifier: Apache-2.0
// The jobs of a queue: how far each is, how fast, what holds it; and what can be done to some or all of them.
import { useEffect, useRef, useState } from 'preact/hooks';
import { apiPath, queryText } from '../api';
import { serverNow, useNow } from '../clock';
import { ProgressBar } from '../components/bars';
import { ActionButton, CopyButton, Empty, Show } from '../components/feedback';
import { Pager, Table } from '../components/table';
import { Duration, JobLink, Nothing, Num, ReasonChip, State, Tags, TimeAgo, User } from '../components/text';
import * as format from '../format';
import { actOnFilter, actOnJob, actOnSelected, applies, kActions } from '../job_actions';
import type { Action } from '../job_actions';
import { useGet, useLive } from '../live';
import { estimateRate, RateMeter, remainingMs } from '../rates';
import { setQuery } from '../router';
import { canChangeJobs, canChangeManyJobs } from '../session';
import type { Job, JobsFilter, JobsPage as Page, JobState } from '../types';

const kStates: JobState[] = ['active', 'scheduled', 'paused', 'done', 'failed', 'cancelled'];
const kPerPage = 50;
const kAll: Action[] = ['pause', 'resume', 'cancel', 'retry'];

export function JobsPage({ queue, query }: { queue: string; query: URLSearchParams }) {
  const filter = {
    state: (query.get('state') ?? '') as JobState | '',
    tag: query.get('tag') ?? '',
    user: query.get('user') ?? '',
  };
  const before = query.get('before') ?? '';
  const path = apiPath(queue, 'jobs') + queryText({ ...filter, before, limit: kPerPage });
  // What is new comes to the first page; what is older is looked up once.
  const live = useLive<Page>(before ? null : path, { keep: true });
  const older = useGet<Page>(before ? path : null);
  const page = before ? older : live;
  const meters = useMeters(page.data?.jobs);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => setSelected(new Set()), [path]);
  const select = (ids: string[], on: boolean) =>
    setSelected((was) => {
      const now = new Set(was);
      for (const id of ids) on ? now.add(id) : now.delete(id);
      return now;
    });
  const chosen = (page.data?.jobs ?? []).filter((job) => selected.has(job.id));
  const reload = () => before && older.reload();

  return (
    <>
      <div class="head">
        <h1>Jobs</h1>
        <div class="actions">
          <CopyButton text={commandOf(queue, filter)} />
        </div>
      </div>
      <Filters filter={filter} />
      {canChangeJobs() && (
        <div class="bulk" role="group" aria-label="actions on jobs">
          {chosen.length > 0 ? (
            <>
              <span class="bulk-what">{chosen.length} selected</span>
              {kAll.map((action) => (
                <ActionButton
                  key={action}
                  small
                  danger={kActions[action].danger}
                  action={async () => {
                    await actOnSelected(action, queue, chosen);
                    setSelected(new Set());
                    reload();
                  }}>
                  {kActions[action].name}
                </ActionButton>
              ))}
              <button type="button" class="small plain" onClick={() => setSelected(new Set())}>
                Clear
              </button>
            </>
          ) : (
            canChangeManyJobs() && (
              <>
                <span class="bulk-what">All jobs {wordsOf(filter)}</span>
                {kAll.map((action) => (
                  <ActionButton
                    key={action}
                    small
                    danger={kActions[action].danger}
                    action={async () => {
                      await actOnFilter(action, queue, filterOf(filter), wordsOf(filter));
                      reload();
                    }}>
                    {kActions[action].name}…
                  </ActionButton>
                ))}
              </>
            )
          )}
        </div>
      )}
      <Show live={page} what="Jobs">
        {({ jobs, next }) => (
          <>
            {jobs.length > 0 && (
              <List jobs={jobs} meters={meters} selected={selected} onSelect={canChangeJobs() ? select : undefined} reload={reload} />
            )}
            {jobs.length === 0 &&
              (next !== null ? (
                <Empty>None among the ones looked at; there are older ones.</Empty>
              ) : before ? (
                <Empty>No older jobs.</Empty>
              ) : filter.state || filter.tag || filter.user ? (
                <Empty>No jobs {wordsOf(filter)}.</Empty>
              ) : (
                <Empty>
                  No jobs yet. <CopyButton text="seq 10 | allot submit --tag square" />
                </Empty>
              ))}
            <Pager
              first={!before}
              next={next}
              newest="Newest"
              older="Older"
              onFirst={() => setQuery({ before: null })}
              onNext={() => setQuery({ before: next })}
            />
          </>
        )}
      </Show>
    </>
  );
}

type Filter = { state: string; tag: string; user: string };

function filterOf(filter: Filter): JobsFilter {
  const given: JobsFilter = {};
  if (filter.state) given.state = filter.state as JobState;
  if (filter.tag) given.tag = filter.tag;
  if (filter.user) given.user = filter.user;
  return Object.keys(given).length ? given : { all: true };
}

// "that are active, with the tag render, of ann"
function wordsOf(filter: Filter): string {
  const parts = [
    filter.state && `that are ${filter.state}`,
    filter.tag && `with the tag ${filter.tag}`,
    filter.user && `of ${filter.user}`,
  ];
  return parts.filter(Boolean).join(', ') || 'of the queue';
}

function commandOf(queue: string, filter: Filter): string {
  const parts = ['allot jobs'];
  if (queue !== 'default') parts.push(`-q ${format.shellWord(queue)}`);
  for (const key of ['state', 'tag', 'user'] as const) if (filter[key]) parts.push(`--${key} ${format.shellWord(filter[key])}`);
  return parts.join(' ');
}

function Filters({ filter }: { filter: Filter }) {
  return (
    <form class="filters" role="search" aria-label="filter" onSubmit={(event) => event.preventDefault()}>
      <label class="field">
        <span>state</span>
        <select value={filter.state} onChange={(event) => setQuery({ state: event.currentTarget.value, before: null })}>
          <option value="">any</option>
          {kStates.map((state) => (
            <option key={state} value={state}>
              {state}
            </option>
          ))}
        </select>
      </label>
      <FilterField name="tag" value={filter.tag} first />
      <FilterField name="user" value={filter.user} />
      {(filter.state || filter.tag || filter.user) && (
        <button type="button" class="plain" onClick={() => setQuery({ state: null, tag: null, user: null, before: null })}>
          Clear
        </button>
      )}
    </form>
  );
}

// What is typed takes effect a moment later, or with Enter.
export function FilterField({ name, value, first = false }: { name: string; value: string; first?: boolean }) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = (to: string) => {
    clearTimeout(timer.current);
    setQuery({ [name]: to.trim(), before: null }, { replace: true });
  };
  return (
    <label class="field">
      <span>{name}</span>
      <input
        type="text"
        data-filter={first ? '' : undefined}
        value={text}
        autoComplete="off"
        spellcheck={false}
        maxLength={128}
        onInput={(event) => {
          const to = event.currentTarget.value;
          setText(to);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => apply(to), 400);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') apply(text);
        }}
      />
    </label>
  );
}

// How far each job was when: for its rate.
function useMeters(jobs: Job[] | undefined): Map<string, RateMeter> {
  const meters = useRef(new Map<string, RateMeter>()).current;
  useEffect(() => {
    if (!jobs) return;
    const seen = new Set<string>();
    const now = serverNow();
    for (const job of jobs) {
      seen.add(job.id);
      if (!meters.has(job.id)) meters.set(job.id, new RateMeter());
      meters.get(job.id)!.add(now, job.done + job.failed);
    }
    for (const id of [...meters.keys()]) if (!seen.has(id)) meters.delete(id);
  }, [jobs]);
  return meters;
}

function List({
  jobs,
  meters,
  selected,
  onSelect,
  reload,
}: {
  jobs: Job[];
  meters: Map<string, RateMeter>;
  selected: ReadonlySet<string>;
  onSelect?: (ids: string[], on: boolean) => void;
  reload: () => void;
}) {
  const now = useNow();
  const rateOf = (job: Job) => estimateRate(job, meters.get(job.id), now);
  return (
    <Table
      label="jobs"
      cardsBelow={1150}
      rows={jobs}
      id={(job) => job.id}
      selected={selected}
      onSelect={onSelect}
      columns={[
        { name: 'job', main: true, cell: (job) => <JobLink id={job.id} queue={job.queue} /> },
        { name: 'state', bare: true, cell: (job) => <State state={job.state} /> },
        {
          name: 'progress',
          wide: true,
          cell: (job) => (
            <div class="progress-cell">
              <ProgressBar job={job} label={`progress of job ${job.id}`} />
              <span class="num dim" title={`${format.count(job.done + job.failed + job.skipped)} of ${format.count(job.count)}`}>
                {format.short(job.done + job.failed + job.skipped)}/{format.short(job.count)}
              </span>
            </div>
          ),
        },
        {
          name: 'rate',
          num: true,
          cell: (job) => {
            const rate = rateOf(job);
            return rate === null ? <Nothing /> : format.rate(rate);
          },
        },
        { name: 'left', num: true, cell: (job) => <Duration ms={job.paused ? null : remainingMs(job, rateOf(job))} /> },
        {
          name: 'failed',
          num: true,
          cell: (job) =>
            job.failed ? (
              <span class="bad">
                <Num value={job.failed} short />
              </span>
            ) : (
              <span class="nothing">0</span>
            ),
        },
        { name: 'wait reason', bare: true, cell: (job) => <ReasonChip reason={job.wait_reason} /> },
        { name: 'user', cell: (job) => <User user={job.user} link /> },
        { name: 'tags', bare: true, cell: (job) => <Tags tags={job.tags} link most={3} /> },
        { name: 'submitted', num: true, minor: true, cell: (job) => <TimeAgo at={job.submitted_at_ms} /> },
        {
          name: 'actions',
          quiet: true,
          cell: (job) =>
            canChangeJobs() && (
              <span class="row-actions">
                {kAll
                  .filter((action) => applies(action, job))
                  .map((action) => (
                    <ActionButton
                      key={action}
                      small
                      danger={kActions[action].danger}
                      title={`${kActions[action].name} job ${job.id}`}
                      action={async () => {
                        await actOnJob(action, job);
                        reload();
                      }}>
                      {kActions[action].name}
                    </ActionButton>
                  ))}
              </span>
            ),
        },
      ]}
    />
  );
}

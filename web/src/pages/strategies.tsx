// SPDX-License-Identifier: Apache-2.0
// A playground: type a strategy, see what a worker with it would get from the queue as it is, and why.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, apiPath, post, queryText } from '../api';
import { CopyButton, Empty, ErrorState, Loading } from '../components/feedback';
import { isOf, TextField, useSettled } from '../components/fields';
import { Picks } from '../components/picks';
import { StrategyField, useCheck } from '../components/strategy_field';
import { JobLink, User } from '../components/text';
import * as format from '../format';
import { useGet } from '../live';
import { placeOf } from '../places';
import { setQuery } from '../router';
import type { Strategies, StrategyTry, WorkersPage } from '../types';

const kCount = 50;
// Where looking takes longer than this it is not done at every key, but when asked for.
const kQuick = 500;
const kWorkersOffered = 100;

// Beside those with a name on the server.
const kExamples = [
  'priority',
  'oldest',
  'least_recent',
  'random',
  'fair(user, oldest)',
  'prefer_distinct(user, 1, oldest)',
  'max_simultaneous(user, 2, oldest)',
  'or_else(select_only(async = false, oldest), priority)',
];

export function StrategiesPage({ queue, query }: { queue: string; query: URLSearchParams }) {
  const [strategy, setStrategy] = useState(query.get('s') ?? '');
  const [policy, setPolicy] = useState(query.get('p') ?? '');
  const [worker, setWorker] = useState(query.get('w') ?? (query.get('tags') !== null ? 'tags' : ''));
  const [tags, setTags] = useState(query.get('tags') ?? '');
  const byTags = worker === 'tags';

  // The address has all of it, to be shared.
  const all = { s: strategy.trim(), p: policy.trim(), w: byTags ? null : worker, tags: byTags ? tags.trim() : null };
  const settledAddress = useSettled(JSON.stringify(all), 400);
  useEffect(() => setQuery(JSON.parse(settledAddress) as typeof all, { replace: true }), [settledAddress]);

  const checkedStrategy = useCheck('strategy', strategy);
  const checkedPolicy = useCheck('policy', policy);
  const ready = (text: string, checked: typeof checkedStrategy) =>
    text.trim() === '' || (checked.text === text.trim() && checked.check !== null);
  const request = useMemo(
    () =>
      JSON.stringify({
        strategy: strategy.trim() || 'priority',
        ...(policy.trim() ? { policy: policy.trim() } : {}),
        ...(byTags ? { worker: { tags: tags.split(/[\s,]+/).filter(Boolean) } } : worker ? { worker } : {}),
        count: kCount,
      }),
    [strategy, policy, worker, tags],
  );
  const valid = ready(strategy, checkedStrategy) && ready(policy, checkedPolicy);
  const tried = useTry(queue, valid ? request : null);
  const place = tried.error ? placeOf(tried.error) : null;
  const atTags = place && isOf(place, 'worker.tags') ? { ...place, field: 'tags' } : null;

  return (
    <>
      <div class="head">
        <h1>Strategies</h1>
        <div class="actions">
          <CopyButton text={commandOf(queue, strategy, policy, byTags ? '' : worker, byTags ? tags : '')} label="allot strategy try …" />
          <CopyButton
            text={location.origin + location.pathname + queryText({ q: queue === 'default' ? null : queue, ...all })}
            label="link to this"
          />
        </div>
      </div>
      <section class="card" aria-label="strategy">
        <Presets onPick={setStrategy} />
        <div class="playground">
          <StrategyField
            label="strategy"
            name="strategy"
            value={strategy}
            onInput={setStrategy}
            lines={4}
            filter
            checked={checkedStrategy}
            help="Type one, or begin with one of those above. Empty: priority, as workers that name none."
          />
          <div class="form">
            <WorkerChoice queue={queue} value={worker} onChange={setWorker} />
            {byTags && (
              <TextField
                wide
                mono
                label="its tags, separated by spaces"
                name="tags"
                error={atTags}
                value={tags}
                onInput={setTags}
                placeholder="render gpu"
                help="Empty: one without tags, which may run only jobs without."
              />
            )}
            <StrategyField
              label="below this policy, instead of the queue’s own"
              name="policy"
              kind="policy"
              value={policy}
              onInput={setPolicy}
              lines={1}
              checked={checkedPolicy}
              help="Empty: the queue’s own. The word worker stands for the strategy."
            />
          </div>
        </div>
      </section>
      <section class="card" aria-label="next picks">
        <div class="picks-head">
          <h2>What would come next</h2>
          <button
            type="button"
            class={`small ${tried.stale && valid ? 'primary' : ''}`}
            disabled={!valid || tried.busy}
            onClick={tried.again}>
            {tried.busy ? 'Looking…' : 'Look again'}
          </button>
          {tried.stale && tried.answer && (
            <span class="warn" role="status">
              {!valid
                ? 'Below is what the last good text gave.'
                : tried.busy
                  ? ''
                  : `Looking takes ${format.duration(tried.answer.took_ms)} here, so it is done when asked for.`}
            </span>
          )}
        </div>
        {tried.error && !atTags && <ErrorState error={tried.error} />}
        {!tried.answer && !tried.error && (tried.busy || valid ? <Loading /> : <Empty>Nothing to show yet.</Empty>)}
        {tried.answer && <Answer answer={tried.answer} stale={tried.stale} />}
      </section>
    </>
  );
}

function commandOf(queue: string, strategy: string, policy: string, worker: string, tags: string): string {
  const parts = [`allot strategy try ${format.shellWord(strategy.trim() || 'priority')}`, `-n ${kCount}`];
  if (policy.trim()) parts.push(`--policy ${format.shellWord(policy.trim())}`);
  if (worker) parts.push(`--worker ${format.shellWord(worker)}`);
  for (const tag of tags.split(/[\s,]+/).filter(Boolean)) parts.push(`--tag ${format.shellWord(tag)}`);
  if (queue !== 'default') parts.push(`-q ${format.shellWord(queue)}`);
  return parts.join(' ');
}

function Presets({ onPick }: { onPick: (text: string) => void }) {
  const named = useGet<Strategies>('/v1/strategies');
  return (
    <div class="presets" role="group" aria-label="strategies to begin with">
      {named.data?.strategies.map((one) => (
        <button key={`n ${one.name}`} type="button" class="small" title={one.strategy} onClick={() => onPick(one.strategy)}>
          <b>{one.name}</b>
        </button>
      ))}
      {kExamples.map((text) => (
        <button key={text} type="button" class="small" title={text} onClick={() => onPick(text)}>
          {text}
        </button>
      ))}
    </div>
  );
}

function WorkerChoice({ queue, value, onChange }: { queue: string; value: string; onChange: (worker: string) => void }) {
  const page = useGet<WorkersPage>(apiPath(queue, 'workers') + queryText({ limit: kWorkersOffered }));
  const workers = page.data?.workers ?? [];
  const listed = value === '' || value === 'tags' || workers.some((worker) => worker.id === value);
  return (
    <div class="form-field form-wide">
      <label class="field">
        <span>for a worker</span>
        <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">that may run every job</option>
          <option value="tags">with these tags…</option>
          {!listed && <option value={value}>{value}</option>}
          {workers.length > 0 && (
            <optgroup label="registered">
              {workers.map((worker) => (
                <option key={worker.id} value={worker.id}>
                  {worker.name ? `${worker.name} (${worker.id})` : worker.id}
                </option>
              ))}
            </optgroup>
          )}
        </select>
      </label>
      {page.data?.next && <p class="dim form-help">The first {kWorkersOffered} are offered; of any other one its own page leads here.</p>}
    </div>
  );
}

interface Tried {
  answer: StrategyTry | null;
  error: ApiError | null;
  busy: boolean;
  // What is shown is not of what is typed.
  stale: boolean;
  again: () => void;
}

// What the server would hand out for `request` (null: it is not a good one now). One at a time: what is typed meanwhile is
// asked for afterwards. Where looking is slow it waits for again().
function useTry(queue: string, request: string | null): Tried {
  const [state, setState] = useState<{ of: string; answer: StrategyTry | null; error: ApiError | null }>({
    of: '',
    answer: null,
    error: null,
  });
  const [busy, setBusy] = useState(false);
  const [round, setRound] = useState(0);
  const asked = useRef('');
  const lastRound = useRef(0);
  const settled = useSettled(request, 250);
  useEffect(() => {
    const byHand = round !== lastRound.current;
    if (busy || settled === null || settled !== request) return;
    if (!byHand && (asked.current === settled || (state.answer && state.answer.took_ms > kQuick))) return;
    lastRound.current = round;
    asked.current = settled;
    setBusy(true);
    post<StrategyTry>(apiPath(queue, 'strategy', 'try'), JSON.parse(settled))
      .then(
        (answer) => setState({ of: settled, answer, error: null }),
        (error: ApiError) => setState((before) => ({ of: settled, answer: before.of === settled ? before.answer : null, error })),
      )
      .finally(() => setBusy(false));
  }, [settled, request, busy, round]);
  return {
    answer: state.answer,
    error: state.of === request ? state.error : null,
    busy,
    stale: state.of !== request,
    again: () => setRound((n) => n + 1),
  };
}

function Answer({ answer, stale }: { answer: StrategyTry; stale: boolean }) {
  const [open, setOpen] = useState(false);
  const byUser = new Map<string, number>();
  for (const pick of answer.picks) byUser.set(pick.user, (byUser.get(pick.user) ?? 0) + 1);
  const users = [...byUser].sort((a, b) => b[1] - a[1]);
  return (
    <div class={stale ? 'stale' : ''}>
      {answer.paused && <div class="banner banner-warning">The queue is paused: as long as it is, nothing is handed out.</div>}
      {answer.draining && <div class="banner banner-warning">The worker is draining: it gets nothing any more.</div>}
      {!answer.complete && (
        <div class="banner banner-warning">There was more than could be looked at: the newest jobs are missing from this.</div>
      )}
      {answer.blocked && answer.blocked.jobs > 0 && (
        <div class="banner banner-info">
          Limits block {format.plural(answer.blocked.tasks, 'task')} of {format.plural(answer.blocked.jobs, 'job')} now
          {answer.blocked.job && (
            <>
              , as of <JobLink id={answer.blocked.job} />
            </>
          )}
          : they are left out.
        </div>
      )}
      <p class="dim">
        <code>{answer.strategy}</code> below <code>{answer.policy}</code>. It may run {format.plural(answer.may_run, 'job')} of{' '}
        {format.count(answer.jobs_looked_at)} looked at, with {format.plural(answer.queued_tasks, 'queued task')}; that took{' '}
        {answer.took_ms < 1 ? 'less than 1ms' : format.duration(answer.took_ms)}.
      </p>
      {answer.picks.length === 0 ? (
        <Empty>
          {answer.may_run === 0
            ? answer.limited
              ? 'Limits block all that such a worker may run.'
              : 'Nothing waits that such a worker may run.'
            : 'Policy and strategy give nothing out now, though tasks wait.'}
        </Empty>
      ) : (
        <>
          <div class="picks-head">
            <span class="by-user">
              {users.slice(0, 12).map(([user, n]) => (
                <span key={user}>
                  {user === '' ? <span class="dim">(no user)</span> : <User user={user} link />} <b class="num">{n}</b>
                </span>
              ))}
              {users.length > 12 && <span class="dim">and {format.plural(users.length - 12, 'other user')}</span>}
            </span>
            <label class="check">
              <input type="checkbox" checked={open} onChange={(event) => setOpen(event.currentTarget.checked)} /> why, of all
            </label>
          </div>
          <Picks picks={answer.picks} open={open} />
          {answer.picks.length < kCount && (
            <p class="dim">
              {answer.limited
                ? 'After these, limits let nothing more start for now.'
                : answer.queued_tasks > answer.picks.length
                  ? `Policy and strategy give no more than ${answer.picks.length === 1 ? 'this one' : `these ${answer.picks.length}`} now, though further tasks wait.`
                  : 'These are all.'}
            </p>
          )}
        </>
      )}
    </div>
  );
}

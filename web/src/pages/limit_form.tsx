// SPDX-License-Identifier: Apache-2.0
// Making a limit, or changing one: all of its terms, with a look at what it would apply to as one types.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, apiPath, post, put } from '../api';
import { toast, toastError } from '../components/feedback';
import { isOf, TextField, useSettled } from '../components/fields';
import { User, WorkerLink } from '../components/text';
import { durationText, parseDuration } from '../durations';
import * as format from '../format';
import { placeOf } from '../places';
import type { Place } from '../places';
import { href, navigate } from '../router';
import type { Limit, LimitAnswer, LimitSpec, LimitTry } from '../types';

const kMostTokens = 1e12;
const kFields = ['tag', 'name', 'expr', 'cost', 'count', 'window_ms', 'burst', 'max_burst_cost', 'expires_in_ms', 'uuid'];

// A whole number of tokens; null for anything else.
function tokensOf(text: string): number | null {
  const bare = text.trim().replace(/,/g, '');
  return /^\d{1,13}$/.test(bare) && Number(bare) <= kMostTokens ? Number(bare) : null;
}

// What `cost` is in a request: nothing, a number, or an expression.
function costOf(text: string): string | number | null {
  const bare = text.trim();
  if (bare === '') return null;
  return /^-?\d+(\.\d+)?$/.test(bare) ? Number(bare) : bare;
}

export function LimitForm({ queue, limit, onClose }: { queue: string; limit?: Limit; onClose: () => void }) {
  // What it was when the form was opened; what goes on meanwhile does not change what is typed.
  const was = useRef(limit).current;
  const [uuid, setUuid] = useState('');
  const [name, setName] = useState(was?.name ?? '');
  const [tag, setTag] = useState(was?.tag ?? 'dashboard');
  const [expr, setExpr] = useState(was?.expr ?? '');
  const [cost, setCost] = useState(was?.cost === null || was === undefined ? '' : String(was.cost));
  const [count, setCount] = useState(was ? String(was.count) : '');
  const [window, setWindow] = useState(was ? durationText(was.window_ms) : '60s');
  const [burst, setBurst] = useState(was ? String(was.burst) : '0');
  const [cap, setCap] = useState(was ? String(was.max_burst_cost) : '0');
  const [monitor, setMonitor] = useState(was?.monitor ?? false);
  const [lease, setLease] = useState(was ? durationText(Math.ceil(was.expires_in_ms / 1000) * 1000) : '5m');
  const [error, setError] = useState<Place | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => setError(null), [uuid, name, tag, expr, cost, count, window, burst, cap, monitor, lease]);

  const tried = useTry(queue, expr, cost);
  const place = error ?? tried.place;
  const countOf = tokensOf(count);
  const burstOf = tokensOf(burst);
  const capOf = tokensOf(cap);
  const windowMs = parseDuration(window);
  const leaseMs = parseDuration(lease);
  const complete =
    expr.trim() !== '' && tag.trim() !== '' && countOf !== null && burstOf !== null && capOf !== null && !!windowMs && !!leaseMs;
  const wrongTokens = (text: string, value: number | null) => text !== '' && value === null && 'A whole number of tokens.';
  const wrongTime = (text: string, value: number | null) => text !== '' && !value && 'A time such as 60s, 5m or 1h30m.';

  const save = async (event: Event) => {
    event.preventDefault();
    if (!complete || busy) return;
    const spec: LimitSpec = {
      tag: tag.trim(),
      name: name.trim(),
      expr: expr.trim(),
      cost: costOf(cost),
      count: countOf,
      window_ms: windowMs,
      burst: burstOf,
      max_burst_cost: capOf,
      monitor,
      expires_in_ms: leaseMs,
    };
    setBusy(true);
    try {
      const under = was?.uuid ?? uuid.trim();
      const answer = under
        ? await put<LimitAnswer>(apiPath(queue, 'limits', under), spec)
        : await post<LimitAnswer>(apiPath(queue, 'limits'), spec);
      toast(
        `${was || answer.created === false ? 'Changed' : 'In force'} for ${format.duration(answer.expires_in_ms)}: ${spec.name || answer.uuid}`,
        { hint: answer.capped ? 'Its lease was cut to the longest that the queue allows.' : '' },
      );
      onClose();
      if (!was) navigate(href('limit', queue, answer.uuid));
    } catch (failure) {
      const found = placeOf(failure);
      if (found && kFields.some((field) => isOf(found, field))) setError(found);
      else toastError(failure);
    } finally {
      setBusy(false);
    }
  };

  return (
    <form class="form" onSubmit={save}>
      <TextField
        wide
        mono
        autoFocus={!was}
        required
        lines={2}
        max={16384}
        label="applies to starts for which this is true"
        name="expr"
        error={place}
        value={expr}
        onInput={setExpr}
        placeholder={'MY.User == "ann"'}
        help={
          <>
            MY is the job, TARGET the worker. <code>MY.User == "ann"</code>, <code>member("render", MY.Tags)</code>,{' '}
            <code>TARGET.site == "b"</code>
          </>
        }
      />
      <TextField
        wide
        mono
        label="cost of a start"
        name="cost"
        error={place}
        value={cost}
        onInput={setCost}
        placeholder="1"
        help="A number or an expression; empty: 1 token."
      />
      <Preview tried={tried} />
      <TextField
        required
        numeric
        label="count"
        name="count"
        error={error}
        value={count}
        onInput={setCount}
        placeholder="10"
        wrong={wrongTokens(count, countOf)}
        help="Tokens per window; 0 stops all."
      />
      <TextField
        required
        label="window"
        name="window_ms"
        error={error}
        value={window}
        onInput={setWindow}
        wrong={wrongTime(window, windowMs)}
        help={countOf && windowMs ? `Refills by ${format.rate((countOf * 1000) / windowMs)}.` : 'As in 60s.'}
      />
      <TextField
        numeric
        label="burst"
        name="burst"
        error={error}
        value={burst}
        onInput={setBurst}
        wrong={wrongTokens(burst, burstOf)}
        help="How far below 0 it may go."
      />
      <TextField
        numeric
        label="a start takes at most"
        name="max_burst_cost"
        error={error}
        value={cap}
        onInput={setCap}
        wrong={wrongTokens(cap, capOf)}
        help="0: whatever it costs."
      />
      <TextField
        required
        label="lease"
        name="expires_in_ms"
        error={error}
        value={lease}
        onInput={setLease}
        wrong={wrongTime(lease, leaseMs)}
        help="It ends by itself after this, unless it is renewed."
      />
      <TextField
        label="name"
        name="name"
        error={error}
        max={128}
        value={name}
        onInput={setName}
        placeholder="ann, slowly"
        help="For people."
      />
      <TextField required mono label="tag" name="tag" error={error} max={128} value={tag} onInput={setTag} help="To find it by." />
      {!was && (
        <TextField
          mono
          label="uuid"
          name="uuid"
          error={error}
          max={64}
          value={uuid}
          onInput={setUuid}
          help="Empty: one is made. One that is there is changed."
        />
      )}
      <label class="form-check">
        <input type="checkbox" checked={monitor} onChange={(event) => setMonitor(event.currentTarget.checked)} /> monitor: count, and hold
        nothing back
      </label>
      {was && <p class="dim form-help">The bucket keeps its level, and the counters go on: nothing is refilled by a change.</p>}
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          {was ? 'Keep as it is' : 'Cancel'}
        </button>
        <button type="submit" class="primary" disabled={!complete || busy}>
          {was ? 'Change' : 'Set'}
        </button>
      </div>
    </form>
  );
}

interface Tried {
  // Of what is typed now, not of what was before.
  fresh: boolean;
  answer: LimitTry | null;
  place: Place | null;
  error: ApiError | null;
}

// What such a limit would apply to: asked for a moment after the last key, one request at a time; when the server has no
// place for another, again a little later.
function useTry(queue: string, expr: string, cost: string): Tried {
  const typed = JSON.stringify([expr.trim(), cost.trim()]);
  const settled = useSettled(typed, 500);
  const [state, setState] = useState<Tried & { of: string }>({ of: '', fresh: false, answer: null, place: null, error: null });
  useEffect(() => {
    const [wanted, price] = JSON.parse(settled) as [string, string];
    if (!wanted) return;
    let current = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = () => {
      post<LimitTry>(apiPath(queue, 'limits', 'try'), { expr: wanted, cost: costOf(price) }).then(
        (answer) => current && setState({ of: settled, fresh: true, answer, place: null, error: null }),
        (error: ApiError) => {
          if (!current) return;
          if (error.code === 'unavailable') timer = setTimeout(ask, 1500);
          else {
            const place = placeOf(error);
            setState({ of: settled, fresh: true, answer: null, place, error: place ? null : error });
          }
        },
      );
    };
    ask();
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [settled, queue]);
  if (!expr.trim()) return { fresh: true, answer: null, place: null, error: null };
  const fresh = state.of === typed;
  return { ...state, fresh, place: fresh ? state.place : null };
}

function Preview({ tried: { fresh, answer, error } }: { tried: Tried }) {
  if (error) return <p class="form-wide warn">What it would apply to is not known: {error.message}.</p>;
  if (!answer) return null;
  const { users, workers } = answer;
  const costs =
    answer.least_cost === answer.most_cost
      ? format.real(answer.least_cost)
      : `${format.real(answer.least_cost)} to ${format.real(answer.most_cost)}`;
  return (
    <div class={`form-wide preview ${fresh ? '' : 'stale'}`} role="status">
      {answer.jobs === 0 ? (
        <p>Now it would apply to nothing that waits ({format.plural(answer.jobs_looked_at, 'job')} looked at).</p>
      ) : (
        <>
          <p>
            Now it would apply to <b>{format.plural(answer.jobs, 'job')}</b>, <b>{format.plural(answer.tasks, 'task')}</b>, of{' '}
            {users.slice(0, 5).map((one, i) => (
              <span key={one.user}>
                {i > 0 && ', '}
                {one.user === '' ? <span class="dim">(no user)</span> : <User user={one.user} link />}{' '}
                <span class="dim num">({format.short(one.tasks)})</span>
              </span>
            ))}
            {users.length > 5 && <span class="dim"> and {users.length >= 100 ? 'others' : format.plural(users.length - 5, 'other')}</span>},
            at a cost of {costs} each.
          </p>
          <p class="dim">
            {answer.job_only ? (
              'It reads nothing of workers, and so holds on all of them.'
            ) : answer.worker_count === 0 ? (
              'It reads what workers are, and applies on none that is registered.'
            ) : (
              <>
                It reads what workers are, and applies on {format.plural(answer.worker_count, 'worker')}:{' '}
                {workers.slice(0, 4).map((one, i) => (
                  <span key={one.worker}>
                    {i > 0 && ', '}
                    <WorkerLink id={one.worker} name={one.name} />
                  </span>
                ))}
                {answer.worker_count > 4 && ' …'}
              </>
            )}
          </p>
        </>
      )}
      {answer.cost_failed && <p class="warn">The cost of some starts cannot be evaluated: they count as 1.</p>}
      {!answer.complete && <p class="warn">Looking took too long: these are the ones that were seen, there may be more.</p>}
    </div>
  );
}

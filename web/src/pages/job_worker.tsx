// SPDX-License-Identifier: Apache-2.0
// A job and one worker: every condition, and what each side thinks of the other.
import { useState } from 'preact/hooks';
import { apiPath, queryText } from '../api';
import { ErrorState, Loading } from '../components/feedback';
import { WorkerLink } from '../components/text';
import { ReasonLine } from '../components/why';
import * as format from '../format';
import { useGet } from '../live';
import { setQuery } from '../router';
import type { WorkerExplanation } from '../types';

export function JobAndWorker({ queue, id, worker }: { queue: string; id: string; worker: string }) {
  const [text, setText] = useState(worker);
  const valid = /^\d*$/.test(text.trim());
  return (
    <details class="more-below" open={worker !== ''}>
      <summary>With one worker, condition by condition</summary>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          if (valid) setQuery({ worker: text.trim() });
        }}>
        <label class="field">
          <span>id of a worker</span>
          <input
            type="text"
            inputMode="numeric"
            spellcheck={false}
            value={text}
            aria-invalid={!valid}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={!valid}>
          Ask
        </button>
      </form>
      {worker && <Answer queue={queue} id={id} worker={worker} />}
    </details>
  );
}

function Answer({ queue, id, worker }: { queue: string; id: string; worker: string }) {
  const { data, error, reload } = useGet<WorkerExplanation>(apiPath(queue, 'jobs', id, 'explain') + queryText({ worker }));
  if (error && !data) return <ErrorState error={error} />;
  if (!data) return <Loading />;
  const rank = (of: { expression: string | null; value: number }) =>
    of.expression === null ? 'none' : `${format.real(of.value)}, by ${of.expression}`;
  return (
    <>
      <ReasonLine reason={data.verdict} strong />
      <ul class="conditions">
        {data.conditions.map((one, i) => (
          <li key={i}>
            <span class={one.holds ? 'good' : 'bad'}>
              <span aria-hidden="true">{one.holds ? '✓' : '✗'}</span>
              <span class="visually-hidden">{one.holds ? 'holds: ' : 'fails: '}</span>
            </span>{' '}
            <span>{one.message || one.condition}</span>
          </li>
        ))}
      </ul>
      <p class="quiet">
        <WorkerLink id={data.worker} name={data.name} />: the job ranks it {rank(data.job_rank)}; it ranks the job {rank(data.worker_rank)}.{' '}
        <button type="button" class="small" onClick={reload}>
          Ask again
        </button>
      </p>
    </>
  );
}

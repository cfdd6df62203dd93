// SPDX-License-Identifier: Apache-2.0
// Bars: how the tasks of a job stand, and plain shares. Order and pattern tell states apart as well as colour does.
import * as format from '../format';
import type { TaskState } from '../types';

// The order in which states stand in every bar, picture and legend: ended, running, to come.
export const kStates: TaskState[] = ['done', 'failed', 'skipped', 'running', 'retrying', 'queued'];

export type Counts = Record<TaskState, number> & { count: number };

export function ProgressBar({ job, label }: { job: Counts; label?: string }) {
  const ended = job.done + job.failed + job.skipped;
  const text = kStates
    .filter((state) => job[state] > 0)
    .map((state) => `${format.count(job[state])} ${state}`)
    .join(', ');
  const share = job.count ? ended / job.count : 1;
  return (
    <div
      class="progress"
      role="progressbar"
      aria-label={label ?? 'progress'}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(share * 100)}
      aria-valuetext={text || 'no tasks'}
      title={text}>
      {kStates.map(
        (state) => job[state] > 0 && <i key={state} class={`fill fill-${state}`} style={{ flexGrow: job[state] / (job.count || 1) }} />,
      )}
    </div>
  );
}

// A share of a whole, 0 … 1, with a mark where it should be (`target`), if given.
export function ShareBar({ value, target, label, tone = 'running' }: { value: number; target?: number; label: string; tone?: string }) {
  const at = (part: number) => `${Math.max(0, Math.min(1, part)) * 100}%`;
  return (
    <div
      class="share"
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={1}
      aria-valuenow={value}
      aria-valuetext={format.percent(value)}
      title={`${label}: ${format.percent(value)}`}>
      {value > 0 && <i class={`fill fill-${tone}`} style={{ width: at(value) }} />}
      {target !== undefined && <i class="target" style={{ left: at(target) }} />}
    </div>
  );
}

export function Legend({ counts }: { counts: Counts }) {
  return (
    <ul class="legend">
      {kStates.map((state) => (
        <li key={state} class={counts[state] === 0 ? 'none' : ''}>
          <i class={`swatch fill-${state}`} aria-hidden="true" />
          {state} <b class="num">{format.count(counts[state])}</b>
        </li>
      ))}
    </ul>
  );
}

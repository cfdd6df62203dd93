// SPDX-License-Identifier: Apache-2.0
// What can be done to jobs: to one, to several, to all that a filter finds.
import { apiPath, post } from './api';
import { confirm, toast } from './components/feedback';
import * as format from './format';
import type { BulkAnswer, Job, JobsFilter } from './types';

export type Action = 'pause' | 'resume' | 'cancel' | 'retry';

export const kActions: Record<Action, { name: string; done: string; danger?: boolean; text: string }> = {
  pause: { name: 'Pause', done: 'Paused', text: 'They start nothing new; what runs goes on.' },
  resume: { name: 'Resume', done: 'Resumed', text: 'What waits may start again.' },
  cancel: { name: 'Cancel', done: 'Cancelled', danger: true, text: 'What waits is skipped, and workers are told to stop what runs.' },
  retry: { name: 'Retry', done: 'Retried', text: 'Failed and skipped tasks of ended jobs run again, with fresh attempts.' },
};

export function ended(job: Pick<Job, 'state'>): boolean {
  return job.state === 'done' || job.state === 'failed' || job.state === 'cancelled';
}

// Whether the action means anything to a job as it is.
export function applies(action: Action, job: Job): boolean {
  switch (action) {
    case 'pause':
      return !ended(job) && !job.paused;
    case 'resume':
      return !ended(job) && job.paused;
    case 'cancel':
      return !ended(job);
    case 'retry':
      return ended(job) && job.failed + job.skipped > 0;
  }
}

export async function actOnJob(action: Action, job: Job): Promise<void> {
  if (action === 'cancel') {
    const left = job.queued + job.running + job.retrying;
    const sure = await confirm({
      title: `Cancel job ${job.id} (${format.plural(left, 'task')})?`,
      text: 'What waits is skipped, and workers are told to stop what runs.',
      yes: 'Cancel the job',
      danger: true,
    });
    if (!sure) return;
  }
  const answer = await post<{ retried?: number }>(apiPath(job.queue, 'jobs', job.id, action));
  toast(
    action === 'retry'
      ? `Retried: ${format.plural(answer.retried ?? 0, 'task')} of job ${job.id}`
      : `${kActions[action].done}: job ${job.id}`,
  );
}

// One after the other in four lanes; tells how many it was done to.
export async function actOnSelected(action: Action, queue: string, jobs: Job[]): Promise<void> {
  const fit = jobs.filter((job) => applies(action, job));
  const { name, done, danger, text } = kActions[action];
  if (!fit.length) {
    toast(`None of the selected jobs can be ${done.toLowerCase()} as they are`, { failed: true });
    return;
  }
  const tasks = fit.reduce(
    (sum, job) => sum + (action === 'retry' ? job.failed + job.skipped : job.queued + job.running + job.retrying),
    0,
  );
  const sure = await confirm({
    title: `${name} ${format.plural(fit.length, 'job')} (${format.plural(tasks, 'task')})?`,
    text,
    yes: `${name} ${format.plural(fit.length, 'job')}`,
    danger,
  });
  if (!sure) return;
  let next = 0;
  let changed = 0;
  let failure: unknown = null;
  const lane = async () => {
    while (next < fit.length) {
      const job = fit[next++]!;
      try {
        await post(apiPath(queue, 'jobs', job.id, action));
        changed++;
      } catch (error) {
        failure = error;
      }
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
  if (changed) toast(`${done}: ${format.plural(changed, 'job')}`);
  if (failure) throw failure;
}

// The server stops after 30 s: it is asked again until it is through, `most` times in all. What was done stays done
// where a later round fails.
export async function inRounds(
  most: number,
  act: () => Promise<BulkAnswer>,
): Promise<{ changed: number; complete: boolean; failure?: unknown }> {
  let changed = 0;
  for (let round = 0; round < most; round++) {
    try {
      const answer = await act();
      changed += answer.changed;
      if (answer.complete) return { changed, complete: true };
    } catch (failure) {
      return { changed, complete: false, failure };
    }
  }
  return { changed, complete: false };
}

// What was retried and failed again is found again: rounds without end could retry it over and over.
const kRounds: Record<Action, number> = { pause: 20, resume: 20, cancel: 20, retry: 2 };

// First counted, then asked, then done to exactly those that were counted: none that came meanwhile.
export async function actOnFilter(action: Action, queue: string, filter: JobsFilter, words: string): Promise<void> {
  const path = apiPath(queue, 'jobs', action);
  const found = await post<BulkAnswer>(path, { ...filter, dry_run: true });
  const { name, done, danger, text } = kActions[action];
  if (found.matching === 0) {
    toast(`No jobs ${words}`);
    return;
  }
  const jobs = format.plural(found.matching, 'job');
  const sure = await confirm({
    // What is retried has ended, and is not in the count of tasks.
    title: `${name} ${found.complete ? '' : 'at least '}${jobs}${action === 'retry' ? '' : ` (${format.plural(found.tasks, 'task')})`}?`,
    text: `These are all jobs ${words}, as of now; what is submitted meanwhile is left alone, and those for which it has no meaning are passed over. ${text}${action === 'retry' ? ' If it takes more than 30 s it goes on once more: what has failed again by then is retried again.' : ''}`,
    yes: `${name} ${jobs}`,
    danger,
  });
  if (!sure) return;
  const { dry_run: _, ...exact } = { ...filter, ...(found.up_to ? { up_to: found.up_to } : {}) };
  const { changed, complete, failure } = await inRounds(kRounds[action], () => post<BulkAnswer>(path, exact));
  if (complete) toast(`${done}: ${format.plural(changed, 'job')}`);
  else if (!failure || changed)
    toast(`${done}: ${format.plural(changed, 'job')}, and that is not all of them`, { failed: true, hint: `${name} again for the rest.` });
  if (failure) throw failure;
}

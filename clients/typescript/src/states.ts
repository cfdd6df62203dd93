// SPDX-License-Identifier: Apache-2.0
// The words for states of jobs and tasks, in one place.

export type JobState = 'scheduled' | 'active' | 'paused' | 'done' | 'failed' | 'cancelled';
export type TaskState = 'queued' | 'running' | 'retrying' | 'done' | 'failed' | 'skipped';

// States in which a task stays.
export const DONE = 'done' satisfies TaskState;
export const FAILED = 'failed' satisfies TaskState;
export const SKIPPED = 'skipped' satisfies TaskState;

export const JOB_FAILED = 'failed' satisfies JobState;
export const JOB_CANCELLED = 'cancelled' satisfies JobState;

export function jobEnded(state: JobState): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled';
}

// SPDX-License-Identifier: Apache-2.0
// How fast a job goes, and how long it still takes: estimated from what live views told of it.

interface Sample {
  at_ms: number;
  ended: number;
}

const kWindow = 30_000;
const kLeastSpan = 2_000;

export interface Progress {
  count: number;
  done: number;
  failed: number;
  skipped: number;
  started_at_ms: number | null;
  ended_at_ms: number | null;
}

// Remembers how many tasks of a job had ended when, for the last half minute.
export class RateMeter {
  private samples: Sample[] = [];

  add(at_ms: number, ended: number): void {
    const last = this.samples[this.samples.length - 1];
    // A retry makes less of it: what was before says nothing then.
    if (last && ended < last.ended) this.samples = [];
    if (last && at_ms <= last.at_ms) return;
    this.samples.push({ at_ms, ended });
    while (this.samples.length > 2 && this.samples[1]!.at_ms <= at_ms - kWindow) this.samples.shift();
  }

  // Tasks a second; null while too little was seen. `now_ms` counts as a sample without change: silence is slowness.
  rate(now_ms: number): number | null {
    const first = this.samples[0];
    const last = this.samples[this.samples.length - 1];
    if (!first || !last || this.samples.length < 2) return null;
    const span = Math.max(last.at_ms, now_ms) - first.at_ms;
    if (span < kLeastSpan) return null;
    return ((last.ended - first.ended) * 1000) / span;
  }
}

// From live changes where there are any, else over all of the job's time; null: nothing to tell.
export function estimateRate(job: Progress, meter: RateMeter | undefined, now_ms: number): number | null {
  const ended = job.done + job.failed;
  if (job.ended_at_ms !== null) {
    if (job.started_at_ms === null || ended === 0) return null;
    return (ended * 1000) / Math.max(1, job.ended_at_ms - job.started_at_ms);
  }
  const live = meter?.rate(now_ms);
  if (live !== null && live !== undefined && live > 0) return live;
  if (job.started_at_ms === null || ended === 0) return null;
  const span = now_ms - job.started_at_ms;
  return span < 1000 ? null : (ended * 1000) / span;
}

export function remainingMs(job: Progress, perSecond: number | null): number | null {
  if (job.ended_at_ms !== null || !perSecond || perSecond <= 0) return null;
  const left = job.count - job.done - job.failed - job.skipped;
  return left <= 0 ? null : (left / perSecond) * 1000;
}

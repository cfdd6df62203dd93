// SPDX-License-Identifier: Apache-2.0
// A task that runs: what its function sees of it.

import { Cancelled } from '../base/errors.js';
import type { JobHeaders, Progress } from '../features.js';
import type { Context } from '../task.js';
import type { Assignment, JobHeader } from '../wire.js';

// Everything that few functions look at is made when they do.
export class Running implements Context {
  private controller: AbortController | undefined;
  private cancelled: Cancelled | undefined;
  // Reported already, though its function goes on: it did not stop in time.
  abandoned = false;
  graceTimer: ReturnType<typeof setTimeout> | undefined;
  readonly beganAt = performance.now();

  constructor(
    readonly assignment: Assignment,
    private readonly headers: JobHeaders,
    private readonly report: (assignment: Assignment, progress: Progress) => void,
  ) {}

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.cancelled) this.controller.abort(this.cancelled);
    }
    return this.controller.signal;
  }
  get stopping(): boolean {
    return this.cancelled !== undefined;
  }
  stop(reason: string): void {
    this.cancelled ??= new Cancelled(reason);
    this.controller?.abort(this.cancelled);
  }

  get job(): string {
    return this.assignment.job;
  }
  get index(): number {
    return this.assignment.index;
  }
  get attempt(): number {
    return this.assignment.attempt;
  }
  get count(): number {
    return this.assignment.count;
  }
  get trace(): string | undefined {
    return this.assignment.trace;
  }
  get payloadPrefix(): string | undefined {
    return this.assignment.payload_prefix;
  }
  get jobPayload(): unknown {
    return this.assignment.job_payload;
  }
  get progress(): Context['progress'] {
    return (done, options = {}) => this.report(this.assignment, { done, ...options });
  }
  get header(): () => Promise<JobHeader> {
    return async () => this.headers.of(this.job);
  }
}

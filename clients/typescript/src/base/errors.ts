// SPDX-License-Identifier: Apache-2.0
// What can go wrong, as classes: one for each code of the protocol, and those of jobs and tasks.

import type { ErrorBody } from '../wire.js';

// All errors of this package, but those of wrong arguments (TypeError, RangeError) and of an AbortSignal (its reason).
export class AllotError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

// The server said no. `code` is stable, `message` and `hint` are for people.
export class Refused extends AllotError {
  readonly code: string;
  readonly hint: string;
  readonly status: number;
  constructor(body: ErrorBody, status = 0) {
    super(body.hint ? `${body.message} (${body.hint})` : body.message);
    this.code = body.code;
    this.hint = body.hint ?? '';
    this.status = status;
  }
}

// No server there, or it cannot take this now: trying again later may help.
export class Unavailable extends AllotError {
  readonly code: string;
  constructor(message: string, code = 'unavailable', options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

// The server is too old for it: it does not name the feature.
export class Unsupported extends AllotError {
  constructor(readonly feature: string) {
    super(`this server has no \`${feature}\`: it needs a newer version`);
  }
}

export class BadRequest extends Refused {}
export class BadJson extends Refused {}
export class UnknownField extends Refused {}
export class BadValue extends Refused {}
export class TooLarge extends Refused {}
export class UnsupportedMedia extends Refused {}
export class Unauthorized extends Refused {}
export class Forbidden extends Refused {}
export class ForeignOrigin extends Refused {}
export class NotFound extends Refused {}
export class MethodNotAllowed extends Refused {}
export class UnknownQueue extends Refused {}
export class UnknownJob extends Refused {}
export class UnknownTask extends Refused {}
export class UnknownWorker extends Refused {}
export class UnknownLimit extends Refused {}
export class UnknownReceipt extends Refused {}
export class Stale extends Refused {}
export class IdempotencyConflict extends Refused {}
export class JobEnded extends Refused {}
export class JobActive extends Refused {}
export class QueueExists extends Refused {}
export class QueueNotEmpty extends Refused {}
// At a bound: of queues, jobs, workers, classes, waits, strategies, limits, or of memory. `code` says which.
export class TooMany extends Refused {}
// The queue's file cannot be used, or a payload or result in it is damaged. `code` says how.
export class StoreFailed extends Refused {}
export class Internal extends Refused {}

const CLASSES: Record<string, typeof Refused> = {
  bad_request: BadRequest,
  bad_json: BadJson,
  unknown_field: UnknownField,
  bad_value: BadValue,
  too_large: TooLarge,
  unsupported_media: UnsupportedMedia,
  unauthorized: Unauthorized,
  forbidden: Forbidden,
  foreign_origin: ForeignOrigin,
  not_found: NotFound,
  method_not_allowed: MethodNotAllowed,
  unknown_queue: UnknownQueue,
  unknown_job: UnknownJob,
  unknown_task: UnknownTask,
  unknown_worker: UnknownWorker,
  unknown_limit: UnknownLimit,
  unknown_receipt: UnknownReceipt,
  stale: Stale,
  idempotency_conflict: IdempotencyConflict,
  job_ended: JobEnded,
  job_active: JobActive,
  queue_exists: QueueExists,
  queue_not_empty: QueueNotEmpty,
  too_many_queues: TooMany,
  too_many_jobs: TooMany,
  too_many_workers: TooMany,
  too_many_classes: TooMany,
  too_many_waits: TooMany,
  too_many_strategies: TooMany,
  too_many_limits: TooMany,
  memory_full: TooMany,
  store_locked: StoreFailed,
  store_foreign: StoreFailed,
  store_newer: StoreFailed,
  store_corrupt: StoreFailed,
  store_failed: StoreFailed,
  internal: Internal,
};
const LATER = new Set(['stopping', 'unavailable', 'timed_out', 'disk_full']);

// The error that the server told. Codes of newer servers are `Refused`, or `Unavailable` where the status says so.
export function errorFrom(body: ErrorBody, status = 0): Refused | Unavailable {
  if (LATER.has(body.code) || (CLASSES[body.code] === undefined && status === 503)) {
    return new Unavailable(body.hint ? `${body.message} (${body.hint})` : body.message, body.code);
  }
  return new (CLASSES[body.code] ?? Refused)(body, status);
}

// Whether the same request may succeed in a moment. A full disk takes longer than that.
export function worthRetrying(error: unknown): boolean {
  return error instanceof Unavailable && error.code !== 'disk_full';
}

// A task that failed for good, or was skipped because its job had ended. `error` is what its worker said.
export class TaskFailed extends AllotError {
  constructor(
    readonly job: string,
    readonly index: number,
    readonly error: string,
  ) {
    super(`task ${index} of job ${job} failed: ${error}`);
  }
}

// The job has failed. `firstError` is that of its first failed task, as far as that is known.
export class JobFailed extends AllotError {
  constructor(
    readonly job: string,
    readonly reason: string,
    readonly firstError: TaskFailed | null,
    readonly done: number,
  ) {
    super(`job ${job} failed: ${reason || 'a task failed'}` + (firstError ? `; ${firstError.message}` : ''), { cause: firstError });
  }
}

export class JobCancelled extends AllotError {
  constructor(
    readonly job: string,
    readonly done: number,
  ) {
    super(`job ${job} was cancelled`);
  }
}

// ---- What a task's function throws to say more than that it failed.

// No further attempt will help.
export class GiveUp extends AllotError {}

// Try again, not before `afterMs` if that is given. A server without the feature goes by the job's backoff.
export class Retry extends AllotError {
  readonly afterMs: number | undefined;
  constructor(options: { afterMs?: number; message?: string } = {}) {
    super(options.message ?? 'to be tried again');
    this.afterMs = options.afterMs;
  }
}

// Gives the task back as if it had not started: it is queued again, and the attempt does not count.
export class Release extends AllotError {}

// The reason of a task's `signal`: its job was cancelled or failed, its time is over, or its lease is lost.
export class Cancelled extends AllotError {
  constructor(readonly reason: string) {
    super(`the task was stopped: ${reason}`);
  }
}

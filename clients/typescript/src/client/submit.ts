// SPDX-License-Identifier: Apache-2.0
// Submitting: what a job may be told, and streams of tasks that can be sent again.

import { platform } from '#platform';
import { asyncPayloads, payloads } from '../chunks.js';
import type { ChunkOptions } from '../chunks.js';
import { Unavailable, worthRetrying } from '../base/errors.js';
import type { Http } from '../base/http.js';
import { SourceError } from '../base/http.js';
import { parse, stringify } from '../base/json.js';
import { pauseBefore, sleep } from '../base/signals.js';
import type { Task } from '../task.js';
import type { Job, JobSpec, JobsPage, MetaValue, Submitted } from '../wire.js';

export interface SubmitOptions extends ChunkOptions {
  // Beside the task's name, which is always one of them.
  tags?: readonly string[];
  meta?: Record<string, MetaValue>;
  // Higher first.
  priority?: number | null;
  user?: string;
  // Whether a person waits for it.
  interactive?: boolean;
  // Which workers may run it, and which of several waiting ones should: expressions, or their text.
  requirements?: { toString(): string } | null;
  rank?: { toString(): string } | number | null;
  constraints?: JobSpec['constraints'];
  delayMs?: number;
  scheduledAt?: Date;
  maxAttempts?: number;
  backoff?: { firstMs?: number; factor?: number; maxMs?: number; jitter?: number };
  // How long an attempt may go without a sign of life of its worker, and how long it may take at all.
  leaseMs?: number;
  timeoutMs?: number;
  // More failed tasks than this fail the job: a number, or a percentage such as '5%'.
  maxFailedTasks?: number | string;
  retentionMs?: number;
  payloadPrefix?: string;
  // A new one, unless given: so that a submit may be repeated.
  idempotencyKey?: string;
  trace?: string;
  signal?: AbortSignal;
}

export function specOf(task: { name: string }, options: SubmitOptions): JobSpec {
  const { backoff } = options;
  const spec: JobSpec = {
    tags: [...new Set([task.name, ...(options.tags ?? [])])],
    idempotency_key: options.idempotencyKey ?? newKey(),
  };
  if (options.meta !== undefined) spec.meta = options.meta;
  if (options.priority !== undefined) spec.priority = options.priority;
  if (options.user !== undefined) spec.user = options.user;
  if (options.interactive !== undefined) spec.async = !options.interactive;
  if (options.requirements !== undefined) spec.requirements = options.requirements === null ? null : String(options.requirements);
  if (options.rank !== undefined)
    spec.rank = options.rank === null || typeof options.rank === 'number' ? options.rank : String(options.rank);
  if (options.constraints !== undefined) spec.constraints = options.constraints;
  if (options.delayMs !== undefined) spec.delay_ms = options.delayMs;
  if (options.scheduledAt !== undefined) spec.scheduled_at_ms = options.scheduledAt.getTime();
  if (options.maxAttempts !== undefined) spec.max_attempts = options.maxAttempts;
  if (backoff !== undefined) {
    spec.backoff = {};
    if (backoff.firstMs !== undefined) spec.backoff.first_ms = backoff.firstMs;
    if (backoff.factor !== undefined) spec.backoff.factor = backoff.factor;
    if (backoff.maxMs !== undefined) spec.backoff.max_ms = backoff.maxMs;
    if (backoff.jitter !== undefined) spec.backoff.jitter = backoff.jitter;
  }
  if (options.leaseMs !== undefined) spec.lease_ms = options.leaseMs;
  if (options.timeoutMs !== undefined) spec.timeout_ms = options.timeoutMs;
  if (options.maxFailedTasks !== undefined) spec.max_failed_tasks = options.maxFailedTasks;
  if (options.retentionMs !== undefined) spec.retention_ms = options.retentionMs;
  if (options.payloadPrefix !== undefined) spec.payload_prefix = options.payloadPrefix;
  if (options.trace !== undefined) spec.trace = options.trace;
  return spec;
}

export function newKey(): string {
  return platform.randomKey();
}

// What was made of items that can be iterated over only once is kept up to this size, to be sent again after a lost
// connection.
const KEPT_BYTES = 8 << 20;
const PART_BYTES = 64 << 10;

// The parts of a body, made one after the other as they are asked for. Those of a broken attempt go again.
class Parts {
  private readonly encoder = new TextEncoder();
  private kept: Uint8Array[] = [];
  private dropped = 0; // of those before the kept ones
  private bytes = 0;
  private making: Promise<void> | undefined;
  private ended = false;
  private error: SourceError | undefined;
  private attempt = 0;
  private none = true; // no line so far

  // `text` is the first line, `empty` the one of a body that has no others.
  constructor(
    private readonly lines: Iterator<string> | AsyncIterator<string>,
    private text: string,
    private readonly empty: string,
  ) {}

  // Whether there is still all of it.
  get whole(): boolean {
    return this.dropped === 0 && this.error === undefined;
  }
  get complete(): boolean {
    return this.ended;
  }
  get failure(): SourceError | undefined {
    return this.error;
  }

  // Ends the body of the attempt before.
  begin(): number {
    return ++this.attempt;
  }

  private async at(position: number): Promise<Uint8Array | undefined> {
    if (position < this.dropped) throw new Unavailable('what was there is not kept');
    while (position >= this.dropped + this.kept.length && !this.ended && !this.error) {
      // A broken attempt may still be at it.
      this.making ??= this.make().finally(() => (this.making = undefined));
      await this.making;
    }
    if (this.error) throw this.error;
    return this.kept[position - this.dropped];
  }

  private async make(): Promise<void> {
    try {
      while (!this.ended && (this.none || this.text.length < PART_BYTES)) {
        const step = this.lines.next();
        const next = step instanceof Promise ? await step : (step as IteratorResult<string>);
        if (!next.done) {
          this.none = false;
          this.text += next.value + '\n';
          continue;
        }
        this.ended = true;
        if (this.none) this.text = this.empty;
      }
    } catch (error) {
      this.error = new SourceError('the items of the submit raised', { cause: error });
      return;
    }
    if (this.text === '') return;
    const part = this.encoder.encode(this.text);
    this.text = '';
    this.bytes += part.length;
    if (this.bytes > KEPT_BYTES) {
      this.dropped += this.kept.length;
      this.kept = [];
    }
    this.kept.push(part);
  }

  // A body from the beginning; whatever came before it is over. (Node goes on reading a body after its connection broke.)
  stream(): ReadableStream<Uint8Array> {
    const attempt = this.begin();
    let position = 0;
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        try {
          if (attempt !== this.attempt) throw new Unavailable('another attempt has begun');
          const part = await this.at(position++);
          if (part) controller.enqueue(part);
          else controller.close();
        } catch (error) {
          controller.error(error);
        }
      },
    });
  }

  // All of it in memory, for where a body cannot be a stream.
  async all(): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let part = await this.at(0); part; part = await this.at(parts.length)) parts.push(part);
    const all = new Uint8Array(parts.reduce((bytes, part) => bytes + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  // Tells the iterator that no more is wanted.
  // Not waited for: it may never come back from what it waits for.
  abandon(): void {
    if (this.ended || this.error) return;
    const end = async () => this.lines.return?.();
    end().catch(() => {});
  }
}

// Such as can be iterated over again need not be kept.
function repeatable(items: unknown): boolean {
  return Array.isArray(items) || items instanceof Set || items instanceof Map || ArrayBuffer.isView(items);
}

// Submits a job with a task for each item, or for each chunk of them. It exists once the last one is stored; items that
// raise leave nothing behind.
export async function submitItems<I>(
  http: Http,
  task: Task<I, unknown>,
  items: Iterable<I> | AsyncIterable<I>,
  options: SubmitOptions,
): Promise<Submitted> {
  if (typeof items === 'string') throw new TypeError('items are a list of payloads, and not a string: [text] is a list of one');
  const spec = specOf(task, options);
  const begin = () =>
    new Parts(
      Symbol.asyncIterator in items ? asyncPayloads(task, items, options.chunk) : payloads(task, items, options.chunk),
      stringify(spec)! + '\n',
      // The server takes a body without tasks for a mistake unless it is said.
      stringify({ ...spec, count: 0 })! + '\n',
    );
  let parts = begin();
  const { signal } = options;
  const began = Date.now();
  let brokenAt: number | undefined;
  try {
    for (let attempt = 0; ; attempt++) {
      try {
        const whole = platform.streams ? undefined : await parts.all();
        const answer = await http.once('POST', http.inQueue('/jobs'), { lines: () => whole ?? parts.stream(), signal });
        return parse(await answer.text(), http.connection.integers) as Submitted;
      } catch (error) {
        parts.begin();
        if (parts.failure) throw parts.failure.cause;
        if (signal?.aborted || !worthRetrying(error)) throw error;
        // A stream of hours has its second attempt, too.
        brokenAt ??= Date.now();
        const pause = pauseBefore(attempt, 50, 2_000);
        if (Date.now() + pause > brokenAt + http.connection.retryForMs) throw error;
        if (parts.whole || repeatable(items)) {
          await sleep(pause, signal);
          if (!parts.whole) parts = begin();
          continue;
        }
        const found = parts.complete ? await findByKey(http, spec, began, signal) : undefined;
        if (found) return { job: found, existing: true, matching_workers: 0 };
        const message = `${(error as Error).message}; nothing was submitted, and the items cannot be iterated over again`;
        throw new Unavailable(message, 'unavailable', { cause: error });
      }
    }
  } finally {
    parts.abandon();
  }
}

// Whether the job is there although its answer was lost: among those submitted since. Clocks may differ by a minute.
async function findByKey(http: Http, spec: JobSpec, since: number, signal: AbortSignal | undefined): Promise<Job | undefined> {
  let before: string | null = null;
  for (let page = 0; page < 20; page++) {
    const answer: JobsPage = await http.get(http.inQueue('/jobs'), {
      query: { before, limit: 1_000, tag: spec.tags?.[0], user: spec.user || undefined },
      signal,
    });
    const found = answer.jobs.find((job) => job.idempotency_key === spec.idempotency_key);
    if (found) return found;
    const last = answer.jobs.at(-1);
    if (answer.next === null || (last && last.submitted_at_ms < since - 60_000)) return undefined;
    before = answer.next;
  }
  return undefined;
}

// SPDX-License-Identifier: Apache-2.0
// A worker: takes tasks of a queue, runs their functions, reports.

import { platform } from '#platform';
import { AllotError, Refused } from '../base/errors.js';
import { Http } from '../base/http.js';
import { resolve } from '../base/options.js';
import type { Connection, ConnectionOptions } from '../base/options.js';
import { JobHeaders } from '../features.js';
import type { Progress } from '../features.js';
import type { Handler, Task } from '../task.js';
import { ThreadPool } from '../threads/pool.js';
import type { Assignment, CancelOrder, Hello, JobHeader, MetaValue, WorkerTraits } from '../wire.js';
import { execute } from './execute.js';
import { Running } from './running.js';
import { Session } from './session.js';
import type { SessionEvents } from './session.js';
import type { TaskOutcome } from './session.js';

export type WorkerEvent =
  | { type: 'connected'; worker: string }
  | { type: 'disconnected'; error: Error; againInMs: number }
  // A task's outcome that the server did not take: its lease was over, most likely.
  | { type: 'refused'; job: string; index: number; error: Refused }
  | { type: 'progress'; job: string; index: number; done: number; of?: number; message?: string }
  | { type: 'finished'; job: string; index: number; outcome: 'done' | 'failed' | 'released'; error?: string; ms: number }
  | { type: 'draining' };

export interface WorkerOptions extends ConnectionOptions {
  // How many tasks run at a time: 10, or as many as there are CPUs where all tasks run in threads.
  concurrency?: number;
  // How many threads tasks of threadTask() have: as many as there are CPUs, and no more than `concurrency`.
  threads?: number;
  // How much memory a thread has for objects; a task that needs more fails, and its thread has a successor.
  threadMemoryMb?: number;
  // How many tasks it holds beyond those that run. `auto`: some while they are short (under 0.2 s), none otherwise.
  prefetch?: number | 'auto';
  // Host name and process id, unless given.
  name?: string;
  // Beside the tasks' own names.
  tags?: readonly string[];
  properties?: Record<string, string>;
  attributes?: Record<string, MetaValue>;
  // Which jobs it takes, and which first: expressions over jobs, or their text.
  requirements?: { toString(): string } | null;
  rank?: { toString(): string } | number | null;
  // Which tasks first: a strategy, its text, or the name of one.
  strategy?: unknown;
  // How long a task's function may go on once it was told to stop: 5 s.
  graceMs?: number;
  // Ends it when there was nothing to do for so long.
  idleExitMs?: number;
  // Whether SIGTERM and SIGINT drain it, and a second one ends the process with 130: true, unless said.
  handleSignals?: boolean;
  // Told of what happens. Unless given, lost connections and refused reports go to the console.
  onEvent?: (event: WorkerEvent) => void;
}

type AnyTask = Task<unknown, unknown>;

// Tasks of different types in one list.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type TaskList = readonly Task<any, any>[];

const SHORT_MS = 200;
// How much work `auto` holds ready.
const AHEAD_MS = 100;
const MOST_AHEAD = 1_000;

export class Worker {
  private readonly connection: Connection;
  private readonly tasks: ReadonlyMap<string, AnyTask>;
  private readonly handlers = new Map<AnyTask, Handler<unknown, unknown>>();
  private readonly only: AnyTask | undefined;
  private readonly concurrency: number;
  private readonly session: Session;
  private readonly headers: JobHeaders;
  private readonly pool: ThreadPool | undefined;
  private readonly graceMs: number;

  private queue: Assignment[] = []; // those from `first` on wait
  private first = 0;
  private readonly running = new Map<string, Running>(); // by lease
  private slots = 0; // taken, also by what was abandoned
  private meanMs = 0;
  private finished = 0;
  private draining = false;
  private idleTimer: ReturnType<typeof setTimeout> | undefined;
  private end: ((error: Error | null) => void) | undefined;

  constructor(
    tasks: TaskList,
    private readonly options: WorkerOptions = {},
  ) {
    if (tasks.length === 0) throw new TypeError('a worker needs a task');
    this.connection = resolve(options);
    this.tasks = new Map(tasks.map((task) => [task.name, task as AnyTask]));
    if (this.tasks.size !== tasks.length) throw new TypeError('two tasks of a worker have the same name');
    this.only = tasks.length === 1 ? (tasks[0] as AnyTask) : undefined;
    this.graceMs = options.graceMs ?? 5_000;
    const threaded = tasks.filter((task) => task.module !== undefined).length;
    this.concurrency = options.concurrency ?? (threaded === tasks.length ? (options.threads ?? platform.cpus()) : 10);
    if (!(Number.isInteger(this.concurrency) && this.concurrency >= 1 && this.concurrency <= 5_000)) {
      throw new RangeError(`concurrency is a whole number from 1 to 5000, not ${this.concurrency}`);
    }
    if (threaded > 0) {
      const size = Math.min(options.threads ?? platform.cpus(), this.concurrency);
      this.pool = new ThreadPool(size, this.graceMs, options.threadMemoryMb ?? 0);
    }
    for (const task of this.tasks.values()) {
      const handler = task.module ? this.pool!.handler(task.module) : task.handler;
      if (!handler) throw new TypeError(`the task ${task.name} has no function`);
      this.handlers.set(task, handler);
    }
    const http = new Http(this.connection);
    this.headers = new JobHeaders(http);
    const events: SessionEvents = {
      tasks: (assigned) => this.take(assigned),
      cancel: (order) => this.cancel(order),
      headers: (headers) => this.headers.learn(headers),
      drain: () => this.drain(),
      refused: ({ job, index }, error) => this.tell({ type: 'refused', job, index, error }),
      changed: () => {},
      connected: (worker) => this.tell({ type: 'connected', worker }),
      disconnected: (error, againInMs) => this.tell({ type: 'disconnected', error, againInMs }),
      stopped: (error) => this.end?.(error),
    };
    // With one task it is always that one.
    const headers = this.only === undefined;
    this.session = new Session(this.connection, this.hello(), this.concurrency + this.ahead(), this.lenient(), events, headers);
  }

  private hello(): Hello {
    const { options } = this;
    const hello: Hello = {
      name: options.name ?? platform.workerName(),
      tags: [...new Set([...this.tasks.keys(), ...(options.tags ?? [])])],
      slots: this.concurrency,
    };
    if (options.properties !== undefined) hello.properties = options.properties;
    if (options.attributes !== undefined) hello.attributes = options.attributes;
    if (options.requirements != null) hello.requirements = String(options.requirements);
    if (options.rank != null) hello.rank = typeof options.rank === 'number' ? options.rank : String(options.rank);
    if (options.strategy != null) hello.strategy = options.strategy;
    return hello;
  }

  // Runs until it is drained: by the signal, drain(), SIGTERM, SIGINT, or the server. Rejects where trying again cannot
  // help: no right, no such queue.
  async run({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    if (this.end) throw new TypeError('a worker runs once');
    const undo =
      this.options.handleSignals === false
        ? () => {}
        : platform.onStop(
            () => this.drain(),
            () => this.kill(),
          );
    const drain = () => this.drain();
    try {
      await new Promise<void>((resolve, reject) => {
        this.end = (error) => (error ? reject(error) : resolve());
        this.session.start();
        this.rest();
        if (signal?.aborted) drain();
        signal?.addEventListener('abort', drain, { once: true });
      });
    } finally {
      signal?.removeEventListener('abort', drain);
      clearTimeout(this.idleTimer);
      for (const running of this.running.values()) running.stop('lost');
      await this.pool?.close();
      undo();
    }
  }

  // Takes no more, gives back what has not begun, finishes what runs, and ends.
  drain(): void {
    if (this.draining) return;
    this.draining = true;
    this.tell({ type: 'draining' });
    for (const assignment of this.queue.slice(this.first)) this.session.finish(assignment, { kind: 'released' });
    this.queue = [];
    this.first = 0;
    this.session.drain();
  }

  // Ends the process; what runs is queued again.
  private kill(): void {
    const exit = () => platform.exit(130);
    this.end = exit;
    setTimeout(exit, 1_000);
    for (const running of [...this.running.values()]) {
      running.stop('stopped');
      this.session.finish(running.assignment, { kind: 'released' });
    }
  }

  // Changes what it is, from now on.
  set(traits: WorkerTraits): void {
    this.session.set(traits);
  }

  // Its id at the server, once it has one.
  get id(): string | undefined {
    return this.session.id;
  }
  get connected(): boolean {
    return this.session.connected;
  }
  get runningTasks(): number {
    return this.slots;
  }

  // ---- Tasks.

  private take(assigned: Assignment[]): void {
    clearTimeout(this.idleTimer);
    for (const assignment of assigned) this.queue.push(assignment);
    this.next();
  }

  private next(): void {
    while (this.slots < this.concurrency && this.first < this.queue.length) {
      const assignment = this.queue[this.first++]!;
      if (this.first > 1_000 && this.first * 2 > this.queue.length) {
        this.queue = this.queue.slice(this.first);
        this.first = 0;
      }
      this.slots++;
      this.begin(assignment);
    }
    if (this.first === this.queue.length) {
      this.queue = [];
      this.first = 0;
    }
    if (this.slots === 0) this.rest();
  }

  private begin(assignment: Assignment): void {
    const running = new Running(assignment, this.headers, (of, progress) => this.progress(of, progress));
    this.running.set(assignment.lease, running);
    const outcome = this.outcome(running);
    if (outcome instanceof Promise) void outcome.then((result) => this.finish(running, result));
    // Not at once: a thousand short ones would stand inside one another.
    else queueMicrotask(() => this.finish(running, outcome));
  }

  private outcome(running: Running): TaskOutcome | Promise<TaskOutcome> {
    const { assignment } = running;
    if (this.only) return execute(this.only, this.handlers.get(this.only)!, assignment.payload, running);
    const header = this.headers.of(assignment.job);
    if (!(header instanceof Promise)) return this.dispatch(running, header);
    return header.then(
      (known) => this.dispatch(running, known),
      (error: unknown) => this.unknown(error),
    );
  }

  // Which function is meant is said by the job's tags.
  private dispatch(running: Running, header: JobHeader): TaskOutcome | Promise<TaskOutcome> {
    if (running.stopping) return { kind: 'released' };
    const meant = header.tags.map((tag) => this.tasks.get(tag)).filter((task) => task !== undefined);
    const [task] = meant;
    if (!task || meant.length > 1) {
      const what = task ? 'more than one function' : 'no function';
      return { kind: 'failed', error: `this worker has ${what} for a job with the tags ${JSON.stringify(header.tags)}` };
    }
    return execute(task, this.handlers.get(task)!, running.assignment.payload, running);
  }

  private unknown(error: unknown): TaskOutcome {
    if (error instanceof Refused && (error.code === 'forbidden' || error.code === 'unauthorized')) {
      const why = 'a worker of several tasks has to read what a job is: its token needs the scope `read`, too';
      const { end } = this;
      this.session.abandon();
      end?.(Object.assign(new AllotError(`${why} (${error.message})`), { cause: error }));
    }
    return { kind: 'released' };
  }

  private finish(running: Running, outcome: TaskOutcome): void {
    const { assignment } = running;
    clearTimeout(running.graceTimer);
    this.running.delete(assignment.lease);
    this.slots--;
    if (!running.abandoned) this.session.finish(assignment, outcome);
    const ms = performance.now() - running.beganAt;
    this.meanMs = this.finished++ === 0 ? ms : this.meanMs + (ms - this.meanMs) * (this.finished < 20 ? 0.2 : 0.02);
    this.session.setCapacity(this.concurrency + this.ahead(), this.lenient());
    if (this.options.onEvent) {
      const error = outcome.kind === 'failed' ? { error: outcome.error } : {};
      this.tell({ type: 'finished', job: assignment.job, index: assignment.index, outcome: outcome.kind, ...error, ms });
    }
    this.next();
  }

  private cancel(order: CancelOrder): void {
    const running = this.running.get(order.lease);
    if (!running) {
      const at = this.queue.findIndex((waiting, i) => i >= this.first && waiting.lease === order.lease);
      if (at < 0) return;
      this.queue.splice(at, 1);
      this.session.finish(order, { kind: 'released' });
      return;
    }
    running.stop(order.reason);
    running.graceTimer ??= setTimeout(() => {
      // The server need not wait for it; its slot does.
      running.abandoned = true;
      this.session.finish(order, { kind: 'failed', error: `it did not stop within ${this.graceMs} ms (${order.reason})` });
    }, this.graceMs);
  }

  private progress(assignment: Assignment, progress: Progress): void {
    this.session.tell(assignment, progress);
    if (this.options.onEvent) this.tell({ type: 'progress', job: assignment.job, index: assignment.index, ...progress });
  }

  // ---- How much to hold, and how it goes.

  private lenient(): boolean {
    return this.finished >= 3 && this.meanMs < SHORT_MS;
  }

  private ahead(): number {
    const { prefetch = 'auto' } = this.options;
    if (prefetch !== 'auto') return prefetch;
    if (!this.lenient()) return 0;
    const tasks = (this.concurrency * AHEAD_MS) / Math.max(this.meanMs, 0.01);
    // In steps, so that it does not change with every task.
    return Math.min(2 ** Math.floor(Math.log2(Math.max(tasks, 1))), MOST_AHEAD);
  }

  private rest(): void {
    if (this.options.idleExitMs === undefined || this.draining) return;
    clearTimeout(this.idleTimer);
    this.idleTimer = setTimeout(() => this.drain(), this.options.idleExitMs);
  }

  private tell(event: WorkerEvent): void {
    if (this.options.onEvent) return this.options.onEvent(event);
    if (event.type === 'disconnected') console.warn(`allotter: ${event.error.message}; again in ${Math.round(event.againInMs)} ms`);
    if (event.type === 'refused' && event.job !== '')
      console.warn(`allotter: task ${event.index} of job ${event.job}: ${event.error.message}`);
  }
}

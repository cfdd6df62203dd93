// SPDX-License-Identifier: Apache-2.0
// A worker's conversation with the server: introduces itself, keeps up to `capacity` tasks in hand, reports what is
// finished (reports and the next pull travel in one message), shows signs of life, and comes back after a lost connection
// with what it still holds, for as long as it takes. Reports are kept until the server says that they are durable, and
// sent again after a reconnect; the server knows a repeated one by its lease. Runs nothing itself.

import { platform } from '#platform';
import { errorFrom, Refused, Unavailable } from '../base/errors.js';
import { parse, reviveBytes, stringify } from '../base/json.js';
import type { Connection } from '../base/options.js';
import { pauseBefore } from '../base/signals.js';
import { JOB_HEADERS, progressField, retryField } from '../features.js';
import type { Progress } from '../features.js';
import type { Assignment, CancelOrder, Hello, JobHeader, ServerMessage, TaskRef, Welcome, WorkerTraits } from '../wire.js';
import { openLink } from './link.js';
import type { Link, Outgoing } from './link.js';

export type TaskOutcome =
  | { kind: 'done'; result: string | undefined }
  | { kind: 'failed'; error: string; final?: boolean; afterMs?: number | undefined }
  | { kind: 'released' };

export interface SessionEvents {
  // New tasks. Each must be finished by finish(), now or later.
  tasks(tasks: Assignment[]): void;
  // Stop this one. Then finish() it all the same, unless the reason is `lost`.
  cancel(order: CancelOrder): void;
  headers(headers: JobHeader[]): void;
  // The server wants it gone; drain() has been called.
  drain(): void;
  // A report that was not taken: the lease was not its own any more, or the server refused it.
  refused(task: TaskRef, error: Refused): void;
  changed(traits: WorkerTraits): void;
  connected(worker: string): void;
  disconnected(error: Error, againInMs: number): void;
  // The end: after drain(), or with an error that trying again cannot mend. Nothing follows.
  stopped(error: Error | null): void;
}

interface Report {
  task: TaskRef;
  outcome: TaskOutcome;
}
interface Sent {
  seq: number;
  reports: Report[];
}

// Well below the protocol's bounds, so that a full message still leaves soon.
const REPORTS_PER_MESSAGE = 2_000;
const BYTES_PER_MESSAGE = 4 << 20;
const MAX_CREDIT = 10_000;
const SHORTEST_BEAT_MS = 200;
const DEFAULT_HEARTBEAT_MS = 15_000;
const GOOD_BYE_MS = 500;
const PROGRESS_EVERY_MS = 250;

const ALWAYS_PERMANENT = new Set(['unauthorized', 'forbidden', 'unknown_queue']);
// At first only: later it is the server that is another one.
const PERMANENT_AT_FIRST = new Set([
  'foreign_origin',
  'bad_request',
  'bad_json',
  'bad_value',
  'unknown_field',
  'not_found',
  'method_not_allowed',
]);
// Not because of what was said.
const PASSING = new Set(['stopping', 'unavailable', 'timed_out', 'unknown_worker']);

export class Session {
  private link: Link | undefined;
  private up = false;
  private welcomed = false;
  private stopped = false;
  private draining = false;
  private attempts = 0;
  private identity: { worker: string; key: string } | undefined;
  private features: ReadonlySet<string> = new Set();

  private credit = 0; // of the last pull, not used up as far as known
  private readonly held = new Map<string, TaskRef>(); // by lease
  private pending: Report[] = []; // finished, not sent
  private readonly alone: Report[] = []; // to be sent one by one
  private readonly unacknowledged: Sent[] = []; // in order of seq
  private lastSeq = 0;
  private suspicious = false;
  private readonly progress = new Map<string, Progress>(); // not sent; by lease
  private progressTimer: ReturnType<typeof setTimeout> | undefined;
  private headersDue = false; // to be asked for, with the next message
  private change: WorkerTraits | undefined; // wanted, not sent
  private sentChange: { seq: number; traits: WorkerTraits } | undefined;
  private flushAsked = false;
  private ending: (() => void) | undefined; // good-bye is said

  private heartbeatMs = DEFAULT_HEARTBEAT_MS;
  private shortestLeaseMs = Infinity;
  private beatTimer: ReturnType<typeof setTimeout> | undefined;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private armedMs = 0;
  private silenceMs = 0;
  private heard = false;
  private spoke = false;

  constructor(
    private readonly connection: Connection,
    private readonly self: Hello,
    private capacity: number,
    // Whether it may hold more than that where a pull crosses an assignment on its way.
    private lenient: boolean,
    private readonly events: SessionEvents,
    // Whether it has to know what jobs are.
    private readonly wantsHeaders = false,
  ) {}

  get connected(): boolean {
    return this.up;
  }
  get inHand(): number {
    return this.held.size;
  }
  get id(): string | undefined {
    return this.identity?.worker;
  }

  start(): void {
    this.connect();
  }

  // Reports a task. Leases that are not there (lost meanwhile) are ignored.
  finish(task: TaskRef, outcome: TaskOutcome): void {
    if (!this.held.delete(task.lease)) return;
    this.progress.delete(task.lease);
    this.pending.push({ task, outcome });
    this.flushSoon();
  }

  tell(task: TaskRef, progress: Progress): void {
    if (!this.held.has(task.lease)) return;
    this.progress.set(task.lease, progress);
    this.progressTimer ??= setTimeout(() => {
      this.progressTimer = undefined;
      if (this.up && !this.stopped) this.sendProgress();
    }, PROGRESS_EVERY_MS);
  }

  setCapacity(capacity: number, lenient: boolean): void {
    this.lenient = lenient;
    if (capacity === this.capacity) return;
    this.capacity = capacity;
    this.flushSoon();
  }

  // Changes what it is, from now on and after every reconnect.
  set(traits: WorkerTraits): void {
    this.change = { ...this.change, ...traits };
    this.flushSoon();
  }

  // Takes no more tasks; once the last one in hand is finished and acknowledged, says good-bye: stopped().
  drain(): void {
    if (this.draining) return;
    this.draining = true;
    this.flushSoon();
  }

  // Drops the connection at once, without a word. No stopped().
  abandon(): void {
    this.stopped = true;
    this.disconnect();
    clearTimeout(this.retryTimer);
    clearTimeout(this.progressTimer);
  }

  // ---- Connecting.

  private connect(): void {
    const link: Link = openLink(this.connection, {
      opened: () => this.link === link && this.sayHello(),
      message: (text) => this.link === link && this.handle(text),
      alive: () => (this.heard = true),
      closed: (error) => this.link === link && this.lost(error),
    });
    this.link = link;
    // No welcome in time is as good as no connection.
    this.arm(this.connection.timeoutMs);
  }

  private disconnect(): void {
    // What was not acknowledged is said again, before what was wanted since.
    if (this.sentChange) this.change = { ...this.sentChange.traits, ...this.change };
    this.sentChange = undefined;
    this.up = false;
    this.credit = 0;
    clearTimeout(this.beatTimer);
    const { link } = this;
    this.link = undefined;
    link?.close();
  }

  private lost(error: Refused | Unavailable): void {
    const wasUp = this.up;
    this.disconnect();
    if (this.stopped) return this.ending?.();
    const permanent = ALWAYS_PERMANENT.has(error.code) || (PERMANENT_AT_FIRST.has(error.code) && !this.welcomed);
    if (!wasUp && permanent) return this.stop(error);
    if (error.code === 'unknown_worker') {
      // What it holds is not its own.
      this.identity = undefined;
      this.loseAllBut(new Set());
    }
    if (this.draining && this.idle()) return this.stop(null);
    // The first attempt after a loss comes soon, but not from all workers of a fallen server at once.
    const pause = wasUp ? 100 * Math.random() : pauseBefore(this.attempts);
    this.attempts++;
    this.events.disconnected(error, pause);
    this.retryTimer = setTimeout(() => this.stopped || this.connect(), pause);
  }

  private loseAllBut(kept: ReadonlySet<string>): void {
    const lost = [...this.held.values()].filter((task) => !kept.has(task.lease));
    for (const { lease } of lost) this.held.delete(lease);
    for (const { job, index, lease } of lost) this.events.cancel({ job, index, lease, reason: 'lost' });
  }

  private sayHello(): void {
    const hello: Hello = { ...this.self };
    if (this.identity) {
      // Reports that were not acknowledged are still to be taken: their leases go on too.
      const reports = [...this.unacknowledged.flatMap((sent) => sent.reports), ...this.pending, ...this.alone];
      const tasks = [...this.held.values(), ...reports.map((report) => report.task)];
      Object.assign(hello, this.identity, { resume: tasks.map(({ job, index, lease }) => ({ job, index, lease })) });
    }
    this.link!.hello(stringify(hello)!);
  }

  private welcome(welcome: Welcome): void {
    this.loseAllBut(new Set(welcome.resumed.map((task) => task.lease)));
    this.identity = { worker: welcome.worker, key: welcome.key };
    this.features = new Set(welcome.features ?? []);
    this.headersDue = this.wantsHeaders && this.features.has(JOB_HEADERS);
    this.heartbeatMs = welcome.heartbeat_ms > 0 ? welcome.heartbeat_ms : DEFAULT_HEARTBEAT_MS;
    // What was sent on the old connection and not acknowledged goes out again, in its order.
    const again = this.unacknowledged.splice(0).flatMap((sent) => sent.reports);
    if (this.suspicious) this.alone.unshift(...again);
    else this.pending = [...again, ...this.pending];
    this.suspicious = false;
    this.up = true;
    this.welcomed = true;
    this.attempts = 0;
    this.silenceMs = 0;
    this.arm(this.beatMs());
    this.events.connected(welcome.worker);
  }

  // ---- Signs of life.

  // Often enough for the connection, and for the shortest lease seen.
  private beatMs(): number {
    return Math.max(Math.min(this.heartbeatMs / 2, this.shortestLeaseMs / 3), SHORTEST_BEAT_MS);
  }

  private arm(ms: number): void {
    this.armedMs = ms;
    clearTimeout(this.beatTimer);
    this.beatTimer = setTimeout(() => this.beat(), ms);
  }

  private beat(): void {
    if (this.stopped || !this.link) return;
    if (!this.up) return this.lost(new Unavailable('the server did not answer in time'));
    this.silenceMs = this.heard ? 0 : this.silenceMs + this.armedMs;
    this.heard = false;
    if (this.silenceMs > 3 * this.heartbeatMs) return this.lost(new Unavailable('the server fell silent'));
    if (!this.spoke) {
      // Any message extends the leases; a ping is answered, and shows that the server is there.
      this.link.send({ fields: '' });
      this.link.ping();
    }
    this.spoke = false;
    this.arm(this.beatMs());
  }

  private sendProgress(): void {
    const entries: string[] = [];
    for (const [lease, progress] of this.progress) {
      const task = this.held.get(lease);
      const field = progressField(this.features, progress);
      if (task && field !== undefined) entries.push(`${refText(task)}${field}}`);
    }
    this.progress.clear();
    if (entries.length > 0) this.send({ fields: `"extend":[${entries.join(',')}]` });
  }

  // ---- What comes.

  private handle(text: string): void {
    this.heard = true;
    let message: ServerMessage;
    try {
      message = parse(text, this.connection.integers) as ServerMessage;
    } catch {
      return this.lost(new Unavailable('the server sent what is not JSON'));
    }
    if (message.tasks && text.includes('"$base64"')) reviveBytes(message.tasks);
    if (message.welcome) this.welcome(message.welcome);
    if (message.error) {
      const error = errorFrom(message.error);
      if (message.seq === undefined) {
        if (this.up && !PASSING.has(error.code)) this.suspect(error);
        return this.lost(this.up && error.code !== 'unknown_worker' ? new Unavailable(error.message) : error);
      }
      this.refuse(message.seq, error);
    }
    for (const entry of message.stale ?? []) {
      this.events.refused(entry, errorFrom({ code: entry.code, message: 'the lease was over' }) as Refused);
    }
    if (message.ack !== undefined) this.acknowledge(message.ack);
    if (message.jobs) this.events.headers(message.jobs);
    // A task may come together with the order to stop it.
    if (message.tasks && message.tasks.length > 0) this.take(message.tasks);
    for (const order of message.cancel ?? []) if (this.held.has(order.lease)) this.events.cancel(order);
    if (message.set) {
      Object.assign(this.self, message.set);
      this.events.changed(message.set);
    }
    if (message.drain && !this.draining) {
      this.draining = true;
      this.events.drain();
    }
    this.flushSoon();
  }

  private take(tasks: Assignment[]): void {
    this.credit = Math.max(0, this.credit - tasks.length);
    // What comes in excess is better off with another worker, unless it will not wait long here.
    const room = this.draining ? 0 : this.capacity * (this.lenient ? 2 : 1) - this.held.size;
    while (tasks.length > Math.max(0, room)) {
      const { job, index, lease } = tasks.pop()!;
      this.pending.push({ task: { job, index, lease }, outcome: { kind: 'released' } });
    }
    if (tasks.length === 0) return;
    for (const task of tasks) {
      this.held.set(task.lease, task);
      if (task.lease_ms > 0 && task.lease_ms < this.shortestLeaseMs) {
        this.shortestLeaseMs = task.lease_ms;
        if (this.beatMs() < this.armedMs) this.arm(this.beatMs());
      }
    }
    this.events.tasks(tasks);
  }

  private acknowledge(seq: number): void {
    if (this.sentChange && this.sentChange.seq <= seq) {
      Object.assign(this.self, this.sentChange.traits);
      this.sentChange = undefined;
    }
    // The server works a connection's messages off in order, and durable is durable: so are all before.
    while (this.unacknowledged.length > 0 && this.unacknowledged[0]!.seq <= seq) this.unacknowledged.shift();
  }

  // A message that changed nothing. One bad report must not take the others with it: they go again, each alone.
  private refuse(seq: number, error: Refused | Unavailable): void {
    if (this.sentChange?.seq === seq) {
      this.sentChange = undefined;
      this.events.refused({ job: '', index: 0, lease: '' }, error as Refused);
      return;
    }
    const at = this.unacknowledged.findIndex((sent) => sent.seq === seq);
    if (at < 0) return;
    const [{ reports }] = this.unacknowledged.splice(at, 1) as [Sent];
    const [first] = reports;
    if (reports.length > 1) this.alone.push(...reports);
    else if (first?.outcome.kind === 'done') this.alone.push({ task: first.task, outcome: rejected(error) });
    else if (first) this.events.refused(first.task, error as Refused);
  }

  // The server could not even read a message. If it was one of reports, it must not break every connection from now on:
  // the reports go again one at a time, and one that is refused alone is replaced by its failure.
  private suspect(error: Error): void {
    this.suspicious = true;
    const [sent] = this.unacknowledged;
    if (this.unacknowledged.length !== 1 || sent!.reports.length !== 1) return;
    const report = sent!.reports[0]!;
    if (report.outcome.kind === 'done') report.outcome = rejected(error);
  }

  // ---- What goes.

  private flushSoon(): void {
    if (this.flushAsked) return;
    this.flushAsked = true;
    platform.soon(() => {
      this.flushAsked = false;
      this.flush();
    });
  }

  private idle(): boolean {
    return this.held.size === 0 && this.pending.length === 0 && this.alone.length === 0 && this.unacknowledged.length === 0;
  }

  private send(message: Outgoing): void {
    this.spoke = true;
    if (this.headersDue) message.headers = true;
    this.headersDue = false;
    this.link!.send(message);
  }

  private flush(): void {
    if (this.stopped) return;
    if (!this.up) {
      // Nothing to tell to a server that is away.
      if (this.draining && this.idle()) this.stop(null);
      return;
    }
    // Alone, so that a refusal is about nothing else; and one at a time.
    if (this.change && !this.sentChange) {
      this.sentChange = { seq: ++this.lastSeq, traits: this.change };
      this.change = undefined;
      this.send({ seq: this.sentChange.seq, fields: `"set":${stringify(this.sentChange.traits)!}` });
    }
    for (;;) {
      const room = Math.max(0, this.capacity - this.held.size);
      const want = this.draining ? 0 : Math.min(room, MAX_CREDIT);
      let reports: Report[] = [];
      if (this.alone.length > 0) {
        if (this.unacknowledged.length > 0) return; // so that an error has one cause
        reports = [this.alone.shift()!];
      } else if (this.pending.length > 0) {
        reports = this.takePending();
      }
      if (reports.length === 0 && want === this.credit) break;
      const message: Outgoing = { fields: '' };
      if (reports.length > 0) {
        message.seq = ++this.lastSeq;
        message.fields = fieldsOf(reports, this.features);
        this.unacknowledged.push({ seq: message.seq, reports });
      }
      if (want !== this.credit) {
        message.fields += `${message.fields === '' ? '' : ','}"pull":${want}`;
        message.pull = this.credit = want;
      }
      this.send(message);
    }
    if (this.draining && this.idle()) {
      this.send({ fields: '', bye: true });
      // Over once the server closes, or soon.
      this.stop(null, GOOD_BYE_MS);
    }
  }

  private takePending(): Report[] {
    let bytes = 0;
    let n = 0;
    for (; n < this.pending.length && n < REPORTS_PER_MESSAGE && bytes < BYTES_PER_MESSAGE; n++) {
      const { outcome } = this.pending[n]!;
      bytes += 100 + (outcome.kind === 'done' ? (outcome.result?.length ?? 0) : 0);
    }
    if (n < this.pending.length) return this.pending.splice(0, n);
    const all = this.pending;
    this.pending = [];
    return all;
  }

  private stop(error: Error | null, lingerMs = 0): void {
    if (this.stopped) return;
    this.stopped = true;
    clearTimeout(this.beatTimer);
    clearTimeout(this.retryTimer);
    clearTimeout(this.progressTimer);
    const end = () => {
      clearTimeout(this.retryTimer);
      this.ending = undefined;
      this.disconnect();
      this.events.stopped(error);
    };
    if (lingerMs === 0) return queueMicrotask(end);
    this.ending = end;
    this.retryTimer = setTimeout(end, lingerMs);
  }
}

function rejected(error: Error): TaskOutcome {
  return { kind: 'failed', error: `the result was refused: ${error.message}`, final: true };
}

// A reference to a task as JSON text, but for the closing brace.
function refText({ job, index, lease }: TaskRef): string {
  return `{"job":${JSON.stringify(job)},"index":${index},"lease":${JSON.stringify(lease)}`;
}

function fieldsOf(reports: readonly Report[], features: ReadonlySet<string>): string {
  let done = '';
  let failed = '';
  let released = '';
  for (const { task, outcome } of reports) {
    const ref = refText(task);
    switch (outcome.kind) {
      case 'done':
        done += `${done && ','}${ref}${outcome.result === undefined ? '' : `,"result":${outcome.result}`}}`;
        break;
      case 'failed': {
        const last = outcome.final ? ',"final":true' : retryField(features, outcome.afterMs);
        failed += `${failed && ','}${ref},"error":${JSON.stringify(outcome.error)}${last}}`;
        break;
      }
      case 'released':
        released += `${released && ','}${ref}}`;
    }
  }
  const fields: string[] = [];
  if (done) fields.push(`"done":[${done}]`);
  if (failed) fields.push(`"failed":[${failed}]`);
  if (released) fields.push(`"released":[${released}]`);
  return fields.join(',');
}

// SPDX-License-Identifier: Apache-2.0
// A worker by requests: registers, and then asks for tasks, waiting for a first one. A report goes with a request of its
// own, which ends the one that waits. The same words come out as over a WebSocket.

import { Refused, Unavailable } from '../base/errors.js';
import { Http } from '../base/http.js';
import type { Connection } from '../base/options.js';
import type { Link, LinkEvents, Outgoing } from './link.js';

const WAIT_MS = 30_000;

interface PullAnswer {
  tasks?: unknown[];
  [name: string]: unknown;
}

export class HttpLink implements Link {
  private readonly http: Http;
  private readonly over = new AbortController();
  private worker = '';
  private key = '';
  private credit = 0;
  private headers = false; // are wanted
  private readonly waiting: Outgoing[] = [];
  private sending = false;
  // A request waits for tasks; any other ends it.
  private looking = false;

  constructor(
    connection: Connection,
    private readonly events: LinkEvents,
  ) {
    // Coming back is the session's own affair.
    this.http = new Http({ ...connection, retryForMs: 0 });
    queueMicrotask(() => this.over.signal.aborted || events.opened());
  }

  hello(hello: string): void {
    void this.guard(async () => {
      const answer = await this.request('POST', '/workers', hello);
      const welcome = JSON.parse(answer) as { worker: string; key: string };
      this.worker = welcome.worker;
      this.key = welcome.key;
      this.say(`{"welcome":${answer}}`);
    });
  }

  send(message: Outgoing): void {
    if (message.pull !== undefined) this.credit = message.pull;
    if (message.headers) this.headers = true;
    this.waiting.push(message);
    if (!this.sending) void this.guard(() => this.sendAll());
  }

  ping(): void {}

  close(): void {
    this.over.abort(new Unavailable('closed'));
  }

  private async sendAll(): Promise<void> {
    this.sending = true;
    try {
      for (let message = this.waiting.shift(); message; message = this.waiting.shift()) await this.sendOne(message);
    } finally {
      this.sending = false;
    }
    if (!this.looking && this.credit > 0) void this.guard(() => this.look());
  }

  private async sendOne(message: Outgoing): Promise<void> {
    if (message.bye) {
      await this.request('DELETE', `/workers/${this.worker}`, `{"key":${JSON.stringify(this.key)}}`);
      this.events.closed(new Unavailable('good-bye'));
      return;
    }
    // Without credit of its own: that is what the waiting request has.
    const fields = message.fields.replace(/,?"pull":\d+$/, '');
    if (fields === '' && message.seq === undefined && message.pull !== undefined && !this.looking) return;
    try {
      this.take(await this.pull(fields, 0, 0), message.seq);
    } catch (error) {
      if (message.seq === undefined || !(error instanceof Refused) || error.code === 'unknown_worker') throw error;
      this.say(JSON.stringify({ error: { code: error.code, message: error.message }, seq: message.seq }));
    }
  }

  // Waits for tasks for as long as some are wanted.
  private async look(): Promise<void> {
    this.looking = true;
    try {
      while (this.credit > 0 && !this.over.signal.aborted) {
        const began = Date.now();
        const answer = await this.pull('', this.credit, WAIT_MS);
        this.take(answer, undefined);
        // Ended by a report: let that go first.
        const { tasks } = JSON.parse(answer) as PullAnswer;
        if (tasks?.length === 0 && Date.now() - began < 1_000) await new Promise((resolve) => setTimeout(resolve, 20));
      }
    } finally {
      this.looking = false;
    }
  }

  private pull(fields: string, pull: number, waitMs: number): Promise<string> {
    const rest = [`"key":${JSON.stringify(this.key)}`, `"pull":${pull}`, `"wait_ms":${waitMs}`];
    if (this.headers) rest.push('"job_headers":true');
    return this.request('POST', `/workers/${this.worker}/pull`, `{${[fields, ...rest].filter((part) => part !== '').join(',')}}`, waitMs);
  }

  private take(answer: string, seq: number | undefined): void {
    const message = JSON.parse(answer) as PullAnswer;
    this.credit = Math.max(0, this.credit - (message.tasks?.length ?? 0));
    // As text, so that the session reads numbers its own way.
    this.say(seq === undefined ? answer : `{"ack":${seq},${answer.trim().slice(1)}`);
  }

  private say(text: string): void {
    if (!this.over.signal.aborted) this.events.message(text);
  }

  private async request(method: string, path: string, body: string, waitMs = 0): Promise<string> {
    const answer = await this.http.once(method, this.http.inQueue(path), { text: body, waitMs, signal: this.over.signal });
    return answer.text();
  }

  private async guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.over.signal.aborted) return;
      this.over.abort(error);
      this.events.closed(error instanceof Refused || error instanceof Unavailable ? error : new Unavailable(String(error)));
    }
  }
}

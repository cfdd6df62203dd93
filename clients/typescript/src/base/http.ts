// SPDX-License-Identifier: Apache-2.0
// Requests and their answers: JSON over fetch, errors as classes, and asking again where that can do no harm.

import { platform } from '#platform';
import { AllotError, errorFrom, Unavailable, worthRetrying } from './errors.js';
import { parse, parseValue, stringify } from './json.js';
import type { Connection } from './options.js';
import { deadline, pauseBefore, sleep } from './signals.js';
import type { ErrorBody } from '../wire.js';

export type Query = Record<string, string | number | boolean | null | undefined>;

export interface Call {
  query?: Query;
  // A value, sent as JSON.
  body?: unknown;
  // The same as JSON text.
  text?: string;
  // Lines of a streamed submit, in its place; made anew for each attempt.
  lines?: () => RequestBody;
  signal?: AbortSignal | undefined;
  // How long the server was asked to wait.
  waitMs?: number;
  // Whether the same request twice is as good as once. GET, PUT and DELETE: true, unless said.
  again?: boolean;
  // Whether the answer has payloads or results, which may have bytes in them.
  values?: boolean;
}

export type RequestBody = ReadableStream<Uint8Array> | Uint8Array;

export class Http {
  private trusted: Promise<Record<string, unknown>> | undefined;

  constructor(readonly connection: Connection) {}

  get<T>(path: string, call: Call = {}): Promise<T> {
    return this.call('GET', path, call);
  }
  post<T>(path: string, body: unknown = {}, call: Call = {}): Promise<T> {
    return this.call('POST', path, { ...call, body });
  }

  // A path below the queue's own.
  inQueue(path: string, queue = this.connection.queue): string {
    return `/v1/queues/${encodeURIComponent(queue)}${path}`;
  }

  async call<T>(method: string, path: string, call: Call = {}): Promise<T> {
    const again = call.again ?? (method === 'GET' || method === 'PUT' || method === 'DELETE');
    const end = Date.now() + this.connection.retryForMs;
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await this.once(method, path, call);
        return this.value(await answer.text(), call) as T;
      } catch (error) {
        const pause = pauseBefore(attempt, 50, 2_000);
        if (!again || !worthRetrying(error) || Date.now() + pause > end) throw error;
        await sleep(pause, call.signal);
      }
    }
  }

  // One attempt, answered with a status below 400.
  async once(method: string, path: string, call: Call, headers: Record<string, string> = {}): Promise<Response> {
    const { connection } = this;
    let url = connection.server + path;
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined && value !== null) query.set(name, String(value));
    }
    if (query.toString() !== '') url += `?${query.toString()}`;
    const init: RequestInit & { duplex?: 'half' } = { method, headers, redirect: 'error' };
    if (connection.token) headers['Authorization'] = `Bearer ${connection.token}`;
    if (call.lines) {
      headers['Content-Type'] = 'application/x-ndjson';
      const body = call.lines();
      init.body = body;
      if (!(body instanceof Uint8Array)) init.duplex = 'half';
    } else if (call.body !== undefined) {
      headers['Content-Type'] = 'application/json';
      init.body = stringify(call.body)!;
    } else if (call.text !== undefined) {
      headers['Content-Type'] = 'application/json';
      init.body = call.text;
    }
    if (connection.caFile) Object.assign(init, await (this.trusted ??= platform.trust(connection.caFile)));

    const forever = call.lines !== undefined || headers['Accept'] !== undefined;
    const limit = deadline(
      forever ? Infinity : connection.timeoutMs + (call.waitMs ?? 0),
      call.signal,
      () => new Unavailable(`${connection.server} did not answer in time`),
    );
    init.signal = limit.signal;
    try {
      const answer = await fetch(url, init);
      if (answer.status < 400) {
        if (headers['Accept'] !== undefined) return answer;
        // Read to its end within the deadline.
        const text = await answer.text();
        return { status: answer.status, text: () => Promise.resolve(text) } as Response;
      }
      throw this.refusal(await answer.text(), answer.status);
    } catch (error) {
      if (call.signal?.aborted) throw call.signal.reason;
      if (limit.signal.aborted) throw limit.signal.reason;
      if (error instanceof AllotError) throw error;
      throw this.unreachable(error);
    } finally {
      limit.done();
    }
  }

  private value(text: string, call: Call): unknown {
    const { integers } = this.connection;
    return call.values ? parseValue(text, integers) : parse(text, integers);
  }

  private refusal(text: string, status: number): Error {
    try {
      const { error } = JSON.parse(text) as { error: ErrorBody };
      if (typeof error.code === 'string') return errorFrom(error, status);
    } catch {
      // Not of this protocol: a proxy, most likely.
    }
    const message = `${this.connection.server} answered with ${status}, and not as Allotter does`;
    return status >= 500 ? new Unavailable(message) : errorFrom({ code: 'bad_request', message }, status);
  }

  private unreachable(error: unknown): Error {
    const cause = (error as { cause?: unknown }).cause ?? error;
    // Why a stream of lines broke off is the error of whoever made it.
    if (cause instanceof SourceError) return cause;
    const what = cause instanceof Error ? cause.message || (cause as { code?: string }).code || cause.name : String(cause);
    return new Unavailable(`no answer from ${this.connection.server}: ${what}`, 'unavailable', { cause });
  }
}

// An iterator of the user's raised, in the middle of a submit. `cause` is what it threw.
export class SourceError extends Error {}

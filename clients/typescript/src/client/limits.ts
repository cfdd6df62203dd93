// SPDX-License-Identifier: Apache-2.0
// Limits on starts, held by lease.

import type { Http } from '../base/http.js';
import { sleep } from '../base/signals.js';
import type * as wire from '../wire.js';
import type { ReadOptions } from './outcomes.js';
import { newKey } from './submit.js';

export interface LimitOptions {
  // For whoever made it to find its own.
  tag: string;
  name?: string;
  // To which starts it applies: an expression, or its text. `cost`: how many tokens such a start takes.
  expr: { toString(): string };
  cost?: { toString(): string } | number | null;
  count: number;
  windowMs: number;
  burst?: number;
  maxBurstCost?: number;
  monitor?: boolean;
  expiresInMs: number;
}

function specOf(options: LimitOptions): wire.LimitSpec {
  const { cost } = options;
  const spec: wire.LimitSpec = {
    tag: options.tag,
    expr: String(options.expr),
    count: options.count,
    window_ms: options.windowMs,
    expires_in_ms: options.expiresInMs,
  };
  if (options.name !== undefined) spec.name = options.name;
  if (cost !== undefined) spec.cost = cost === null || typeof cost === 'number' ? cost : String(cost);
  if (options.burst !== undefined) spec.burst = options.burst;
  if (options.maxBurstCost !== undefined) spec.max_burst_cost = options.maxBurstCost;
  if (options.monitor !== undefined) spec.monitor = options.monitor;
  return spec;
}

export class Limits {
  constructor(private readonly http: Http) {}

  private path(uuid = '', rest = ''): string {
    return this.http.inQueue(`/limits${uuid && `/${encodeURIComponent(uuid)}`}${rest}`);
  }

  // Sets it under this uuid, or a new one; one that is there keeps its counters and its bucket's level.
  put(options: LimitOptions, { uuid = newKey(), signal }: ReadOptions & { uuid?: string } = {}): Promise<wire.LimitAnswer> {
    return this.http.call('PUT', this.path(uuid), { body: specOf(options), signal });
  }
  renew(uuid: string, { expiresInMs, signal }: ReadOptions & { expiresInMs?: number } = {}): Promise<wire.LimitAnswer> {
    return this.http.post(this.path(uuid, '/renew'), expiresInMs === undefined ? {} : { expires_in_ms: expiresInMs }, {
      signal,
      again: true,
    });
  }
  async delete(uuid: string, { signal }: ReadOptions = {}): Promise<void> {
    await this.http.call('DELETE', this.path(uuid), { signal });
  }
  async list({ signal, ...query }: ReadOptions & { tag?: string; uuid?: string } = {}): Promise<wire.Limit[]> {
    return (await this.http.get<{ limits: wire.Limit[] }>(this.path(), { query, signal })).limits;
  }
  get(uuid: string, { signal }: ReadOptions = {}): Promise<wire.Limit> {
    return this.http.get(this.path(uuid), { signal });
  }
  history(uuid: string, { signal }: ReadOptions = {}): Promise<wire.LimitHistory> {
    return this.http.get(this.path(uuid, '/history'), { signal });
  }
  // What such a limit would apply to.
  try(what: { expr: { toString(): string }; cost?: { toString(): string } }, { signal }: ReadOptions = {}): Promise<wire.LimitTry> {
    const body = { expr: String(what.expr), ...(what.cost === undefined ? {} : { cost: String(what.cost) }) };
    return this.http.post(this.path('', '/try'), body, { signal, again: true });
  }

  // Holds it until the signal is aborted: sets it, renews it in time, and takes it away. If this program dies, it ends
  // with its lease. Each renewal is a `put`, so that it is there again after a restart of the server.
  async hold(options: LimitOptions, signal: AbortSignal): Promise<void> {
    const uuid = newKey();
    try {
      for (;;) {
        const { expires_in_ms } = await this.put(options, { uuid, signal });
        await sleep(expires_in_ms / 3, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.delete(uuid).catch(() => {});
    }
  }
}

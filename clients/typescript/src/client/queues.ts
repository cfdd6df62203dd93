// SPDX-License-Identifier: Apache-2.0
// Queues and their settings.

import type { Http } from '../base/http.js';
import type * as wire from '../wire.js';
import type { ReadOptions } from './outcomes.js';

// What is not named stays. A policy may be an object, too, and null is the default; a weight of null is taken away.
export type Settings = Partial<Omit<wire.QueueSettings, 'policy' | 'weights'>> & {
  policy?: unknown;
  weights?: Record<string, number | null> | null;
};

export class Queue {
  constructor(
    private readonly http: Http,
    readonly name: string,
  ) {}

  private path(rest = ''): string {
    return this.http.inQueue(rest, this.name);
  }

  view({ signal }: ReadOptions = {}): Promise<wire.Queue> {
    return this.http.get(this.path(), { signal });
  }
  set(settings: Settings, { signal }: ReadOptions = {}): Promise<wire.Queue> {
    return this.http.call('PATCH', this.path(), { body: { settings }, signal, again: true });
  }
  // Nothing is handed out; submits and reports go on.
  pause({ signal }: ReadOptions = {}): Promise<wire.Queue> {
    return this.http.post(this.path('/pause'), {}, { signal, again: true });
  }
  resume({ signal }: ReadOptions = {}): Promise<wire.Queue> {
    return this.http.post(this.path('/resume'), {}, { signal, again: true });
  }
  overview({ signal }: ReadOptions = {}): Promise<wire.Overview> {
    return this.http.get(this.path('/overview'), { signal });
  }
  history({ step, signal }: ReadOptions & { step?: 'second' | 'minute' } = {}): Promise<wire.History> {
    return this.http.get(this.path('/history'), { query: { step }, signal });
  }
  // With `force` also where jobs have not ended.
  async delete({ force, signal }: ReadOptions & { force?: boolean } = {}): Promise<void> {
    await this.http.call('DELETE', this.path(), { query: { force }, signal, again: false });
  }
}

export class Queues {
  constructor(private readonly http: Http) {}

  named(name: string): Queue {
    return new Queue(this.http, name);
  }
  async list({ signal }: ReadOptions = {}): Promise<wire.Queue[]> {
    return (await this.http.get<{ queues: wire.Queue[] }>('/v1/queues', { signal })).queues;
  }
  async create(name: string, settings: Settings = {}, { signal }: ReadOptions = {}): Promise<Queue> {
    await this.http.post('/v1/queues', { name, settings }, { signal });
    return this.named(name);
  }
}

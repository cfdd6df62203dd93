// SPDX-License-Identifier: Apache-2.0
// The workers of a queue, seen from outside.

import type { Http } from '../base/http.js';
import type * as wire from '../wire.js';
import type { ReadOptions } from './outcomes.js';

export class Workers {
  constructor(private readonly http: Http) {}

  private path(id: string, rest = ''): string {
    return this.http.inQueue(`/workers/${encodeURIComponent(id)}${rest}`);
  }

  // In the order in which they registered.
  async *list({ signal }: ReadOptions = {}): AsyncGenerator<wire.Worker, void, undefined> {
    for (let after: string | null | undefined; after !== null;) {
      const page: wire.WorkersPage = await this.http.get(this.http.inQueue('/workers'), { query: { after, limit: 1_000 }, signal });
      yield* page.workers;
      after = page.next;
    }
  }
  get(id: string, { signal }: ReadOptions = {}): Promise<wire.Worker> {
    return this.http.get(this.path(id), { signal });
  }
  // What it would get next, and why not the others.
  next(id: string, { count, signal }: ReadOptions & { count?: number } = {}): Promise<wire.WorkerNext> {
    return this.http.get(this.path(id, '/next'), { query: { count }, signal });
  }
  // It takes no more, finishes what it has, and leaves.
  drain(id: string, { signal }: ReadOptions = {}): Promise<wire.Worker> {
    return this.http.post(this.path(id, '/drain'), {}, { signal, again: true });
  }
  // What it is from now on; it is told.
  set(id: string, traits: wire.WorkerTraits, { signal }: ReadOptions = {}): Promise<wire.Worker> {
    return this.http.call('PATCH', this.path(id), { body: traits, signal, again: true });
  }
}

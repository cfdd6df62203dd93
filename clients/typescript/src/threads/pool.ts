// SPDX-License-Identifier: Apache-2.0
// Threads that run tasks, one each at a time. One that dies, or does not stop in time when it is told to, fails its task
// alone and has a successor.

import { platform } from '#platform';
import { Cancelled, GiveUp, Release, Retry } from '../base/errors.js';
import type { Thread } from '../platform/platform.js';
import type { Context, Handler } from '../task.js';
import { ThreadError } from '../worker/execute.js';
import type { FromThread, Start } from './messages.js';

export class ThreadPool {
  private readonly free: Thread[] = [];
  private readonly waiting: ((thread: Thread) => void)[] = [];
  private readonly all = new Set<Thread>();
  private closed = false;

  constructor(
    private readonly size: number,
    private readonly graceMs: number,
    private readonly memoryMb: number,
  ) {}

  handler(module: { url: string; export: string }): Handler<unknown, unknown> {
    return async (input, context) => {
      const thread = await this.acquire();
      return this.run(thread, module, input, context);
    };
  }

  private acquire(): Promise<Thread> | Thread {
    const free = this.free.pop();
    if (free) return free;
    if (this.all.size < this.size) return this.start();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private start(): Thread {
    const thread = platform.startThread(this.memoryMb);
    this.all.add(thread);
    return thread;
  }

  private giveBack(thread: Thread): void {
    const next = this.waiting.shift();
    if (next) next(thread);
    else this.free.push(thread);
  }

  private replace(thread: Thread): void {
    this.all.delete(thread);
    if (!this.closed && this.waiting.length > 0) this.giveBack(this.start());
  }

  private run(thread: Thread, module: { url: string; export: string }, input: unknown, context: Context): Promise<unknown> {
    const { signal } = context;
    return new Promise((resolve, reject) => {
      let grace: ReturnType<typeof setTimeout> | undefined;
      let over = false;
      const end = (usable: boolean) => {
        if (over) return false;
        over = true;
        clearTimeout(grace);
        signal.removeEventListener('abort', stop);
        thread.onmessage = thread.onexit = () => {};
        if (usable) this.giveBack(thread);
        else this.replace(thread);
        return true;
      };
      const stop = () => {
        const reason = signal.reason as Cancelled;
        thread.post({ type: 'stop', reason: reason.reason });
        // Half of the time: the rest is for telling the server.
        grace = setTimeout(() => {
          if (!end(false)) return;
          void thread.terminate();
          reject(reason);
        }, this.graceMs / 2);
      };
      thread.onmessage = (message) => this.hear(thread, message as FromThread, context, end, resolve, reject);
      thread.onexit = (why) => {
        if (end(false)) reject(signal.aborted ? signal.reason : new ThreadError(`the thread died: ${why}`, []));
      };
      if (signal.aborted) {
        end(true);
        return reject(signal.reason as Error);
      }
      signal.addEventListener('abort', stop, { once: true });
      const { job, index, attempt, count, trace, payloadPrefix, jobPayload } = context;
      const start: Start = { type: 'start', ...module, input, context: { job, index, attempt, count, trace, payloadPrefix, jobPayload } };
      thread.post(start);
    });
  }

  private hear(
    thread: Thread,
    message: FromThread,
    context: Context,
    end: (usable: boolean) => boolean,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ): void {
    switch (message.type) {
      case 'progress':
        context.progress(message.done, message.options);
        break;
      case 'header':
        context.header().then(
          (header) => thread.post({ type: 'header', header, error: undefined }),
          (error: Error) => thread.post({ type: 'header', header: undefined, error: error.message }),
        );
        break;
      case 'done':
        if (end(true)) resolve(message.value);
        break;
      case 'failed':
        if (end(true)) reject(errorOf(message, context));
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.all].map((thread) => thread.terminate()));
  }
}

function errorOf({ text, names, afterMs }: FromThread & { type: 'failed' }, context: Context): Error {
  if (names.includes('Release')) return new Release(text);
  if (names.includes('Cancelled')) return (context.signal.reason as Error | undefined) ?? new Cancelled(text);
  if (names.includes('Retry')) return new Retry({ message: text, ...(afterMs === undefined ? {} : { afterMs }) });
  if (names.includes('GiveUp')) return new GiveUp(text);
  return new ThreadError(text, names);
}

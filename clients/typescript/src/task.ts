// SPDX-License-Identifier: Apache-2.0
// A task: the name under which jobs ask for it, and the function that does it.

import type { JobHeader } from './wire.js';
import type { Codec } from './base/json.js';

export interface Context {
  // Aborted when the task is to stop: its job was cancelled or failed, its time is over, its lease is lost, or the
  // worker is stopped the hard way. The reason is a `Cancelled`.
  readonly signal: AbortSignal;
  readonly job: string;
  readonly index: number;
  // 1 is the first one.
  readonly attempt: number;
  // How many tasks the job has.
  readonly count: number;
  // A W3C traceparent, if the job has one.
  readonly trace: string | undefined;
  readonly payloadPrefix: string | undefined;
  // The payload for all tasks, where each has its own beside it.
  readonly jobPayload: unknown;
  // Tells how far it is. Servers without the feature are not told.
  readonly progress: (done: number, options?: { of?: number; message?: string }) => void;
  // The job's tags and meta: asked for once for each job.
  readonly header: () => Promise<JobHeader>;
}

export type Handler<I, O> = (input: I, context: Context) => O | Promise<O>;
type ErrorClass = abstract new (...args: never[]) => Error;

export interface TaskOptions<I, O> {
  // Errors after which no further attempt helps, beside GiveUp.
  giveUp?: readonly ErrorClass[];
  input?: Codec<I>;
  output?: Codec<O>;
}

export interface Task<I, O> extends TaskOptions<I, O> {
  readonly name: string;
  // Missing where it is only submitted from here.
  readonly handler?: Handler<I, O>;
  // Where a worker thread finds the function.
  readonly module?: { url: string; export: string };
}

// What results need to be read.
export type Output<O> = Pick<TaskOptions<never, O>, 'output'>;

const NAME = /^[A-Za-z0-9_.\-/:=@+]{1,128}$/;

function checkName(name: string): string {
  if (!NAME.test(name))
    throw new TypeError(`a task's name is a tag: 1 to 128 letters, digits or _ . - / : = @ +, not ${JSON.stringify(name)}`);
  return name;
}

// A task that runs in the worker's own event loop. Without a handler it can only be submitted.
export function task<I, O>(name: string, handler?: Handler<I, O>, options: TaskOptions<I, O> = {}): Task<I, O> {
  return { ...options, name: checkName(name), ...(handler ? { handler } : {}) };
}

// A task that keeps a CPU busy: each runs in a worker thread, which loads `module` and calls its export `export`
// (`default`, unless said). Node only. The module must not start workers of its own when it is loaded.
export function threadTask<I, O>(name: string, module: URL | string, options: TaskOptions<I, O> & { export?: string } = {}): Task<I, O> {
  const { export: exported = 'default', ...rest } = options;
  const url = String(module);
  if (!/^(file|data):/.test(url))
    throw new TypeError(`a module is named by its URL: new URL('./file.js', import.meta.url), not ${JSON.stringify(url)}`);
  return { ...rest, name: checkName(name), module: { url, export: exported } };
}

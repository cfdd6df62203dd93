// SPDX-License-Identifier: Apache-2.0
// Runs a task's function for a payload, and says what came of it.

import { chunkOf, chunkText, decode, encode } from '../chunks.js';
import { Cancelled, GiveUp, Release, Retry } from '../base/errors.js';
import { stringify } from '../base/json.js';
import type { Context, Handler, Task } from '../task.js';
import type { TaskOutcome } from './session.js';

const MAX_ERROR_CHARACTERS = 4_000;

type AnyTask = Task<unknown, unknown>;

export function execute(
  task: AnyTask,
  handler: Handler<unknown, unknown>,
  payload: unknown,
  context: Context,
): TaskOutcome | Promise<TaskOutcome> {
  const failed = (error: unknown) => outcomeOf(task, error);
  try {
    const items = chunkOf(payload);
    if (items) return executeChunk(task, handler, items, context).catch(failed);
    const result = handler(decode(payload, task.input), context);
    if (isPromise(result)) return result.then((value) => done(task, value)).catch(failed);
    return done(task, result);
  } catch (error) {
    return failed(error);
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

function done(task: AnyTask, value: unknown): TaskOutcome {
  return { kind: 'done', result: stringify(task.output ? task.output.encode(value) : value) };
}

async function executeChunk(task: AnyTask, handler: Handler<unknown, unknown>, items: unknown[], context: Context): Promise<TaskOutcome> {
  const results: string[] = [];
  for (const item of items) {
    if (results.length > 0 && context.signal.aborted) throw context.signal.reason;
    let result = handler(decode(item, task.input), context);
    if (isPromise(result)) result = await result;
    results.push(encode(result, task.output));
  }
  return { kind: 'done', result: chunkText(results) };
}

// An error of a worker thread, where its class is another one: by name.
export class ThreadError extends Error {
  constructor(
    readonly text: string,
    readonly names: readonly string[],
  ) {
    super(text);
  }
}

export function namesOf(error: unknown): string[] {
  const names: string[] = [];
  for (let at: unknown = error; at && typeof at === 'object'; at = Object.getPrototypeOf(at)) {
    const name = (at as { constructor?: { name?: string } }).constructor?.name;
    if (name && !names.includes(name)) names.push(name);
  }
  return names;
}

function outcomeOf(task: AnyTask, error: unknown): TaskOutcome {
  if (error instanceof Release) return { kind: 'released' };
  // What a function throws because it was told to stop.
  if (error instanceof Cancelled) {
    return error.reason === 'timeout' ? { kind: 'failed', error: error.message } : { kind: 'released' };
  }
  if (error instanceof Retry) return { kind: 'failed', error: error.message, afterMs: error.afterMs };
  const final =
    error instanceof GiveUp ||
    (task.giveUp ?? []).some((type) => error instanceof type || (error instanceof ThreadError && error.names.includes(type.name)));
  return { kind: 'failed', error: textOf(error), final };
}

// `Type: message`, and where it was thrown.
export function textOf(error: unknown): string {
  if (error instanceof ThreadError) return error.text;
  if (!(error instanceof Error)) return `thrown: ${String(error)}`.slice(0, MAX_ERROR_CHARACTERS);
  const head = `${error.name}: ${error.message}`;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line) && !line.includes('node:internal'));
  return [head.slice(0, MAX_ERROR_CHARACTERS / 2), ...frames.slice(0, 8)].join('\n').slice(0, MAX_ERROR_CHARACTERS);
}

// SPDX-License-Identifier: Apache-2.0
// Many items in one task: {"$chunk": [item, …]}, answered by {"$chunk": [result, …]} of the same length. A worker's
// function is called for each item, in order; if it throws for one, the task has failed.

import { stringify } from './base/json.js';
import type { Codec } from './base/json.js';
import type { Task } from './task.js';

const KEY = '$chunk';

export function chunkOf(value: unknown): unknown[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const items = (value as Record<string, unknown>)[KEY];
  return Array.isArray(items) && Object.keys(value).length === 1 ? items : undefined;
}

export function chunkText(items: readonly string[]): string {
  return `{"${KEY}":[${items.join(',')}]}`;
}

// JSON text of a value that has to have one.
export function encode<T>(value: T, codec?: Codec<T>): string {
  const text = stringify(codec ? codec.encode(value) : value);
  return text === undefined ? 'null' : text;
}

export function decode<T>(json: unknown, codec?: Codec<T>): T {
  return codec ? codec.decode(json) : (json as T);
}

export interface ChunkOptions {
  // How many items a task has: each alone, unless said. A chunk of 1 is a chunk, too.
  chunk?: number;
}

// A chunk is cut where it gets larger than this, whatever the number of its items: a payload has at most 1 MiB.
const CHUNK_BYTES = 256 << 10;

// The payloads of tasks, as JSON text, from items.
export function* payloads<I>(task: Task<I, unknown>, items: Iterable<I>, chunk?: number): Generator<string> {
  const cutter = new Cutter(chunk);
  for (const item of items) {
    const text = cutter.add(encode(item, task.input));
    if (text !== undefined) yield text;
  }
  const rest = cutter.rest();
  if (rest !== undefined) yield rest;
}

export async function* asyncPayloads<I>(task: Task<I, unknown>, items: AsyncIterable<I>, chunk?: number): AsyncGenerator<string> {
  const cutter = new Cutter(chunk);
  for await (const item of items) {
    const text = cutter.add(encode(item, task.input));
    if (text !== undefined) yield text;
  }
  const rest = cutter.rest();
  if (rest !== undefined) yield rest;
}

class Cutter {
  private items: string[] = [];
  private bytes = 0;
  constructor(private readonly chunk: number | undefined) {
    if (chunk !== undefined && !(Number.isInteger(chunk) && chunk > 0))
      throw new RangeError(`chunk is a whole number from 1, not ${chunk}`);
  }

  add(item: string): string | undefined {
    if (this.chunk === undefined) return item;
    let full: string | undefined;
    if (this.items.length > 0 && this.bytes + item.length > CHUNK_BYTES) full = this.rest();
    this.items.push(item);
    this.bytes += item.length + 1;
    return full ?? (this.items.length >= this.chunk ? this.rest() : undefined);
  }

  rest(): string | undefined {
    if (this.items.length === 0) return undefined;
    const text = chunkText(this.items);
    this.items = [];
    this.bytes = 0;
    return text;
  }
}

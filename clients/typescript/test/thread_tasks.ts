// SPDX-License-Identifier: Apache-2.0
// What the tests' worker threads run.

import { GiveUp } from 'allotter';
import type { Context } from 'allotter';

export function busy(ms: number): number {
  for (const end = performance.now() + ms; performance.now() < end;);
  return ms;
}

export async function mixed(what: string, { progress, header }: Context): Promise<unknown> {
  if (what === 'header') {
    progress(1);
    return (await header()).meta;
  }
  if (what === 'bytes') return new Uint8Array([1, 2]);
  if (what === 'range') throw new RangeError('too far');
  if (what === 'give up') throw new GiveUp('no use');
  if (what === 'exit') process.exit(3);
  if (what === 'heap') {
    const all: unknown[] = [];
    for (;;) all.push(new Array(100_000).fill({}));
  }
  return what;
}

export async function endless(how: string, { signal, progress }: Context): Promise<void> {
  progress(1);
  await new Promise((resolve) => setTimeout(resolve, 1));
  if (how === 'listens') await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  for (;;);
}

// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a picture of tasks: which part of the range is where, and where zooming goes. Pure.
import type { Picture, TaskState } from './types';

export interface Range {
  from: number;
  // The first that is not in it.
  to: number;
}

export const kMostParts = 200;

export function partsOf(picture: Picture): number {
  return picture.done.length;
}

export function partRange(picture: Picture, part: number): Range {
  const from = picture.from + part * picture.width;
  return { from, to: Math.min(picture.to, from + picture.width) };
}

export function partCounts(picture: Picture, part: number): Record<TaskState, number> {
  return {
    queued: picture.queued[part] ?? 0,
    running: picture.running[part] ?? 0,
    retrying: picture.retrying[part] ?? 0,
    done: picture.done[part] ?? 0,
    failed: picture.failed[part] ?? 0,
    skipped: picture.skipped[part] ?? 0,
  };
}

// From part `a` to part `b`, both included, in whatever order.
export function zoomTo(picture: Picture, a: number, b: number): Range {
  const first = partRange(picture, Math.min(a, b));
  const last = partRange(picture, Math.max(a, b));
  return { from: first.from, to: last.to };
}

// Ten times as much around the middle; all, where that is all.
export function zoomOut(range: Range, count: number): Range | null {
  const size = (range.to - range.from) * 10;
  if (size >= count) return null;
  const middle = Math.floor((range.from + range.to) / 2);
  const from = Math.min(Math.max(0, middle - Math.floor(size / 2)), count - size);
  return { from, to: from + size };
}

// The range of a query string, if it is one of a job with `count` tasks.
export function readRange(from: string | null, to: string | null, count: number): Range | null {
  if (from === null || to === null || !/^\d{1,10}$/.test(from) || !/^\d{1,10}$/.test(to)) return null;
  const range = { from: Number(from), to: Math.min(Number(to), count) };
  return range.from < range.to && !(range.from === 0 && range.to === count) ? range : null;
}

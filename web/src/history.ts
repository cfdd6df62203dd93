// SPDX-License-Identifier: Apache-2.0
// History that goes on: asked for once in a while, and in between continued with what the live overview tells.
import type { History, Overview } from './types';

const kFlows = ['submitted', 'started', 'done', 'failed'] as const;
const kLevels = ['queued', 'retrying', 'running'] as const;

// `history` up to now, with what `overview` says for every step that is missing; as many steps as before at most, but
// no fewer than `least`. The overview holds until the next one comes, so that all missing steps are as it says.
export function extendHistory(history: History, overview: Overview, now_ms: number, least: number): History {
  const steps = history.done.length;
  const missing = Math.floor((now_ms - history.from_at_ms) / history.step_ms) - steps;
  if (missing <= 0) return history;
  const keep = Math.max(steps, least);
  const drop = Math.max(0, steps + missing - keep);
  const on = (values: number[], value: number) => [...values, ...Array.from({ length: Math.min(missing, keep) }, () => value)].slice(-keep);
  const next: History = { ...history, from_at_ms: history.from_at_ms + drop * history.step_ms };
  for (const name of kFlows) next[name] = on(history[name], (overview.rates[name] * history.step_ms) / 1000);
  for (const name of kLevels) next[name] = on(history[name], overview.queue.tasks[name]);
  next.oldest_ms = on(history.oldest_ms, 0);
  const end = next.oldest_ms.length;
  for (let i = end - Math.min(missing, keep); i < end && overview.oldest_waiting; i++) {
    next.oldest_ms[i] = Math.max(0, next.from_at_ms + (i + 1) * next.step_ms - overview.oldest_waiting.since_at_ms);
  }
  return next;
}

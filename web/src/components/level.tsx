// SPDX-License-Identifier: Apache-2.0
// The level of a limit's bucket: from what it may owe, on the left of 0, to what it may hold.
import * as format from '../format';
import type { Limit } from '../types';

type Terms = Pick<Limit, 'tokens' | 'count' | 'burst'>;

// Where a level stands between -burst and count, 0 … 1.
export function levelAt(level: number, { count, burst }: Pick<Limit, 'count' | 'burst'>): number {
  const span = count + burst;
  return span > 0 ? Math.max(0, Math.min(1, (level + burst) / span)) : 0;
}

export function LevelBar({ limit, label }: { limit: Terms; label: string }) {
  const zero = levelAt(0, limit);
  const at = levelAt(limit.tokens, limit);
  const debt = limit.tokens < 0;
  const text = `${format.real(limit.tokens)} of ${format.count(limit.count)}${limit.burst > 0 ? `, down to -${format.count(limit.burst)}` : ''}`;
  return (
    <div
      class="level"
      role="meter"
      aria-label={label}
      aria-valuemin={-limit.burst}
      aria-valuemax={limit.count}
      aria-valuenow={limit.tokens}
      aria-valuetext={text}
      title={text}>
      {at !== zero && (
        <i
          class={`fill ${debt ? 'fill-retrying' : 'fill-running'}`}
          style={{ left: `${Math.min(at, zero) * 100}%`, width: `${Math.abs(at - zero) * 100}%` }}
        />
      )}
      {limit.burst > 0 && <i class="zero" style={{ left: `${zero * 100}%` }} />}
    </div>
  );
}

// A duration that is counted down from when it was told.
export function left(ms: number, arrived: number): number {
  return Math.max(0, ms - (Date.now() - arrived));
}

// 10 per 60s
export function rateText(limit: Pick<Limit, 'count' | 'window_ms'>): string {
  return `${format.count(limit.count)} per ${format.duration(limit.window_ms)}`;
}

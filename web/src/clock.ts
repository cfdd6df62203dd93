// SPDX-License-Identifier: Apache-2.0
// The server's clock as far as it is known here, and a tick every second for what shows ages.
import { signal } from '@preact/signals';

let offset = 0;

// The server said `now_ms` in answer to a request sent at `asked_ms` of this machine's clock.
export function setServerNow(now_ms: number, asked_ms: number): void {
  offset = now_ms - (asked_ms + Date.now()) / 2;
}

export function serverNow(): number {
  return Date.now() + offset;
}

export const tick = signal(0);
// How often the page came to be seen again: what is asked for now and then is out of date by then.
export const returns = signal(0);
if (typeof document !== 'undefined') {
  setInterval(() => {
    if (!document.hidden) tick.value++;
  }, 1000);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) returns.value++;
  });
}

// Runs it once the page is seen: at once if it is. The answer cancels what is still to come.
export function whenSeen(run: () => void): () => void {
  if (!document.hidden) {
    run();
    return () => {};
  }
  const look = () => {
    if (document.hidden) return;
    document.removeEventListener('visibilitychange', look);
    run();
  };
  document.addEventListener('visibilitychange', look);
  return () => document.removeEventListener('visibilitychange', look);
}

// The present, in components: they are drawn anew every second.
export function useNow(): number {
  void tick.value;
  return serverNow();
}

// SPDX-License-Identifier: Apache-2.0
// Waiting, and AbortSignals: some of what newer Nodes have built in.

// Rejects with the signal's reason if it is aborted first.
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const aborted = () => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    signal?.addEventListener('abort', aborted, { once: true });
  });
}

// A signal that is aborted by a time that is over or by another signal. done() ends both.
export function deadline(ms: number, signal: AbortSignal | undefined, reason: () => Error): { signal: AbortSignal; done: () => void } {
  const controller = new AbortController();
  const aborted = () => controller.abort(signal!.reason);
  if (signal?.aborted) aborted();
  const timer = ms === Infinity ? undefined : setTimeout(() => controller.abort(reason()), ms);
  signal?.addEventListener('abort', aborted, { once: true });
  return {
    signal: controller.signal,
    done: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', aborted);
    },
  };
}

// Pauses between attempts: from `first` on twice as long each time, up to `most`, and never the same for two clients.
export function pauseBefore(attempt: number, first = 100, most = 10_000): number {
  return Math.min(first * 2 ** Math.min(attempt, 20), most) * (0.5 + 0.5 * Math.random());
}

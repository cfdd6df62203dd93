// SPDX-License-Identifier: Apache-2.0
// Watching: server-sent events, as an iterator that comes back after a lost connection.

import { errorFrom, worthRetrying } from '../base/errors.js';
import type { Http } from '../base/http.js';
import { parse } from '../base/json.js';
import { pauseBefore, sleep } from '../base/signals.js';
import type { ErrorBody } from '../wire.js';

interface SentEvent {
  event: string;
  data: string;
}

async function* events(body: ReadableStream<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<SentEvent> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  signal?.addEventListener('abort', leave, { once: true });
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true }).replaceAll('\r', '');
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const sent: SentEvent = { event: 'message', data: '' };
        for (const line of text.slice(0, end).split('\n')) {
          if (line.startsWith('event:')) sent.event = line.slice(6).trim();
          if (line.startsWith('data:')) sent.data += line.slice(5).trim();
        }
        text = text.slice(end + 2);
        if (sent.data !== '') yield sent;
      }
    }
  } finally {
    signal?.removeEventListener('abort', leave);
    await reader.cancel().catch(() => {});
  }
}

// What a GET shows, now and whenever it changed. Without an end of its own.
export async function* views<T>(http: Http, path: string, signal: AbortSignal | undefined): AsyncGenerator<T, void, undefined> {
  for (let attempt = 0; ; attempt++) {
    let last: Error | undefined;
    if (signal?.aborted) throw signal.reason;
    try {
      const answer = await http.once('GET', path, { signal }, { Accept: 'text/event-stream' });
      for await (const { event, data } of events(answer.body!, signal)) {
        if (event === 'error') throw errorFrom((parse(data) as { error: ErrorBody }).error);
        if (event !== 'view') continue;
        attempt = 0;
        yield parse(data, http.connection.integers) as T;
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      // Streams that break off are errors of fetch: not our own, and worth another attempt.
      if (error instanceof TypeError || worthRetrying(error)) last = error as Error;
      else throw error;
    }
    if (last && attempt > 20) throw last;
    await sleep(pauseBefore(attempt, 100, 5_000), signal);
  }
}

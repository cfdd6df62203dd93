// SPDX-License-Identifier: Apache-2.0
// Live views: what a GET answers, now and whenever it changed, by server-sent events.
//
// A browser opens six connections to a server and no more, in all tabs together, and what a button does needs one, too.
// So a tab that is hidden holds none, and of those that are seen only the one with the focus holds streams of secondary
// views, two at most; the others are asked for every few seconds. Primary views (one a page) stream wherever they are
// seen.
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, errorFrom, errorOf, get, headers, statusOf, tellUnauthorized, unreachable } from './api';
import { whenSeen } from './clock';
import { SseParser } from './sse';

const kFirstPause = 500;
const kLongestPause = 15_000;
const kPoll = 5_000;
const kSecondaryStreams = 2;

export interface LiveOptions {
  secondary?: boolean;
}

export type LiveState = 'loading' | 'live' | 'lost' | 'failed';

export interface Live<T> {
  data: T | undefined;
  // Why there is no data, or nothing new any more (`failed`). While the connection is `lost` it is tried again.
  error: ApiError | undefined;
  state: LiveState;
  // When the last sign of life came, by this machine's clock; 0: never.
  seenAt: number;
}

// What the shell shows of all views together: since when the connection is lost.
export const lostSince = signal<number | null>(null);
const lost = new Map<object, number>();

function tellLost(view: object, seenAt: number | null): void {
  if (seenAt === null) lost.delete(view);
  else lost.set(view, seenAt);
  const times = [...lost.values()];
  lostSince.value = times.length ? Math.min(...times) : null;
}

// Whether asking again later may help: where nothing was reached, the server has a problem of its own or is at its bound
// of streams, or something in between had enough (it has no code). What is wrong with the request stays wrong.
export function passing(error: ApiError): boolean {
  if (error.status === 408 || error.status === 429) return ['timed_out', 'too_many_waits', 'bad_answer'].includes(error.code);
  return error.status === 0 || error.status >= 500;
}

// An error inside a stream has no status: this is the one that a request would have had.
function errorInStream(body: unknown): ApiError {
  const { code } = errorFrom(0, body);
  if (code === 'unauthorized') tellUnauthorized();
  return errorFrom(statusOf(code), body);
}

// The secondary views that hold a stream.
const streaming = new Set<object>();

// One view, followed until stop().
export class LiveView<T> {
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pause = kFirstPause;
  private stopped = false;
  private view: Live<T> = { data: undefined, error: undefined, state: 'loading', seenAt: 0 };

  constructor(
    private readonly path: string,
    private readonly options: LiveOptions,
    private readonly tell: (view: Live<T>) => void,
  ) {
    document.addEventListener('visibilitychange', this.look);
    window.addEventListener('online', this.look);
    if (options.secondary) {
      window.addEventListener('focus', this.look);
      window.addEventListener('blur', this.look);
    }
    this.open();
  }

  stop(): void {
    this.stopped = true;
    document.removeEventListener('visibilitychange', this.look);
    window.removeEventListener('online', this.look);
    window.removeEventListener('focus', this.look);
    window.removeEventListener('blur', this.look);
    this.close();
    tellLost(this, null);
  }

  private readonly look = (): void => {
    if (document.hidden) {
      this.close();
    } else if (this.view.state !== 'failed') {
      this.close();
      this.pause = kFirstPause;
      this.open();
    }
  };

  private close(): void {
    clearTimeout(this.timer);
    streaming.delete(this);
    this.abort?.abort();
    this.abort = null;
  }

  private open(): void {
    if (this.stopped || document.hidden) return;
    const abort = new AbortController();
    this.abort = abort;
    this.read(this.mayStream(), abort.signal).then(
      (again) => {
        if (abort.signal.aborted) return;
        streaming.delete(this);
        this.later(again);
      },
      (error) => {
        if (abort.signal.aborted) return;
        streaming.delete(this);
        this.fail(error instanceof ApiError ? error : unreachable());
      },
    );
  }

  // A secondary view that finds no room looks again when it asks the next time.
  private mayStream(): boolean {
    if (!this.options.secondary) return true;
    if (!document.hasFocus() || streaming.size >= kSecondaryStreams) return false;
    streaming.add(this);
    return true;
  }

  private later(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), ms);
  }

  // Answers in how many milliseconds to ask again.
  private async read(streams: boolean, signal: AbortSignal): Promise<number> {
    if (!streams) {
      this.show(await get<T>(this.path, signal));
      return kPoll;
    }
    let response: Response;
    try {
      response = await fetch(this.path, {
        headers: headers({ Accept: 'text/event-stream' }),
        signal,
        credentials: 'omit',
        cache: 'no-store',
      });
    } catch {
      throw unreachable();
    }
    if (!response.ok) throw await errorOf(response);
    if (!(response.headers.get('Content-Type') ?? '').startsWith('text/event-stream') || !response.body) {
      this.show((await response.json()) as T); // A server that does not stream this.
      return kPoll;
    }
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const parser = new SseParser();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw unreachable();
      const events = parser.feed(decoder.decode(value, { stream: true }));
      // Of several that came together only the last counts.
      let last: string | undefined;
      let error: string | undefined;
      for (const event of events) {
        if (event.event === 'error') error = event.data;
        else if (event.event === 'view') last = event.data;
      }
      if (last !== undefined) this.show(JSON.parse(last) as T);
      if (error !== undefined) throw errorInStream(JSON.parse(error));
      if (last !== undefined) continue;
      if (this.view.state === 'live') this.view.seenAt = Date.now();
    }
  }

  private show(data: T): void {
    this.pause = kFirstPause;
    tellLost(this, null);
    this.set({ data, error: undefined, state: 'live', seenAt: Date.now() });
  }

  private fail(error: ApiError): void {
    if (!passing(error)) {
      tellLost(this, null);
      this.set({ ...this.view, error, state: 'failed' });
      return;
    }
    tellLost(this, this.view.seenAt || Date.now());
    this.set({ ...this.view, error, state: 'lost' });
    this.later(this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(this.pause * 2, kLongestPause);
  }

  private set(view: Live<T>): void {
    this.view = view;
    if (!this.stopped) this.tell(view);
  }
}

const kLoading: Live<never> = { data: undefined, error: undefined, state: 'loading', seenAt: 0 };

// The view at `path` (null: none) for as long as the component is there. With another path what was shown before stays
// only if `keep`, until the new one comes.
export function useLive<T>(path: string | null, options: LiveOptions & { keep?: boolean } = {}): Live<T> {
  const [view, setView] = useState<{ path: string | null; live: Live<T> }>({ path, live: kLoading });
  useEffect(() => {
    if (path === null) return;
    const followed = new LiveView<T>(path, options, (live) => setView({ path, live }));
    return () => followed.stop();
  }, [path]);
  if (view.path === path || (options.keep && path !== null)) return view.live;
  return kLoading;
}

export interface Loaded<T> {
  data: T | undefined;
  error: ApiError | undefined;
  loading: boolean;
  reload: () => void;
}

// What a GET answers, once; and again when `version` changes, what was there being shown until then, at most once in
// `atMostEveryMs`. A page that is hidden asks when it is seen again.
export function useGet<T>(
  path: string | null,
  version: unknown = 0,
  atMostEveryMs = 0,
  load: (path: string) => Promise<T> = get<T>,
): Loaded<T> {
  const [state, setState] = useState<{ path: string | null; data?: T; error?: ApiError; loading: boolean }>({ path, loading: true });
  const [again, setAgain] = useState(0);
  const lastAt = useRef(0);
  const lastPath = useRef<string | null>(null);
  const current = useRef(path);
  current.current = path;
  useEffect(() => {
    if (path === null) return;
    const wait = lastPath.current === path ? Math.max(0, lastAt.current + atMostEveryMs - Date.now()) : 0;
    // A request that has begun is let to its end: with changes that come faster than answers nothing would be seen.
    let cancel = () => {};
    const ask = () => {
      lastAt.current = Date.now();
      lastPath.current = path;
      load(path).then(
        (data) => {
          if (current.current === path) setState({ path, data, loading: false });
        },
        (error) => {
          if (current.current !== path) return;
          setState((before) => ({ path, data: before.path === path ? before.data : undefined, error: error as ApiError, loading: false }));
        },
      );
    };
    const timer = setTimeout(() => void (cancel = whenSeen(ask)), wait);
    return () => {
      clearTimeout(timer);
      cancel();
    };
  }, [path, version, again]);
  const reload = () => {
    lastAt.current = 0;
    setAgain((n) => n + 1);
  };
  if (state.path !== path) return { data: undefined, error: undefined, loading: path !== null, reload };
  return { data: state.data, error: state.error, loading: state.loading, reload };
}

// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import page from '../../docs/reference/errors.md?raw';
import { ApiError, statusOf } from './api';
import type { Live } from './live';
import { LiveView, lostSince, passing } from './live';

// A document that can be hidden and focused, and a server that answers as it is told.
const heard = new Map<string, Set<() => void>>();
const target = {
  addEventListener: (name: string, f: () => void) => void (heard.get(name) ?? heard.set(name, new Set()).get(name)!).add(f),
  removeEventListener: (name: string, f: () => void) => void heard.get(name)?.delete(f),
};
const tell = (name: string) => [...(heard.get(name) ?? [])].forEach((f) => f());
const doc = { ...target, hidden: false, focused: true, hasFocus: () => doc.focused };

interface Asked {
  accept: string | null;
  send: (text: string) => void;
  end: () => void;
  aborted: () => boolean;
}
let asked: Asked[];
let answer: (request: Asked) => Response | undefined;

beforeEach(() => {
  vi.useFakeTimers();
  heard.clear();
  asked = [];
  answer = () => undefined;
  Object.assign(doc, { hidden: false, focused: true });
  vi.stubGlobal('document', doc);
  vi.stubGlobal('window', target);
  vi.stubGlobal('fetch', (_: string, init: RequestInit) => {
    let control!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (c) => void (control = c) });
    init.signal?.addEventListener('abort', () => control.error(new DOMException('', 'AbortError')));
    const request: Asked = {
      accept: new Headers(init.headers).get('Accept'),
      send: (text) => control.enqueue(new TextEncoder().encode(text)),
      end: () => control.close(),
      aborted: () => init.signal?.aborted ?? false,
    };
    asked.push(request);
    const given = answer(request);
    return given ? Promise.resolve(given) : Promise.resolve(new Response(body, { headers: { 'Content-Type': 'text/event-stream' } }));
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function follow(secondary = false) {
  const seen: Live<{ n: number }>[] = [];
  const view = new LiveView<{ n: number }>('/v1/x', { secondary }, (live) => seen.push(live));
  return { view, last: () => seen[seen.length - 1] };
}
const settle = () => vi.advanceTimersByTimeAsync(0);
const json = (value: unknown, status = 200) =>
  new Response(JSON.stringify(value), { status, headers: { 'Content-Type': 'application/json' } });

describe('LiveView', () => {
  it('shows every view that comes', async () => {
    const { view, last } = follow();
    await settle();
    expect(asked[0]!.accept).toBe('text/event-stream');
    asked[0]!.send('event: view\ndata: {"n": 1}\n\n');
    await settle();
    expect(last()).toMatchObject({ data: { n: 1 }, state: 'live' });
    asked[0]!.send(': ping\n\nevent: view\nda');
    asked[0]!.send('ta: {"n": 2}\n\n');
    await settle();
    expect(last()).toMatchObject({ data: { n: 2 }, state: 'live' });
    view.stop();
    expect(asked[0]!.aborted()).toBe(true);
  });

  it('keeps what it saw while the connection is lost, and comes back', async () => {
    const { view, last } = follow();
    await settle();
    asked[0]!.send('event: view\ndata: {"n": 1}\n\n');
    await settle();
    asked[0]!.end();
    await settle();
    expect(last()).toMatchObject({ data: { n: 1 }, state: 'lost' });
    expect(lostSince.value).not.toBeNull();
    await vi.advanceTimersByTimeAsync(1000);
    expect(asked.length).toBe(2);
    asked[1]!.send('event: view\ndata: {"n": 2}\n\n');
    await settle();
    expect(last()).toMatchObject({ data: { n: 2 }, state: 'live' });
    expect(lostSince.value).toBeNull();
    view.stop();
  });

  it('asks less and less often while nobody answers', async () => {
    answer = () => json({ error: { code: 'unavailable', message: '', hint: '' } }, 503);
    const { view } = follow();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.length).toBeLessThan(15);
    view.stop();
    const before = asked.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBe(before);
  });

  it('ends with what asking again does not change', async () => {
    answer = () => json({ error: { code: 'unknown_job', message: 'there is no job 1', hint: '' } }, 404);
    const { last } = follow();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBe(1);
    expect(last()).toMatchObject({ state: 'failed', error: { code: 'unknown_job' } });
  });

  it('ends with an error in the stream, and keeps the last view', async () => {
    const { last } = follow();
    await settle();
    asked[0]!.send('event: view\ndata: {"n": 1}\n\nevent: error\ndata: {"error": {"code": "unknown_job", "message": "gone"}}\n\n');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBe(1);
    expect(last()).toMatchObject({ state: 'failed', data: { n: 1 }, error: { message: 'gone' } });
  });

  it('ends with what is too large, and tells the hint', async () => {
    const { last } = follow();
    await settle();
    asked[0]!.send('event: error\ndata: {"error": {"code": "too_large", "message": "over 4 MiB", "hint": "ask for fewer"}}\n\n');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBe(1);
    expect(last()).toMatchObject({ state: 'failed', error: { status: 413, message: 'over 4 MiB', hint: 'ask for fewer' } });
  });

  it('asks again where the server is at its bound of streams', async () => {
    const { view, last } = follow();
    await settle();
    asked[0]!.send('event: error\ndata: {"error": {"code": "too_many_waits", "message": "full"}}\n\n');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(asked.length).toBe(2);
    expect(last()).toMatchObject({ state: 'lost', error: { status: 429 } });
    view.stop();
  });

  it('asks from time to time where the server does not stream', async () => {
    let n = 0;
    answer = () => json({ n: ++n });
    const { view, last } = follow();
    await vi.advanceTimersByTimeAsync(11_000);
    expect(last()).toMatchObject({ data: { n: 3 }, state: 'live' });
    view.stop();
  });

  it('holds no connection while the tab is hidden', async () => {
    const { view } = follow();
    await settle();
    doc.hidden = true;
    tell('visibilitychange');
    expect(asked[0]!.aborted()).toBe(true);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBe(1);
    doc.hidden = false;
    tell('visibilitychange');
    await settle();
    expect(asked.length).toBe(2);
    view.stop();
  });

  it('streams a secondary view only with the focus', async () => {
    let streams = 0;
    answer = (request) => (request.accept === 'text/event-stream' ? (streams++, undefined) : json({ n: 1 }));
    doc.focused = false;
    const { view, last } = follow(true);
    await settle();
    expect(streams).toBe(0);
    expect(last()).toMatchObject({ data: { n: 1 }, state: 'live' });
    doc.focused = true;
    tell('focus');
    await settle();
    expect(streams).toBe(1);
    view.stop();
  });

  it('streams no more than two secondary views; when one goes, another takes its place', async () => {
    answer = (request) => (request.accept === 'text/event-stream' ? undefined : json({ n: 1 }));
    const views = [follow(true), follow(true), follow(true)];
    await settle();
    expect(asked.map((request) => request.accept === 'text/event-stream')).toEqual([true, true, false]);
    expect(views[2]!.last()).toMatchObject({ data: { n: 1 }, state: 'live' });
    const primary = follow();
    await settle();
    expect(asked[3]!.accept).toBe('text/event-stream');
    views[0]!.view.stop();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(asked.length).toBe(5);
    expect(asked[4]!.accept).toBe('text/event-stream');
    for (const one of [...views, primary]) one.view.stop();
  });

  it('gives its places back with the focus, and takes as many again', async () => {
    answer = (request) => (request.accept === 'text/event-stream' ? undefined : json({ n: 1 }));
    const views = [follow(true), follow(true), follow(true)];
    await settle();
    doc.focused = false;
    tell('blur');
    await settle();
    expect(asked.filter((request) => request.accept === 'text/event-stream' && !request.aborted()).length).toBe(0);
    doc.focused = true;
    tell('focus');
    await settle();
    expect(asked.filter((request) => request.accept === 'text/event-stream' && !request.aborted()).length).toBe(2);
    for (const one of views) one.view.stop();
  });
});

describe('whether an error passes', () => {
  const error = (status: number, code: string) => new ApiError(status, code, '');
  it.each([
    [0, 'unreachable'],
    [503, 'stopping'],
    [507, 'disk_full'],
    [500, 'internal'],
    [429, 'too_many_waits'],
    [408, 'timed_out'],
    [429, 'bad_answer'],
    [502, 'bad_answer'],
  ])('%d %s does', (status, code) => {
    expect(passing(error(status, code))).toBe(true);
  });
  it.each([
    [400, 'bad_value'],
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'unknown_job'],
    [409, 'stale'],
    [413, 'too_large'],
    [429, 'too_many_jobs'],
  ])('%d %s does not', (status, code) => {
    expect(passing(error(status, code))).toBe(false);
  });
});

// The table of the page of errors is what statusOf() has to say.
describe('statusOf', () => {
  const rows = [...page.matchAll(/^\| (`[^|]*`) \| (\d{3}) \|/gm)].flatMap(([, codes, status]) =>
    [...codes!.matchAll(/`(\w+)`/g)].map((code): [string, number] => [code[1]!, Number(status)]),
  );
  it('is found on the page', () => expect(rows.length).toBeGreaterThan(30));
  it.each(rows)('%s is %d', (code, status) => expect(statusOf(code)).toBe(status));
});

// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { SseParser } from './sse';

const kStream =
  ': ping\n\nevent: view\ndata: {"a": 1}\n\ndata:x\ndata: y\r\n\r\nevent: nothing\n\nevent: error\rdata: {"é": "…"}\r\rdata: unfinished\n';
const kEvents = [
  { event: 'view', data: '{"a": 1}' },
  { event: 'message', data: 'x\ny' },
  { event: 'error', data: '{"é": "…"}' },
];

describe('SseParser', () => {
  it('gives the same events whatever pieces the text comes in', () => {
    for (let size = 1; size <= kStream.length; size++) {
      const parser = new SseParser();
      const events = [];
      for (let at = 0; at < kStream.length; at += size) events.push(...parser.feed(kStream.slice(at, at + size)));
      expect(events, `pieces of ${size}`).toEqual(kEvents);
    }
  });

  it('gives an event only once it is complete', () => {
    const parser = new SseParser();
    expect(parser.feed('data: 1\n')).toEqual([]);
    expect(parser.feed('\n')).toEqual([{ event: 'message', data: '1' }]);
  });
});

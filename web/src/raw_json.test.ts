// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { prettyRaw, rawMembers } from './raw_json';

describe('raw JSON', () => {
  it('keeps numbers to the digit', () => {
    const members = rawMembers('{"index": 7, "payload": 12345678901234567890, "result": {"x": 1.10, "y": [1e400]}}');
    expect(members.get('payload')).toBe('12345678901234567890');
    expect(prettyRaw(members.get('result')!)).toBe('{\n  "x": 1.10,\n  "y": [\n    1e400\n  ]\n}');
  });

  it('is not led astray by what strings contain', () => {
    const text = JSON.stringify({ error: 'a "payload": 1, }]', payload: { 'k"]': ['\\', '}', ''] }, last: null });
    const members = rawMembers(text);
    expect([...members.keys()]).toEqual(['error', 'payload', 'last']);
    for (const [name, raw] of members) expect(JSON.parse(raw)).toEqual((JSON.parse(text) as Record<string, unknown>)[name]);
  });

  it('prints as JSON.stringify does, where that loses nothing', () => {
    for (const value of [{}, [], null, true, 0, { a: {}, b: [[]], c: [{ d: 'x:y,z' }] }, [1, [2, [3]]]]) {
      expect(prettyRaw(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
      expect(prettyRaw(JSON.stringify(value, null, 1))).toBe(JSON.stringify(value, null, 2));
    }
  });

  it('shows strings as they are', () => {
    expect(prettyRaw('"<b>\\n\\u00e9"')).toBe('<b>\né');
  });
});

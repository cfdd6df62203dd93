// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { ApiError } from './api';
import { excerpt, indexOfByte, placeOf } from './places';

const bad = (message: string, hint = '') => new ApiError(400, 'bad_value', message, hint);

describe('the place of an error', () => {
  it('is read from the message', () => {
    expect(placeOf(bad('`expr`: expected an expression here (at byte 21)', 'after `x`'))).toEqual({
      field: 'expr',
      message: 'expected an expression here',
      hint: '',
      byte: 21,
    });
    expect(placeOf(bad('`worker.tags[0]` must be 1 to 128 letters', 'so'))).toEqual({
      field: 'worker.tags[0]',
      message: 'must be 1 to 128 letters',
      hint: 'so',
      byte: null,
    });
    expect(placeOf(new ApiError(503, 'unavailable', '`x`: (at byte 1)'))).toBeNull();
    expect(placeOf(new Error('no'))).toBeNull();
  });

  it('is counted in bytes of UTF-8', () => {
    expect(indexOfByte('abc', 1)).toBe(1);
    expect(indexOfByte('äbc', 2)).toBe(1);
    expect(indexOfByte('€x', 3)).toBe(1);
    expect(indexOfByte('😀x', 4)).toBe(2);
    // Inside a character, and behind the end.
    expect(indexOfByte('😀x', 2)).toBe(0);
    expect(indexOfByte('abc', 99)).toBe(3);
  });

  it('is shown with its line', () => {
    expect(excerpt('one\ntwo (\nthree', 8)).toEqual({ before: 'two ', at: '(', after: '', line: 2, column: 5 });
    expect(excerpt('x &&', 4)).toEqual({ before: 'x &&', at: '', after: '', line: 1, column: 5 });
    expect(excerpt('a\nb', 1)).toEqual({ before: 'a', at: '', after: '', line: 1, column: 2 });
    const long = excerpt(`${'a'.repeat(100)}!${'b'.repeat(100)}`, 100, 10);
    expect(long.before).toBe(`…${'a'.repeat(10)}`);
    expect(long.at).toBe('!');
    expect(long.after).toBe(`${'b'.repeat(9)}…`);
    expect(long.column).toBe(101);
  });
});

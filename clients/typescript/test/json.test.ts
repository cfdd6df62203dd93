// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

// Not public: through its file.
const { parse, parseValue, stringify } = (await import(
  new URL('../../dist/base/json.js', import.meta.url).href
)) as typeof import('../dist/base/json.js');

describe('JSON', () => {
  it('keeps bytes, at any depth', () => {
    const bytes = new Uint8Array([0, 255, 128, 10]);
    assert.equal(stringify(bytes), '{"$base64":"AP+ACg=="}');
    assert.equal(stringify(Buffer.from(bytes)), '{"$base64":"AP+ACg=="}');
    assert.deepEqual(parseValue(stringify({ a: [bytes], b: 1 })!), { a: [bytes], b: 1 });
    const large = new Uint8Array(100_000).map((_, i) => i * 7);
    assert.deepEqual(parseValue(stringify(large)!), large);
  });
  it('keeps the digits of large integers on request', () => {
    const text =
      '{"a":9007199254740993,"b":[-9223372036854775808,1],"c":9007199254740991,"d":1e3,"e":"x: 12345678901234567890","__proto__":12345678901234567890}';
    const value = parse(text, 'bigint') as Record<string, unknown>;
    assert.equal(value['a'], 9007199254740993n);
    assert.deepEqual(value['b'], [-9223372036854775808n, 1]);
    assert.equal(value['c'], 9007199254740991);
    assert.equal(value['e'], 'x: 12345678901234567890');
    assert.equal(Object.getOwnPropertyDescriptor(value, '__proto__')?.value, 12345678901234567890n);
    assert.equal((parse(text) as { a: number }).a, 9007199254740992);
    assert.equal(stringify({ a: 2n ** 63n, b: [1n] }), '{"a":9223372036854775808,"b":[1]}');
    assert.equal(parse('12345678901234567890', 'bigint'), 12345678901234567890n);
    assert.deepEqual(parse(' [ 12345678901234567890 , { "a" : "\\"" } , [ ] , { } ] ', 'bigint'), [
      12345678901234567890n,
      { a: '"' },
      [],
      {},
    ]);
    assert.throws(() => parse('[12345678901234567890', 'bigint'), SyntaxError);
  });
  it('is JSON.stringify otherwise', () => {
    const date = new Date(0);
    for (const value of [null, true, 'a', 1.5, [1, undefined], { a: undefined, b: date }, { toJSON: () => 7 }, undefined]) {
      assert.equal(stringify(value), JSON.stringify(value));
    }
    assert.equal(stringify({ a: 1n, b: date, c: undefined, d: { toJSON: () => 2n } }), '{"a":1,"b":"1970-01-01T00:00:00.000Z","d":2}');
    const circle: unknown[] = [];
    circle.push(circle);
    assert.throws(() => stringify(circle), TypeError);
  });
});

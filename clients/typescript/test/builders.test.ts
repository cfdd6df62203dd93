// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';

import * as al from 'allotter';
import type { Expression, Strategy } from 'allotter';
import { Random } from './random.js';
import { bin, Server } from './server.js';

const TEXTS = ['preview', '', 'a "quoted" one', 'back\\slash', 'a\nline', 'é', '\u0001', 'x'.repeat(30), '0'];

function someReal(random: Random): number {
  const value = (random.unit() - 0.5) * 10 ** (random.below(50) - 25);
  return random.below(3) === 0 ? Math.round(value) : value;
}

function strategy(random: Random, depth: number): Strategy {
  const order = () => random.of([al.random, al.oldest, al.newest, al.priority, al.leastRecent])();
  if (depth === 0) return order();
  const key = random.of(['customer', 'Mode', 'user', 'job', 'size_2']);
  const inner = () => strategy(random, depth - 1);
  switch (random.below(7)) {
    case 0: {
      const values = [
        random.of(TEXTS),
        random.below(1000) - 500,
        2n ** 62n + 1n,
        -(2n ** 63n),
        random.below(2) === 0,
        al.real(someReal(random)),
        someReal(random),
      ];
      return al.selectOnly(random.of(['mode', 'Size', 'x']), random.of(values), inner());
    }
    case 1:
      return al.preferDistinct(key, inner());
    case 2:
      return al.preferDistinct(key, 1 + random.below(5), inner());
    case 3:
      return al.maxSimultaneous(key, random.below(2) ? 1 + random.below(9) : `${1 + random.below(100)}%`, inner());
    case 4:
      return al.fair(key, inner());
    case 5:
      return al.orElse(inner(), inner());
    default:
      return order();
  }
}

describe('strategies', () => {
  let server: Server;
  let client: al.Client;
  before(async () => {
    server = await Server.start();
    client = new al.Client({ server: server.url });
  });
  after(() => server.stop());

  it('come back from the server as they were written', async (t) => {
    const random = new Random();
    t.diagnostic(`seed ${random.seed}`);
    for (let i = 0; i < 300; i++) {
      const made = strategy(random, random.below(4));
      const answer = await client.checkStrategy(made);
      assert.equal(answer.strategy, String(made));
    }
  });
  it('are the same as objects', async () => {
    const made = al.maxSimultaneous(
      'customer',
      '20%',
      al.orElse(al.selectOnly('mode', 'preview', al.oldest()), al.preferDistinct('x', al.random())),
    );
    const answer = await client.checkStrategy(made.object);
    assert.equal(answer.strategy, String(made));
    assert.deepEqual(answer.json, made.object);
  });
  it('are policies with the word worker', async () => {
    const answer = await client.checkStrategy(al.fair('user', al.workersOwn()), { policy: true });
    assert.match(answer.words, /user/);
    await assert.rejects(client.checkStrategy(al.workersOwn()), al.BadValue);
  });
  it('refuse at once what cannot be', () => {
    assert.throws(() => al.preferDistinct('a b', al.random()), TypeError);
    assert.throws(() => al.preferDistinct('a', 0, al.random()), RangeError);
    assert.throws(() => al.maxSimultaneous('a', '0%', al.random()), RangeError);
    assert.throws(() => al.named('x)'), TypeError);
  });
});

const run = promisify(execFile);

// Without constants where they would be folded, so that what `allot expr flatten` prints is the whole, canonical.
function expression(random: Random, depth: number): Expression {
  const reference = () => random.of([al.target, al.machine])(random.of(['a', 'b', 'memory', 'Name', 'error']));
  if (depth === 0) return reference();
  const inner = () => expression(random, depth - 1);
  const value = () =>
    random.of([random.of(TEXTS), random.below(1000) - 500, -(2n ** 63n), true, al.real(someReal(random)), someReal(random)]);
  const operand = () => (random.below(3) === 0 ? value() : inner());
  switch (random.below(12)) {
    case 0:
      return random.of(['and', 'or'] as const) === 'and' ? inner().and(inner()) : inner().or(inner());
    case 1:
      return inner()[random.of(['eq', 'ne', 'is', 'isnt', 'lt', 'le', 'gt', 'ge'] as const)](operand());
    case 2:
      return inner()[random.of(['plus', 'minus', 'times', 'over', 'mod'] as const)](inner());
    case 3:
      return inner()[random.of(['bitAnd', 'bitOr', 'bitXor', 'shiftLeft', 'shiftRight', 'shiftRightUnsigned'] as const)](inner());
    case 4:
      return inner()[random.of(['not', 'negated', 'bitNot'] as const)]();
    case 5:
      // The left one may be undefined, as far as can be known: or the right one is folded away.
      return random.of([reference(), reference().plus(inner()), reference().not(), reference().otherwise(reference())]).otherwise(inner());
    case 6:
      return inner().then(operand(), operand());
    case 7:
      return al.list(inner(), operand()).at(inner());
    case 8:
      return al.record({ x: inner(), y: operand() }).at(inner());
    case 9:
      return al.fn.member(inner(), [inner(), operand()]);
    case 10:
      return al.fn.strcat(inner(), operand());
    default:
      return inner().at(inner());
  }
}

describe('expressions', () => {
  it('print as the server does', async (t) => {
    const random = new Random();
    t.diagnostic(`seed ${random.seed}`);
    for (let i = 0; i < 60; i++) {
      const text = String(expression(random, 1 + random.below(4)));
      const { stdout } = await run(bin, ['expr', 'flatten', '--', text]);
      assert.equal(stdout.trimEnd(), text);
    }
  });
  it('mean what they say', async () => {
    const { my, target, fn, expr, real } = al;
    const cases: [Expression, string][] = [
      [target('memory').ge(4096).and(target('arch').eq('x86_64')), 'TARGET.memory >= 4096 && TARGET.arch == "x86_64"'],
      [target('a').plus(1).times(2), '(TARGET.a + 1) * 2'],
      [target('load').otherwise(0).gt(10), 'TARGET.load ?: 0 > 10'],
      [
        fn.member('gpu', target('Tags')).and(fn.member('spot', target('Tags')).not()),
        'member("gpu", TARGET.Tags) && !member("spot", TARGET.Tags)',
      ],
      [expr`TARGET.memory >= ${4096} && TARGET.arch == ${'x"; y'}`, 'TARGET.memory >= 4096 && TARGET.arch == "x\\"; y"'],
      [expr`a || b`.and(my('c')), '(a || b) && MY.c'],
      [my('x').minus(-1), 'MY.x - -1'],
      [al.literal(real(1)), '1.0'],
    ];
    for (const [made, text] of cases) assert.equal(String(made), text);
    const { stdout } = await run(bin, ['expr', 'eval', String(target('load').otherwise(0).lt(0.5).then('idle', 'busy'))]);
    assert.equal(stdout.trim(), '"idle"');
  });
  it('refuse at once what cannot be', () => {
    assert.throws(() => al.target('a b'), TypeError);
    assert.throws(() => al.attribute('true'), TypeError);
    assert.throws(() => al.literal(2n ** 63n), RangeError);
    assert.throws(() => al.literal(Infinity), RangeError);
  });
});

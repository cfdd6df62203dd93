// SPDX-License-Identifier: Apache-2.0
// Strategies as objects: preferDistinct('company_id', random()). Their text is the server's own canonical one.

import { Real, realText } from './real.js';

export type StrategyValue = string | number | bigint | boolean | Real;

export class Strategy {
  private constructor(
    private readonly text: string,
    private readonly json: unknown,
  ) {}

  toString(): string {
    return this.text;
  }
  // As protocol and command line take it, too; bigints and reals keep their kind in the text alone.
  toJSON(): string {
    return this.text;
  }
  // The protocol's form as an object.
  get object(): unknown {
    return this.json;
  }

  static word(word: string): Strategy {
    return new Strategy(word, word);
  }
  static keyed(block: string, key: string, fields: { value?: StrategyValue; max?: number | string }, inner: Strategy): Strategy {
    const name = checkKey(key);
    let text = name;
    const json: Record<string, unknown> = { key: name };
    if (fields.value !== undefined) {
      text += ` = ${valueText(fields.value)}`;
      json['value'] = fields.value instanceof Real ? fields.value.value : fields.value;
    }
    if (fields.max !== undefined) {
      text += `, ${fields.max}`;
      json['max'] = fields.max;
    }
    return new Strategy(`${block}(${text}, ${inner.text})`, { [block]: { ...json, inner: inner.json } });
  }
  static choice(branches: readonly Strategy[]): Strategy {
    return new Strategy(`or_else(${branches.join(', ')})`, { or_else: branches.map((branch) => branch.json) });
  }
}

function checkKey(key: string): string {
  if (!/^[A-Za-z0-9_]+$/.test(key)) throw new TypeError(`a key is letters, digits and _, not ${JSON.stringify(key)}`);
  return key.toLowerCase();
}

function valueText(value: StrategyValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value === 0 ? 0 : value) : realText(value);
  if (value instanceof Real) return realText(value.value === 0 ? 0 : value.value);
  return String(value);
}

function checkMax(max: number): number {
  if (!(Number.isInteger(max) && max >= 1 && max <= 4_294_967_295)) throw new RangeError(`max is a whole number from 1, not ${max}`);
  return max;
}

// ---- Orders.

// Every queued task equally likely.
export const random = (): Strategy => Strategy.word('random');
export const oldest = (): Strategy => Strategy.word('oldest');
export const newest = (): Strategy => Strategy.word('newest');
// The highest first, jobs without one last; the default.
export const priority = (): Strategy => Strategy.word('priority');
// The job that was picked from longest ago.
export const leastRecent = (): Strategy => Strategy.word('least_recent');
// In a policy alone: the asking worker's own strategy.
export const workersOwn = (): Strategy => Strategy.word('worker');

// One that has a name in the server's configuration.
export function named(name: string): Strategy {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    throw new TypeError(`a strategy's name is letters, digits and _, not ${JSON.stringify(name)}`);
  return Strategy.word(name);
}

// ---- Blocks.

// Only jobs whose key has that value.
export function selectOnly(key: string, value: StrategyValue, inner: Strategy): Strategy {
  return Strategy.keyed('select_only', key, { value }, inner);
}

// Values take turns, softly; nothing is held back.
export function preferDistinct(key: string, inner: Strategy): Strategy;
export function preferDistinct(key: string, max: number, inner: Strategy): Strategy;
export function preferDistinct(key: string, max: number | Strategy, inner?: Strategy): Strategy {
  if (max instanceof Strategy) return preferDistinct(key, 1, max);
  return Strategy.keyed('prefer_distinct', key, { max: checkMax(max) }, inner!);
}

// A ceiling: no task of a value that has so many running. Also a percentage of all slots, as '20%'.
export function maxSimultaneous(key: string, max: number | `${number}%`, inner: Strategy): Strategy {
  if (typeof max === 'number') return Strategy.keyed('max_simultaneous', key, { max: checkMax(max) }, inner);
  if (!/^[1-9][0-9]*%$/.test(max)) throw new RangeError(`a percentage is a whole number and %, not ${max}`);
  return Strategy.keyed('max_simultaneous', key, { max }, inner);
}

// Shares between the values of a key.
export function fair(key: string, inner: Strategy): Strategy {
  return Strategy.keyed('fair', key, {}, inner);
}

// The first of them that has a task.
export function orElse(first: Strategy, second: Strategy, ...more: Strategy[]): Strategy {
  return Strategy.choice([first, second, ...more]);
}

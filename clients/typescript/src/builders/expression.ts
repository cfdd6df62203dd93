// SPDX-License-Identifier: Apache-2.0
// Expressions as objects: target('memory').ge(4096).and(target('arch').eq('x86_64')). They print with as few brackets as
// the server itself does. Values never become anything but values, whatever is in them.

import { Real, realText } from './real.js';

export type Literal = string | number | bigint | boolean | Real;
export type Operand = Expression | Literal | readonly Operand[];

// What may stand in a place without brackets, loosest first; the binary operators are between.
const ANYTHING = 0;
const LEVELS: Record<string, number> = {};
[
  ['||'],
  ['&&'],
  ['|'],
  ['^'],
  ['&'],
  ['==', '!=', '=?=', '=!='],
  ['<', '<=', '>', '>='],
  ['<<', '>>', '>>>'],
  ['+', '-'],
  ['*', '/', '%'],
].forEach((operators, i) => operators.forEach((operator) => (LEVELS[operator] = i + 1)));
const UNARY = 11;
const RIGHT_OF_OTHERWISE = 12; // unary, but `?:` not even inside it
const LEFT_OF_OTHERWISE = 13;
const BASE = 14; // of [index]
const SELECTED = 15; // of .name: a number would take the dot for its point

// The text for a place.
type Printer = (place: number) => string;

export class Expression {
  constructor(private readonly print: Printer) {}

  toString(): string {
    return this.print(ANYTHING);
  }
  toJSON(): string {
    return this.toString();
  }
  // In brackets where the place needs them.
  in(place: number): string {
    return this.print(place);
  }

  or(other: Operand): Expression {
    return binary('||', this, other);
  }
  and(other: Operand): Expression {
    return binary('&&', this, other);
  }
  not(): Expression {
    return unary('!', this);
  }
  // Compare numbers by value and strings without regard to case; UNDEFINED where a side is.
  eq(other: Operand): Expression {
    return binary('==', this, other);
  }
  ne(other: Operand): Expression {
    return binary('!=', this, other);
  }
  // The same in kind and value; always true or false.
  is(other: Operand): Expression {
    return binary('=?=', this, other);
  }
  isnt(other: Operand): Expression {
    return binary('=!=', this, other);
  }
  lt(other: Operand): Expression {
    return binary('<', this, other);
  }
  le(other: Operand): Expression {
    return binary('<=', this, other);
  }
  gt(other: Operand): Expression {
    return binary('>', this, other);
  }
  ge(other: Operand): Expression {
    return binary('>=', this, other);
  }
  plus(other: Operand): Expression {
    return binary('+', this, other);
  }
  minus(other: Operand): Expression {
    return binary('-', this, other);
  }
  times(other: Operand): Expression {
    return binary('*', this, other);
  }
  over(other: Operand): Expression {
    return binary('/', this, other);
  }
  mod(other: Operand): Expression {
    return binary('%', this, other);
  }
  negated(): Expression {
    return unary('-', this);
  }
  bitAnd(other: Operand): Expression {
    return binary('&', this, other);
  }
  bitOr(other: Operand): Expression {
    return binary('|', this, other);
  }
  bitXor(other: Operand): Expression {
    return binary('^', this, other);
  }
  bitNot(): Expression {
    return unary('~', this);
  }
  shiftLeft(bits: Operand): Expression {
    return binary('<<', this, bits);
  }
  shiftRight(bits: Operand): Expression {
    return binary('>>', this, bits);
  }
  shiftRightUnsigned(bits: Operand): Expression {
    return binary('>>>', this, bits);
  }
  // This, unless it is UNDEFINED: then the other.
  otherwise(other: Operand): Expression {
    const right = toExpression(other);
    return new Expression((place) =>
      bracketed(place === RIGHT_OF_OTHERWISE || place >= BASE, `${this.in(LEFT_OF_OTHERWISE)} ?: ${right.in(RIGHT_OF_OTHERWISE)}`),
    );
  }
  // this ? a : b
  then(a: Operand, b: Operand): Expression {
    const [yes, no] = [toExpression(a), toExpression(b)];
    return new Expression((place) => bracketed(place > ANYTHING, `${this.in(1)} ? ${yes.in(ANYTHING)} : ${no.in(ANYTHING)}`));
  }
  // An element of a list, or a field of a record.
  at(index: Operand): Expression {
    const inner = toExpression(index);
    return new Expression(() => `${this.in(BASE)}[${inner.in(ANYTHING)}]`);
  }
  get(name: string): Expression {
    const field = checkName(name);
    return new Expression(() => `${this.in(SELECTED)}.${field}`);
  }
}

function bracketed(brackets: boolean, text: string): string {
  return brackets ? `(${text})` : text;
}

function binary(operator: string, left: Expression, right: Operand): Expression {
  const level = LEVELS[operator]!;
  // The same whichever way they are grouped.
  const chains = operator === '&&' || operator === '||';
  const other = toExpression(right);
  return new Expression((place) => bracketed(place > level, `${left.in(level)} ${operator} ${other.in(chains ? level : level + 1)}`));
}

function unary(operator: string, operand: Expression): Expression {
  return new Expression((place) => {
    const brackets = place > RIGHT_OF_OTHERWISE;
    return bracketed(brackets, operator + operand.in(!brackets && place === RIGHT_OF_OTHERWISE ? RIGHT_OF_OTHERWISE : UNARY));
  });
}

function toExpression(operand: Operand): Expression {
  if (operand instanceof Expression) return operand;
  if (Array.isArray(operand)) return list(...(operand as Operand[]));
  return literal(operand as Literal);
}

const SMALLEST = -(2n ** 63n);

// A value of JavaScript as one of the language. Whole numbers are integers: real(1) is a real.
export function literal(value: Literal): Expression {
  if (typeof value === 'string') return new Expression(() => JSON.stringify(value));
  if (typeof value === 'boolean') return new Expression(() => String(value));
  if (typeof value === 'bigint' && (value < SMALLEST || value >= -SMALLEST)) throw new RangeError(`an integer has 64 bits: ${value}`);
  const text =
    typeof value === 'bigint'
      ? String(value)
      : value instanceof Real
        ? realText(value.value)
        : Number.isSafeInteger(value)
          ? String(value === 0 ? 0 : value)
          : realText(value);
  // A negative number is a minus and a number.
  return new Expression((place) => bracketed((text.startsWith('-') && place > RIGHT_OF_OTHERWISE) || place === SELECTED, text));
}

function checkName(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new TypeError(`a name is letters, digits and _, not ${JSON.stringify(name)}`);
  return name;
}

function scoped(scope: string): (name: string) => Expression {
  return (name) => {
    // Keys may begin with a digit: those are written in brackets.
    const text = /^[0-9][A-Za-z0-9_]*$/.test(name) ? `${scope}["${name}"]` : `${scope}.${checkName(name)}`;
    return new Expression(() => text);
  };
}

// An attribute of the side that owns the expression, of the other one, of the job, of the worker.
export const my = scoped('MY');
export const target = scoped('TARGET');
export const job = scoped('JOB');
export const machine = scoped('MACHINE');

const KEYWORDS = new Set(['true', 'false', 'undefined', 'error', 'is', 'isnt', 'my', 'target', 'job', 'machine']);

// MY.name, and if that is missing TARGET.name.
export function attribute(name: string): Expression {
  if (KEYWORDS.has(checkName(name).toLowerCase())) throw new TypeError(`\`${name}\` cannot stand without a scope`);
  return new Expression(() => name);
}

// What is not known, and what is wrong.
export const UNDEFINED = new Expression(() => 'undefined');
export const ERROR = new Expression(() => 'error');

export function list(...items: Operand[]): Expression {
  const inner = items.map(toExpression);
  return new Expression(() => `{${inner.join(', ')}}`);
}

export function record(fields: Record<string, Operand>): Expression {
  const inner = Object.entries(fields).map(([name, value]) => `${checkName(name)} = ${toExpression(value)}`);
  return new Expression(() => `[${inner.join('; ')}]`);
}

// The text of an expression, with values, or other expressions, in it: expr`TARGET.memory >= ${need}`.
export function expr(text: TemplateStringsArray, ...operands: Operand[]): Expression {
  const whole = text.reduce((before, part, i) => before + toExpression(operands[i - 1]!).in(BASE) + part);
  return new Expression((place) => bracketed(place > ANYTHING, whole));
}

const FUNCTIONS = [
  ...(['isUndefined', 'isError', 'isString', 'isInteger', 'isReal', 'isBoolean', 'isList', 'isClassAd'] as const),
  ...(['int', 'real', 'bool', 'string', 'ifThenElse', 'time', 'floor', 'ceiling', 'round', 'pow', 'quantize'] as const),
  ...(['min', 'max', 'sum', 'avg', 'size', 'member', 'identicalMember', 'anyCompare', 'allCompare'] as const),
  ...(['strcat', 'join', 'substr', 'strcmp', 'stricmp', 'toUpper', 'toLower', 'split', 'splitUserName', 'splitSlotName'] as const),
  ...(['regexp', 'regexpMember', 'stringList_regexpMember', 'regexps', 'replace', 'replaceAll'] as const),
  ...(['stringListMember', 'stringListIMember', 'stringListSubsetMatch', 'stringListISubsetMatch', 'stringListsIntersect'] as const),
  ...(['stringListSize', 'stringListSum', 'stringListAvg', 'stringListMin', 'stringListMax'] as const),
  ...(['versioncmp', 'versionEQ', 'versionLT', 'versionLE', 'versionGT', 'versionGE', 'versionInRange'] as const),
];
export type FunctionName = (typeof FUNCTIONS)[number];

// A call of a function, also of one that is not in `fn`.
export function call(name: string, ...operands: Operand[]): Expression {
  const inner = operands.map(toExpression);
  const text = checkName(name);
  return new Expression(() => `${text}(${inner.join(', ')})`);
}

// The functions of the language: fn.member('gpu', target('Tags')).
export const fn = Object.fromEntries(FUNCTIONS.map((name) => [name, (...operands: Operand[]) => call(name, ...operands)])) as Record<
  FunctionName,
  (...operands: Operand[]) => Expression
>;

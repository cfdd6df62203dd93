// SPDX-License-Identifier: Apache-2.0
// JSON with bytes and large integers. Bytes travel as {"$base64": "…"}, at any depth. An integer beyond 2^53 comes as a
// bigint where that is asked for (`integers: 'bigint'`), and is rounded by JSON.parse where it is not; a bigint that goes
// out keeps all its digits always.

export type Integers = 'number' | 'bigint';

// How payloads and results become JSON values and back, where a task has its own idea of that.
export interface Codec<T> {
  encode(value: T): unknown;
  decode(json: unknown): T;
}

// ---- Out.

// The JSON text of a value; undefined where it has none (undefined, functions).
export function stringify(value: unknown): string | undefined {
  switch (typeof value) {
    case 'number':
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'bigint':
      return value.toString();
    case 'undefined':
      return undefined;
  }
  return needsCare(value, 0) ? careful(value) : JSON.stringify(value);
}

function needsCare(value: unknown, depth: number): boolean {
  if (typeof value === 'bigint') return true;
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof Uint8Array) return true;
  // What is deeper than the server takes (128) is refused by it; what is a circle, by JSON.stringify.
  if (depth > 200) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (needsCare(value[i], depth + 1)) return true;
    return false;
  }
  for (const key in value) if (needsCare((value as Record<string, unknown>)[key], depth + 1)) return true;
  return false;
}

function careful(value: unknown, key = ''): string | undefined {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array) return `{"$base64":"${toBase64(value)}"}`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const toJSON = (value as { toJSON?: (key: string) => unknown }).toJSON;
  if (typeof toJSON === 'function') return careful(toJSON.call(value, key), key);
  if (Array.isArray(value)) return `[${value.map((item, i) => careful(item, String(i)) ?? 'null').join(',')}]`;
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    const text = careful(member, name);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(',')}}`;
}

// ---- In.

// An integer of 16 digits or more that stands where a value may stand. Texts that look so are found, too: harmless.
const LARGE = /(?:^|[:[,\s])-?\d{16,}(?=$|[\s,\]}])/;

export function parse(text: string, integers: Integers = 'number'): unknown {
  if (integers === 'bigint' && LARGE.test(text)) return new Exact(text).run();
  return JSON.parse(text);
}

// As parse(), with bytes where there are any.
export function parseValue(text: string, integers: Integers = 'number'): unknown {
  const value = parse(text, integers);
  return text.includes('"$base64"') ? reviveBytes(value) : value;
}

// Bytes in the place of each {"$base64": "…"}; containers are changed in place.
export function reviveBytes(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = reviveBytes(value[i]);
    return value;
  }
  const object = value as Record<string, unknown>;
  const keys = Object.keys(object);
  const coded = object['$base64'];
  if (keys.length === 1 && typeof coded === 'string') return fromBase64(coded);
  for (const key of keys) object[key] = reviveBytes(object[key]);
  return object;
}

// A parser that keeps the digits of integers. JSON.parse reads what it cannot get wrong, and has read the whole before:
// so the text is known to be JSON.
class Exact {
  private at = 0;
  constructor(private readonly text: string) {
    JSON.parse(text);
  }

  run(): unknown {
    this.space();
    return this.value();
  }

  private space(): void {
    while (' \t\r\n'.includes(this.text[this.at] ?? 'x')) this.at++;
  }

  private value(): unknown {
    switch (this.text[this.at]) {
      case '{':
        return this.object();
      case '[':
        return this.array();
      case '"':
        return this.string();
      default: {
        const begin = this.at;
        while (this.at < this.text.length && !',]} \t\r\n'.includes(this.text[this.at]!)) this.at++;
        const word = this.text.slice(begin, this.at);
        if (!/^-?\d{16,}$/.test(word)) return JSON.parse(word);
        const number = Number(word);
        return Number.isSafeInteger(number) ? number : BigInt(word);
      }
    }
  }

  private string(): string {
    const begin = this.at++;
    while (this.text[this.at] !== '"') this.at += this.text[this.at] === '\\' ? 2 : 1;
    return JSON.parse(this.text.slice(begin, ++this.at)) as string;
  }

  private array(): unknown[] {
    const items: unknown[] = [];
    this.at++;
    for (this.space(); this.text[this.at] !== ']'; this.space()) {
      items.push(this.value());
      this.space();
      if (this.text[this.at] === ',') this.at++;
      this.space();
    }
    this.at++;
    return items;
  }

  private object(): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    this.at++;
    for (this.space(); this.text[this.at] !== '}'; this.space()) {
      const name = this.string();
      this.space();
      this.at++; // the colon
      this.space();
      const value = this.value();
      if (name === '__proto__') Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true });
      else members[name] = value;
      this.space();
      if (this.text[this.at] === ',') this.at++;
    }
    this.at++;
    return members;
  }
}

// ---- Base 64, in browsers too.

export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let i = 0; i < bytes.length; i += 0x8000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(binary);
}

export function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

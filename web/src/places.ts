// SPDX-License-Identifier: Apache-2.0
// Where in a text an error is: the server tells the field, and the place in bytes of UTF-8 from its beginning.
import { ApiError } from './api';

export interface Place {
  // The field of the request: `expr`, `worker.requirements`; empty where the message names none.
  field: string;
  message: string;
  hint: string;
  // null: the error is not at one place.
  byte: number | null;
}

const kNamed = /^`([^`]+)`:? (.*)$/s;
const kAt = / \(at byte (\d+)\)$/;

// What `error` says of one field; null where it is not of that kind.
export function placeOf(error: unknown): Place | null {
  if (!(error instanceof ApiError) || error.code !== 'bad_value') return null;
  const named = kNamed.exec(error.message);
  const at = kAt.exec(error.message);
  const message = (named?.[2] ?? error.message).replace(kAt, '');
  return { field: named?.[1] ?? '', message, hint: at ? '' : error.hint, byte: at ? Number(at[1]) : null };
}

// The index in `text` of the character that has the byte; the text's length where it ends before.
export function indexOfByte(text: string, byte: number): number {
  let bytes = 0;
  let index = 0;
  for (const character of text) {
    const code = character.codePointAt(0)!;
    const size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes + size > byte) return index;
    bytes += size;
    index += character.length;
  }
  return text.length;
}

export interface Excerpt {
  before: string;
  at: string;
  after: string;
  // Counted from 1, as editors do.
  line: number;
  column: number;
}

// The line with the place, cut where it is long: what is there and around it.
export function excerpt(text: string, byte: number, around = 60): Excerpt {
  const index = indexOfByte(text, byte);
  const begin = text.lastIndexOf('\n', index - 1) + 1;
  const newline = text.indexOf('\n', index);
  const end = newline < 0 ? text.length : newline;
  const before = [...text.slice(begin, index)];
  const rest = [...text.slice(index, end)];
  return {
    before: before.length > around ? `…${before.slice(-around).join('')}` : before.join(''),
    at: rest[0] ?? '',
    after: rest.length > around ? `${rest.slice(1, around).join('')}…` : rest.slice(1).join(''),
    line: text.slice(0, index).split('\n').length,
    column: before.length + 1,
  };
}

// SPDX-License-Identifier: Apache-2.0
// JSON as text, without going through numbers: payloads and results are shown to the digit as they are.

// The end of the string that begins at `at`, behind its closing quote.
function stringEnd(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i + 1;
  }
  return text.length;
}

function skipSpace(text: string, at: number): number {
  while (at < text.length && ' \t\r\n'.includes(text[at]!)) at++;
  return at;
}

// The end of the value that begins at `at`.
function valueEnd(text: string, at: number): number {
  if (text[at] === '"') return stringEnd(text, at);
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"') i = stringEnd(text, i) - 1;
    else if (c === '{' || c === '[') depth++;
    else if (c === '}' || c === ']') {
      if (depth === 0) return i;
      if (--depth === 0) return i + 1;
    } else if (depth === 0 && (c === ',' || ' \t\r\n'.includes(c))) return i;
  }
  return text.length;
}

// The text of each member of an object. `text` is JSON.
export function rawMembers(text: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = skipSpace(text, 0);
  if (text[at] !== '{') return members;
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] === '"') {
    const nameEnd = stringEnd(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    at = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const end = valueEnd(text, at);
    members.set(name, text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] !== ',') break;
    at = skipSpace(text, at + 1);
  }
  return members;
}

// JSON on several lines, two blanks a level; a string's own text, without quotes and escapes.
export function prettyRaw(raw: string): string {
  if (raw.startsWith('"')) return JSON.parse(raw) as string;
  const out: string[] = [];
  let depth = 0;
  const line = () => out.push('\n', '  '.repeat(depth));
  for (let i = 0; i < raw.length; i++) {
    const c = raw[i]!;
    if (c === '"') {
      const end = stringEnd(raw, i);
      out.push(raw.slice(i, end));
      i = end - 1;
    } else if (c === '{' || c === '[') {
      const next = skipSpace(raw, i + 1);
      out.push(c);
      if (raw[next] === '}' || raw[next] === ']') {
        out.push(raw[next]!);
        i = next;
      } else {
        depth++;
        line();
      }
    } else if (c === '}' || c === ']') {
      depth--;
      line();
      out.push(c);
    } else if (c === ',') {
      out.push(c);
      line();
    } else if (c === ':') {
      out.push(': ');
    } else if (!' \t\r\n'.includes(c)) {
      out.push(c);
    }
  }
  return out.join('');
}

// SPDX-License-Identifier: Apache-2.0
// Durations as they are typed: "90s", "1h30m", "250ms". As the command line takes them; a bare number is refused, since
// nobody can tell of what.
const kUnits: [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];

// Milliseconds; null for what is no duration.
export function parseDuration(text: string): number | null {
  const rest = text.trim().replace(/\s+/g, '');
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(rest)) return null;
  let sum = 0;
  for (const [, number, unit] of rest.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    sum += Number(number) * kUnits.find(([name]) => name === unit)![1];
  }
  return Number.isFinite(sum) ? Math.round(sum) : null;
}

// The same as text, exactly: what a field begins with must not change what it stands for.
export function durationText(ms: number): string {
  if (ms <= 0) return '0s';
  let rest = Math.round(ms);
  let text = '';
  for (const [name, size] of kUnits) {
    const n = Math.floor(rest / size);
    if (n) text += `${n}${name}`;
    rest -= n * size;
  }
  return text;
}

// SPDX-License-Identifier: Apache-2.0
// Numbers, durations and times for people. Pure: the present is an argument.

const kThin = '\u202f';

// 1,204 (with thin spaces it could not be pasted; commas are what the server's messages have).
export function count(n: number): string {
  return Math.round(n).toLocaleString('en-US');
}

// 1.2k, 83M: three digits at most, for where there is no room.
export function short(n: number): string {
  const sign = n < 0 ? '-' : '';
  let value = Math.abs(n);
  if (value < 1000) return sign + trim(value < 10 ? value.toFixed(value % 1 ? 1 : 0) : value.toFixed(0));
  const units = ['k', 'M', 'G', 'T', 'P'];
  let unit = -1;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return sign + trim(value < 9.95 ? value.toFixed(1) : value.toFixed(0)) + units[unit];
}

function trim(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

// A number with at most three digits that mean something: levels, costs, rates.
export function real(n: number): string {
  if (!Number.isFinite(n)) return '–';
  const magnitude = Math.abs(n);
  if (magnitude >= 100) return count(n);
  if (magnitude >= 10) return trim(n.toFixed(1));
  return trim(n.toFixed(2)) || '0';
}

// How far a running task is: 25 % (3 of 12), frames.
export function progress({ done, of, note }: { done: number; of?: number; note?: string }): string {
  const part = of ? `${Math.floor(Math.min(1, done / of) * 100)} % (${real(done)} of ${real(of)})` : real(done);
  return note ? `${part}, ${note}` : part;
}

// The same where there is little room: 4.3G.
export function compact(n: number): string {
  return Math.abs(n) >= 10_000 ? short(n) : real(n);
}

// 12.5/s, 4/min, 3/h: whichever has a number of some size.
export function rate(perSecond: number): string {
  if (perSecond <= 0 || !Number.isFinite(perSecond)) return `0/s`;
  if (perSecond >= 0.95) return `${perSecond >= 1000 ? short(perSecond) : real(perSecond)}/s`;
  if (perSecond * 60 >= 0.95) return `${real(perSecond * 60)}/min`;
  return `${real(perSecond * 3600)}/h`;
}

export function percent(part: number): string {
  const value = part * 100;
  if (value > 0 && value < 1) return '<1%';
  if (value > 99 && value < 100) return '>99%';
  return `${Math.round(value)}%`;
}

export function bytes(n: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 || n >= 100 ? n.toFixed(0) : n.toFixed(1)}${kThin}${units[unit]}`;
}

// 250ms, 4.7s, 95s → 1m35s, 3h20m, 2d4h: two units at most, as the command line takes them.
export function duration(ms: number): string {
  if (ms < 0) ms = 0;
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 9_950) return `${trim((ms / 1000).toFixed(1))}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const two = (big: number, bigUnit: string, small: number, smallUnit: string) =>
    small ? `${big}${bigUnit}${small}${smallUnit}` : `${big}${bigUnit}`;
  if (seconds < 3600) return two(Math.floor(seconds / 60), 'm', seconds % 60, 's');
  const minutes = Math.round(seconds / 60);
  if (minutes < 24 * 60) return two(Math.floor(minutes / 60), 'h', minutes % 60, 'm');
  const hours = Math.round(minutes / 60);
  if (hours < 100 * 24) return two(Math.floor(hours / 24), 'd', hours % 24, 'h');
  const days = Math.round(hours / 24);
  return days < 1000 ? `${days}d` : `${count(days / 365)}y`;
}

// One unit: for ages in lists.
export function shortDuration(ms: number): string {
  if (ms < 0) ms = 0;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}

export function ago(at_ms: number, now_ms: number): string {
  const past = now_ms - at_ms;
  if (past < -999) return `in ${shortDuration(-past)}`;
  return past < 1000 ? 'now' : `${shortDuration(past)} ago`;
}

const two = (n: number) => String(n).padStart(2, '0');

// 2026-01-31 10:00:07, in the browser's time zone.
export function dateTime(at_ms: number): string {
  const d = new Date(at_ms);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

// 10:00:07, or 10:00 without seconds; of seconds since 1970.
export function clock(at_s: number, seconds: boolean): string {
  return new Date(at_s * 1000).toTimeString().slice(0, seconds ? 8 : 5);
}

// What stands at an axis of time: with seconds where without them two would be alike.
export function clockLabels(ticks_s: number[]): string[] {
  const seconds = ticks_s.some((at) => at % 60 !== 0);
  return ticks_s.map((at) => clock(at, seconds));
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// A word for the shell: as it is where that is safe, in single quotes otherwise.
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_.\-/:=@+,%]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
}

// SPDX-License-Identifier: Apache-2.0
// The keyboard: `g` and a letter go to a page, `/` to the filter, j/k or arrows through lists, Enter opens, ? lists all.
import { signal } from '@preact/signals';
import { href, navigate, route } from './router';
import type { Page } from './router';

export const kGo: [string, Page, string][] = [
  ['o', 'overview', 'Overview'],
  ['j', 'jobs', 'Jobs'],
  ['w', 'workers', 'Workers'],
  ['s', 'sharing', 'Sharing'],
  ['l', 'limits', 'Limits'],
  ['t', 'strategies', 'Strategies'],
  ['q', 'queues', 'All queues'],
];

export const keysShown = signal(false);

let goUntil = 0;

function typing(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element && (/^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName) || element.isContentEditable);
}

// Rows carry `data-row` and can be focused; a link with `data-open` in them is what Enter opens.
function rows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('#main [data-row]')].filter((row) => row.offsetParent !== null);
}

function move(step: number): boolean {
  const all = rows();
  if (!all.length) return false;
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step));
  all[next]!.focus();
  all[next]!.scrollIntoView({ block: 'nearest' });
  return true;
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const target = event.target as HTMLElement | null;
  if (document.querySelector('dialog[open]')) return;
  if (typing(target)) {
    if (event.key === 'Escape') target!.blur();
    // A checkbox in a row is left by j and k as the row itself is.
    if (!(target instanceof HTMLInputElement && target.type === 'checkbox')) return;
  }
  if (goUntil > Date.now()) {
    goUntil = 0;
    const go = kGo.find(([key]) => key === event.key);
    if (go) {
      event.preventDefault();
      navigate(href(go[1], route.value.queue));
      return;
    }
  }
  const row = target?.closest?.<HTMLElement>('[data-row]');
  switch (event.key) {
    case 'g':
      goUntil = Date.now() + 1500;
      break;
    case '?':
      keysShown.value = true;
      break;
    case '/': {
      const filter = document.querySelector<HTMLElement>('#main [data-filter]');
      if (!filter) return;
      filter.focus();
      if (filter instanceof HTMLInputElement) filter.select();
      break;
    }
    case 'j':
      if (!move(1)) return;
      break;
    case 'k':
      if (!move(-1)) return;
      break;
    case 'ArrowDown':
    case 'ArrowUp':
      if (!row || !move(event.key === 'ArrowDown' ? 1 : -1)) return;
      break;
    case 'Enter': {
      if (target !== row || !row) return;
      const open = row.querySelector<HTMLElement>('[data-open]');
      if (!open) return;
      open.click();
      break;
    }
    case 'x': {
      const box = row?.querySelector<HTMLInputElement>('input[type=checkbox]');
      if (!box) return;
      box.click();
      break;
    }
    default:
      return;
  }
  event.preventDefault();
}

export function listenToKeys(): void {
  document.addEventListener('keydown', onKey);
}

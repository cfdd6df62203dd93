// SPDX-License-Identifier: Apache-2.0
// Which page is shown, by the address. Filters are in the query string, so that a page can be bookmarked and shared.
//
//   /                     all queues              /q/QUEUE              a queue's overview
//   /q/QUEUE/jobs         its jobs                /jobs/ID              a job
//   /workers  /workers/ID  /sharing  /limits  /limits/UUID  /strategies
//
// The latter are of the queue `default`, unless the query string says `q=NAME`; /q/QUEUE may also stand before any of them.
import { computed, signal } from '@preact/signals';

export type Page =
  'queues' | 'overview' | 'jobs' | 'job' | 'workers' | 'worker' | 'sharing' | 'limits' | 'limit' | 'strategies' | 'unknown';

export interface Route {
  page: Page;
  queue: string;
  // Of what is named in the path: a job, a worker or a limit.
  id: string;
  query: URLSearchParams;
}

const kPages = new Map<string, { list: Page; one?: Page }>([
  ['jobs', { list: 'jobs', one: 'job' }],
  ['workers', { list: 'workers', one: 'worker' }],
  ['sharing', { list: 'sharing' }],
  ['limits', { list: 'limits', one: 'limit' }],
  ['strategies', { list: 'strategies' }],
]);

function unescape(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function parseRoute(path: string, search: string, home = 'default'): Route {
  const query = new URLSearchParams(search);
  let parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(unescape);
  let queue = query.get('q') || 'default';
  const all: Route = { page: 'queues', queue: query.get('q') || home, id: '', query };
  if (parts.length === 0) return all;
  if (parts[0] === 'q') {
    if (parts[1] === undefined) return all;
    queue = parts[1];
    parts = parts.slice(2);
    if (parts.length === 0) return { page: 'overview', queue, id: '', query };
  }
  const pages = kPages.get(parts[0]!);
  if (pages && parts.length === 1) return { page: pages.list, queue, id: '', query };
  if (pages?.one && parts.length === 2) return { page: pages.one, queue, id: parts[1]!, query };
  return { page: 'unknown', queue, id: '', query };
}

// The address of a page.
export function href(page: Page, queue: string, id = '', query: Record<string, string | number | null | undefined> = {}): string {
  const search = new URLSearchParams();
  const name = encodeURIComponent(queue);
  let path = '/';
  if (page === 'overview') path = `/q/${name}`;
  else if (page === 'jobs') path = `/q/${name}/jobs`;
  else if (page !== 'queues' && page !== 'unknown') {
    path = `/${page === 'job' || page === 'worker' || page === 'limit' ? `${page}s/${encodeURIComponent(id)}` : page}`;
    if (queue !== 'default') search.set('q', queue);
  }
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') search.set(key, String(value));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

const inBrowser = typeof window !== 'undefined';
const address = signal(inBrowser ? location.pathname + location.search : '/');

// Where one goes from the list of all queues: to that which the token is fixed to, if it is.
export const homeQueue = signal('default');

export const route = computed<Route>(() => {
  const [path = '/', search = ''] = address.value.split(/\?(.*)/s);
  return parseRoute(path, search, homeQueue.value);
});

export function navigate(to: string, options: { replace?: boolean } = {}): void {
  if (to === address.value) return;
  if (options.replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  const samePage = to.split('?')[0] === address.value.split('?')[0];
  address.value = to;
  if (!samePage) {
    window.scrollTo(0, 0);
    // Readers of the screen hear of the new page, and Tab goes on from its beginning.
    document.getElementById('main')?.focus({ preventScroll: true });
  }
}

// Changes some of the query string of the page that is shown; null and '' take away.
export function setQuery(changes: Record<string, string | number | null | undefined>, options: { replace?: boolean } = {}): void {
  const [path = '/', search = ''] = address.value.split(/\?(.*)/s);
  const query = new URLSearchParams(search);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === '') query.delete(key);
    else query.set(key, String(value));
  }
  const text = query.toString();
  navigate(text ? `${path}?${text}` : path, options);
}

if (inBrowser) {
  window.addEventListener('popstate', () => {
    address.value = location.pathname + location.search;
  });
  // Links are plain ones; those to own pages do not load anew.
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.getAttribute('href')?.startsWith('#')) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

// SPDX-License-Identifier: Apache-2.0
// The field that finds sections of the documents. The index is read when the field is first used.
import { Finder } from './finder';
import type { Section } from './finder';

let finder: Promise<Finder> | null = null;

function load(): Promise<Finder> {
  finder ??= fetch('/docs/search.json')
    .then((answer) => (answer.ok ? (answer.json() as Promise<Section[]>) : Promise.reject(new Error(`status ${answer.status}`))))
    .then((sections) => new Finder(sections));
  finder.catch(() => (finder = null)); // asked for again with the next letter
  return finder;
}

function element<K extends keyof HTMLElementTagNameMap>(tag: K, text: string, of: string): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = of;
  return made;
}

export function attachSearch(place: HTMLElement): void {
  const field = document.createElement('input');
  field.type = 'search';
  field.placeholder = 'Search the documents';
  field.setAttribute('aria-label', 'search the documents');
  field.setAttribute('aria-controls', 'found');
  const list = document.createElement('ul');
  list.id = 'found';
  list.hidden = true;
  place.append(field, list);
  place.hidden = false;

  let asked = 0;
  const show = async () => {
    const query = field.value;
    const mine = ++asked;
    if (!query.trim()) {
      list.hidden = true;
      return;
    }
    const rows: HTMLLIElement[] = [];
    try {
      const found = (await load()).find(query);
      if (mine !== asked) return;
      for (const { address, title, heading, snippet } of found) {
        const link = element('a', heading, 'found-heading');
        link.href = address;
        if (heading !== title) link.append(' ', element('span', title, 'found-title'));
        link.append(element('span', snippet, 'found-text'));
        const row = document.createElement('li');
        row.append(link);
        rows.push(row);
      }
      if (rows.length === 0) rows.push(element('li', 'Nothing has all of these words.', 'quiet'));
    } catch {
      if (mine === asked) rows.push(element('li', 'The index cannot be read. Is the server there?', 'quiet'));
    }
    if (mine !== asked) return;
    list.replaceChildren(...rows);
    list.hidden = false;
  };
  field.addEventListener('focus', () => void load().catch(() => {}));
  field.addEventListener('input', () => void show());

  // Arrows go through what was found, Escape leaves; a slash comes back.
  place.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const to = at + (event.key === 'ArrowDown' ? 1 : -1);
      (to < 0 ? field : (links[Math.min(to, links.length - 1)] ?? field)).focus();
    } else if (event.key === 'Enter' && document.activeElement === field) {
      links[0]?.click();
    } else if (event.key === 'Escape') {
      list.hidden = true;
      field.blur();
    }
  });
  list.addEventListener('click', () => (list.hidden = true));
  document.addEventListener('click', (event) => {
    if (!place.contains(event.target as Node)) list.hidden = true;
  });
  document.addEventListener('keydown', (event) => {
    const typing = document.activeElement instanceof HTMLInputElement;
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    }
  });
}

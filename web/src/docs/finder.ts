// SPDX-License-Identifier: Apache-2.0
// Finds sections of the documents by words: those in headings count more, the last word may be a beginning, and slips
// of a letter are forgiven.
import MiniSearch from 'minisearch';

export interface Section {
  page: string; // its address
  title: string; // of the page
  anchor: string; // of the section; empty: the page itself
  heading: string;
  text: string;
}

export interface Found {
  address: string;
  title: string;
  heading: string;
  snippet: string;
}

const kShown = 12;
const kSnippet = 110;

export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

// What a text can be found by: of `max_attempts` also its parts.
export function termsOf(text: string): string[] {
  return wordsOf(text).flatMap((word) => (word.includes('_') ? [word, ...word.split('_').filter(Boolean)] : [word]));
}

export function snippetOf(text: string, words: string[]): string {
  const lower = text.toLowerCase();
  const at = Math.min(...words.map((word) => lower.indexOf(word)).filter((place) => place >= 0), text.length);
  const begin = at === text.length ? 0 : Math.max(0, at - 30);
  const from = begin === 0 ? 0 : text.indexOf(' ', begin) + 1;
  const part = text.slice(from, from + kSnippet);
  return `${from > 0 ? '… ' : ''}${part}${from + kSnippet < text.length ? ' …' : ''}`;
}

export class Finder {
  private readonly index: MiniSearch;
  constructor(private readonly sections: Section[]) {
    this.index = new MiniSearch({ fields: ['heading', 'title', 'text'], tokenize: termsOf });
    this.index.addAll(sections.map(({ heading, title, text }, id) => ({ id, heading, title, text })));
  }

  find(query: string): Found[] {
    const words = wordsOf(query);
    if (words.length === 0) return [];
    const options = {
      tokenize: wordsOf,
      combineWith: 'AND' as const,
      prefix: (_: string, i: number, all: string[]) => i === all.length - 1,
      fuzzy: (word: string) => (word.length > 5 ? 1 : false),
      boost: { heading: 4, title: 2 },
    };
    return this.index
      .search(query, options)
      .slice(0, kShown)
      .map((result) => {
        const section = this.sections[result.id as number]!;
        return {
          address: section.anchor ? `${section.page}#${section.anchor}` : section.page,
          title: section.title,
          heading: section.heading,
          snippet: snippetOf(section.text, result.terms),
        };
      });
  }
}

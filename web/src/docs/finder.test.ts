// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { Finder, snippetOf, termsOf, wordsOf } from './finder';

const finder = new Finder([
  { page: '/docs/glossary', title: 'Glossary', anchor: '', heading: 'Glossary', text: 'lease: a right to a task' },
  { page: '/docs/start/work', title: 'I run workers', anchor: 'leases', heading: 'Leases', text: 'a lease ends unless it is renewed' },
  {
    page: '/docs/reference/x',
    title: 'Jobs',
    anchor: 'spec',
    heading: 'Job spec',
    text: '`max_attempts` is how often; see --backoff-first',
  },
]);
const found = (query: string) => finder.find(query).map(({ address }) => address);

test('headings come before text, and the last word may be a beginning', () => {
  expect(found('leas')[0]).toBe('/docs/start/work#leases');
  expect(found('lease')).toEqual(['/docs/start/work#leases', '/docs/glossary']);
});
test('all words have to be there, parts of names and slips of a letter count', () => {
  expect(found('max_attempts')).toEqual(['/docs/reference/x#spec']);
  expect(found('max_atte')).toEqual(['/docs/reference/x#spec']);
  expect(found('attempts')).toEqual(['/docs/reference/x#spec']);
  expect(found('backofff spec')).toEqual(['/docs/reference/x#spec']);
  expect(found('lease backoff')).toEqual([]);
  expect(found('  ')).toEqual([]);
});
test('words and snippets', () => {
  expect(wordsOf('--max-attempts')).toEqual(['max', 'attempts']);
  expect(wordsOf('a_b')).toEqual(['a_b']);
  expect(termsOf('a_b c')).toEqual(['a_b', 'a', 'b', 'c']);
  const long = `${'word '.repeat(40)}lease ${'word '.repeat(40)}`;
  expect(snippetOf(long, ['lease'])).toMatch(/^… .*lease.* …$/);
  expect(snippetOf('short', ['none'])).toBe('short');
});

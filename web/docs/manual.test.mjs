// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { renderPage } from './render.mjs';
import { errorAddress, kTermsForTest, reasonAddress, termAddress } from '../src/manual';
import { kSentencesForTest } from '../src/reasons';

const root = new URL('../..', import.meta.url).pathname;
function idsOf(address) {
  const file = `${address.split('#')[0].slice(1)}.md`;
  return renderPage(root, file, readFileSync(`${root}${file}`, 'utf8')).ids;
}

describe('the documents say', () => {
  test('what each word is', () => {
    const ids = idsOf('/docs/glossary');
    for (const name of Object.keys(kTermsForTest)) expect(ids, name).toContain(termAddress(name).split('#')[1]);
    expect(termAddress('constructor')).toBeUndefined();
  });
  test('what each reason means', () => {
    const ids = idsOf(reasonAddress('x'));
    // A queue's, not a job's: the errors have it.
    for (const code of Object.keys(kSentencesForTest).filter((one) => one !== 'disk_full')) expect(ids, code).toContain(code);
  });
  test('what to do about each error', () => {
    const ids = idsOf(errorAddress('x'));
    for (const code of ['bad_value', 'unknown_job', 'too_many_limits', 'store_corrupt', 'disk_full']) expect(ids, code).toContain(code);
  });
});

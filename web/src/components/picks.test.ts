// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { wayOf } from './picks';

describe('the way to a pick', () => {
  it('has the blocks with what each chose', () => {
    expect(
      wayOf([
        { block: 'fair', of: 'policy', text: '', key: 'user', value: 'ann' },
        { block: 'worker', of: 'policy', text: '' },
        { block: 'or_else', of: 'strategy', text: '', branch: 2, branches: 3 },
        { block: 'prefer_distinct', of: 'strategy', text: '', key: 'customer', value: null },
        { block: 'oldest', of: 'strategy', text: '' },
      ]),
    ).toBe('fair ann › or_else 2/3 › prefer_distinct – › oldest');
  });

  it('is never empty', () => {
    expect(wayOf([])).toBe('worker');
    expect(wayOf([{ block: 'worker', of: 'policy', text: '' }])).toBe('worker');
  });
});

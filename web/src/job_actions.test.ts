// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { inRounds } from './job_actions';
import type { BulkAnswer } from './types';

const answer = (changed: number, complete: boolean): BulkAnswer => ({
  matching: 10,
  tasks: 10,
  changed,
  up_to: '1',
  complete,
  dry_run: false,
  took_ms: 1,
});

// Answers one after the other, and counts how often it was asked.
function server(answers: (BulkAnswer | Error)[]) {
  let asked = 0;
  const act = async () => {
    const next = answers[Math.min(asked++, answers.length - 1)]!;
    if (next instanceof Error) throw next;
    return next;
  };
  return { act, asked: () => asked };
}

describe('inRounds', () => {
  it('is done after one that is complete', async () => {
    const { act, asked } = server([answer(7, true)]);
    expect(await inRounds(20, act)).toEqual({ changed: 7, complete: true });
    expect(asked()).toBe(1);
  });

  it('adds up what rounds did until one is complete', async () => {
    const { act, asked } = server([answer(7, false), answer(5, false), answer(1, true)]);
    expect(await inRounds(20, act)).toEqual({ changed: 13, complete: true });
    expect(asked()).toBe(3);
  });

  it('does not claim to be complete when it gives up', async () => {
    const { act, asked } = server([answer(3, false)]);
    expect(await inRounds(2, act)).toEqual({ changed: 6, complete: false });
    expect(asked()).toBe(2);
  });

  it('tells what was done before a round failed', async () => {
    const failure = new Error('gone');
    const { act } = server([answer(3, false), failure]);
    expect(await inRounds(20, act)).toEqual({ changed: 3, complete: false, failure });
  });
});

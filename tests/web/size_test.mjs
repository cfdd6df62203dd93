// SPDX-License-Identifier: Apache-2.0
// The dashboard of a queue with a million jobs, and what its pages cost the server. Timing: not for a busy machine.
import { after, before, describe } from 'node:test';
import { launch } from './browser.mjs';
import { sizeCases } from './size_cases.mjs';

describe('the dashboard, large', () => {
  const world = { browser: null };
  before(async () => {
    world.browser = await launch();
  });
  after(async () => {
    await world.browser?.close();
  });
  sizeCases(world, { jobs: Number(process.env.ALLOT_JOBS ?? 1_000_000), bar: 200 });
});

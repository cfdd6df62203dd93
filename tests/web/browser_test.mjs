// SPDX-License-Identifier: Apache-2.0
// The dashboard in a real Chromium, with real servers. ALLOT_BIN names the program.
//
//   ALLOT_BIN=build/allot node tests/web/browser_test.mjs
//   ALLOT_BIN=build/allot node --test-name-pattern=sign tests/web/browser_test.mjs
//
// ALLOT_SHOTS names a folder for pictures of all pages; without it none are taken.
import { after, before, describe } from 'node:test';
import { launch } from './browser.mjs';
import { actionCases } from './action_cases.mjs';
import { docsCases } from './docs_cases.mjs';
import { hostileCases } from './hostile_cases.mjs';
import { keyboardCases } from './keyboard_cases.mjs';
import { liveCases } from './live_cases.mjs';
import { lookCases } from './look_cases.mjs';
import { pageCases } from './page_cases.mjs';
import { signInCases } from './sign_in_cases.mjs';
import { sizeCases } from './size_cases.mjs';

describe('the dashboard', () => {
  // One browser for all.
  const world = { browser: null };
  before(async () => {
    world.browser = await launch();
  });
  after(async () => {
    await world.browser?.close();
  });
  pageCases(world);
  liveCases(world);
  actionCases(world);
  signInCases(world);
  docsCases(world);
  hostileCases(world);
  keyboardCases(world);
  lookCases(world);
  sizeCases(world, { jobs: 20_000 });
});

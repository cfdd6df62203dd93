// SPDX-License-Identifier: Apache-2.0
// Starts the headless Chromium of the system for tests of the dashboard. Nothing of it talks to anyone but the page.
//
//   import { launch } from './browser.mjs';
//   const browser = await launch();
//   const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(new URL('../../web/package.json', import.meta.url));

export async function launch() {
  const executablePath = [process.env.ALLOT_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => path && existsSync(path));
  if (!executablePath) throw new Error('no Chromium: install the package chromium, or name one in ALLOT_CHROMIUM');
  const { chromium } = require('playwright-core');
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
  });
}

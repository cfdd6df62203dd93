// SPDX-License-Identifier: Apache-2.0
import { task, Worker } from 'allotter';

const slow = task<number, number>('sigterm', async (n) => {
  console.log('began');
  await new Promise((resolve) => process.on('SIGTERM', () => setTimeout(resolve, 100)));
  return n;
});
await new Worker([slow]).run();

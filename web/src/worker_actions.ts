// SPDX-License-Identifier: Apache-2.0
// What can be done to workers.
import { apiPath, post } from './api';
import { confirm, toast } from './components/feedback';
import * as format from './format';
import type { Worker } from './types';

const kText =
  'They finish what they hold, get nothing new, and then leave. It cannot be taken back: a worker that is to go on registers again.';

// One after the other in four lanes; tells how many it was done to.
export async function drain(queue: string, workers: Worker[]): Promise<boolean> {
  const fit = workers.filter((worker) => !worker.draining);
  if (!fit.length) {
    toast('All of these are draining already');
    return false;
  }
  const held = fit.reduce((sum, worker) => sum + worker.running, 0);
  const what = fit.length === 1 ? `the worker ${fit[0]!.name || fit[0]!.id}` : format.plural(fit.length, 'worker');
  const sure = await confirm({
    title: `Drain ${what} (${format.plural(held, 'task')} running)?`,
    text: kText,
    yes: 'Drain',
    danger: true,
  });
  if (!sure) return false;
  let next = 0;
  let changed = 0;
  let failure: unknown = null;
  const lane = async () => {
    while (next < fit.length) {
      const worker = fit[next++]!;
      try {
        await post<Worker>(apiPath(queue, 'workers', worker.id, 'drain'));
        changed++;
      } catch (error) {
        failure = error;
      }
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
  if (changed) toast(`Draining: ${fit.length === 1 ? what : format.plural(changed, 'worker')}`);
  if (failure) throw failure;
  return true;
}

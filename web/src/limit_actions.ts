// SPDX-License-Identifier: Apache-2.0
// What can be done to limits.
import { apiPath, del, post } from './api';
import { confirm, toast } from './components/feedback';
import * as format from './format';
import type { Limit, LimitAnswer } from './types';

export const nameOf = (limit: Pick<Limit, 'name' | 'tag' | 'uuid'>) => limit.name || limit.uuid;

export async function renew(queue: string, limit: Limit): Promise<void> {
  const answer = await post<LimitAnswer>(apiPath(queue, 'limits', limit.uuid, 'renew'));
  toast(`Renewed for ${format.duration(answer.expires_in_ms)}: ${nameOf(limit)}`, {
    hint: answer.capped ? 'Cut to the longest lease that the queue allows.' : '',
  });
}

export async function remove(queue: string, limit: Limit): Promise<boolean> {
  const sure = await confirm({
    title: `Delete the limit ${nameOf(limit)}?`,
    text: limit.monitor
      ? 'What it counted is gone with it.'
      : 'What it blocks may start at once. Whoever renews or sets it brings it back, with a full bucket.',
    yes: 'Delete',
    danger: true,
  });
  if (!sure) return false;
  await del<{ deleted: string }>(apiPath(queue, 'limits', limit.uuid));
  toast(`Deleted: ${nameOf(limit)}`);
  return true;
}

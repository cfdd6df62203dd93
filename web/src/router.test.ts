// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { href, parseRoute } from './router';

const at = (address: string) => {
  const [path = '', search = ''] = address.split('?');
  const { page, queue, id } = parseRoute(path, search);
  return { page, queue, id };
};

describe('router', () => {
  it.each([
    ['/', 'queues', 'default', ''],
    ['/q/video', 'overview', 'video', ''],
    ['/q/video/jobs', 'jobs', 'video', ''],
    ['/jobs/12', 'job', 'default', '12'],
    ['/jobs/12?q=video', 'job', 'video', '12'],
    ['/q/video/jobs/12', 'job', 'video', '12'],
    ['/workers', 'workers', 'default', ''],
    ['/workers/7?q=video', 'worker', 'video', '7'],
    ['/limits/a-b', 'limit', 'default', 'a-b'],
    ['/sharing/7', 'unknown', 'default', ''],
    ['/nowhere', 'unknown', 'default', ''],
    ['/jobs/%E0%A4', 'job', 'default', '%E0%A4'],
    ['/constructor', 'unknown', 'default', ''],
  ] as const)('reads %s', (address, page, queue, id) => expect(at(address)).toEqual({ page, queue, id }));

  it('reads every address that it writes', () => {
    for (const queue of ['default', 'a b/c?', '%', 'ü']) {
      for (const page of ['overview', 'jobs', 'job', 'workers', 'worker', 'sharing', 'limits', 'limit', 'strategies'] as const) {
        const id = ['job', 'worker', 'limit'].includes(page) ? 'x/y z' : '';
        expect(at(href(page, queue, id, { tag: 'a&b' }))).toEqual({ page, queue, id });
      }
    }
  });
});

// SPDX-License-Identifier: Apache-2.0
// A queue in which there is something of everything: for tests that look at all pages.
import { eventually } from './server.mjs';

const kErrors = ['exit status 1', 'exit status 2', 'exit status 137', 'connection to 10.0.0.7:5432 timed out after 3 s'];

export async function seed(server) {
  await server.api('PATCH', '/v1/queues/default', { settings: { policy: 'fair(user, worker)', weights: { 'user.ann': 3, 'user.bob': 2 }, property_keys: ['gpu'] } });
  await server.post('/v1/queues', { name: 'renders' });
  const ids = {};

  // Ann's is half done, with errors of four kinds; some of it runs.
  const worker = await server.worker({ name: 'host-1', tags: ['square', 'render'], slots: 8, properties: { gpu: 'a100' }, attributes: { memory: 4096, site: 'b' }, requirements: 'TARGET.Tasks >= 1' });
  ids.worker = worker.id;
  ids.job = await server.submit({ tag: 'square', user: 'ann', payloads: Array.from({ length: 400 }, (_, i) => ({ n: i })), max_failed_tasks: 100, priority: 5, meta: { project: 'lighthouse', pages: 12 } });
  for (let round = 0; round < 24; round++) {
    const tasks = await worker.pull(8);
    const bad = tasks.filter((task) => task.index % 7 === 3);
    await worker.done(tasks.filter((task) => task.index % 7 !== 3), (task) => task.index ** 2);
    if (bad.length) await worker.failed(bad, (task) => kErrors[task.index % kErrors.length]);
  }
  await worker.pull(5);

  const second = await server.worker({ name: 'host-2', tags: ['render'], slots: 2, strategy: 'prefer_distinct(user, 1, oldest)' });
  ids.second = second.id;
  ids.render = await server.submit({ tags: ['render'], user: 'bob', count: 1_000_000, payload: { scene: 'harbour' }, constraints: { gpu: 'a100' } });
  ids.finished = await server.submit({ tag: 'quick', user: 'bob', count: 3 });
  const quick = await server.worker({ name: 'host-3', tags: ['quick'], slots: 4 });
  await quick.done(await quick.pull(3), 'ok');
  await server.post(`/v1/queues/default/workers/${quick.id}/drain`);
  ids.broken = await server.submit({ tag: 'render', user: 'carl', count: 2, max_attempts: 1, priority: 9 });
  await second.failed(await second.pull(1), 'exit status 1');
  ids.scheduled = await server.submit({ tag: 'square', user: 'ann', count: 10, delay_ms: 3_600_000 });
  ids.paused = await server.submit({ tag: 'square', user: 'dora', count: 50 });
  await server.post(`/v1/queues/default/jobs/${ids.paused}/pause`);
  ids.cancelled = await server.submit({ tag: 'square', user: 'dora', count: 50 });
  await server.post(`/v1/queues/default/jobs/${ids.cancelled}/cancel`);
  ids.stuck = await server.submit({ tags: ['sqare'], user: 'erik', count: 1204, requirements: 'TARGET.memory >= 8192' });

  // Whatever carl starts is slow, and all of it is counted.
  ids.limit = 'carl-slowly';
  await server.api('PUT', `/v1/queues/default/limits/${ids.limit}`, { tag: 'ops', name: 'carl, slowly', expr: 'MY.User == "carl"', count: 2, window_ms: 3_600_000, burst: 1, expires_in_ms: 300_000 });
  await server.api('PUT', '/v1/queues/default/limits/all-counted', { tag: 'ops', name: 'all starts', expr: 'true', count: 1000, window_ms: 60_000, monitor: true, expires_in_ms: 300_000 });
  ids.limited = await server.submit({ tag: 'render', user: 'carl', count: 20, priority: 3 });
  await eventually('carl is blocked', async () => {
    await second.say({ pull: 2, wait_ms: 100, released: [] });
    return (await server.get(`/v1/queues/default/limits/${ids.limit}`)).waiting > 0;
  }).catch(() => {});
  return { ...ids, workers: { worker, second } };
}

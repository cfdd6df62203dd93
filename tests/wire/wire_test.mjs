// SPDX-License-Identifier: Apache-2.0
// A real server says what its description says, and all of it: every route is asked, every parameter given, every field
// of every object comes by. What is sent is held against the description too.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import WebSocket from 'ws';

import { Server, eventually } from '../web/server.mjs';
import { Database, freePort } from './database.mjs';
import { Description } from './description.mjs';

const kQueue = '/v1/queues/{queue}';
const server = await Server.start();
let asked_server = server; // whom ask() asks
const description = await Description.of(server);

// Asks, and gives the answer: text, or what its JSON says. `parts` fill the path; `of` is another answer than success.
async function ask(method, path, { parts = {}, query = {}, body, status, accept, lines } = {}) {
  const operation = description.operation(method, path);
  for (const name of Object.keys(query)) description.parameter(method, path, name);
  const content = operation.requestBody?.content['application/json'];
  if (body !== undefined) {
    assert.ok(content, `${method} ${path} takes no body`);
    description.check(content.schema, body, `${method} ${path} takes`);
  }
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parts[name] ?? (name === 'queue' ? 'default' : assert.fail(name))));
  const asked = new URLSearchParams(query).toString();
  const headers = {};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (lines !== undefined) headers['Content-Type'] = 'application/x-ndjson';
  if (accept) headers.Accept = accept;
  const abort = new AbortController();
  const answer = await fetch(`${asked_server.url}${filled}${asked ? `?${asked}` : ''}`, { method, headers, body: lines ?? (body === undefined ? undefined : JSON.stringify(body)), signal: abort.signal });
  const what = `${method} ${filled}: ${answer.status}`;
  const type = answer.headers.get('Content-Type')?.split(';')[0];
  const expected = status ?? (operation.responses['201'] && !operation.responses['200'] ? 201 : undefined);
  if (expected !== undefined && answer.status !== expected) assert.fail(`${what}, not ${expected}: ${await answer.text()}`);
  if (expected === undefined && !answer.ok) assert.fail(`${what}: ${await answer.text()}`);
  const described = operation.responses[answer.status] ?? operation.responses.default;
  assert.ok(answer.status >= 400 || described !== operation.responses.default, `${what} is not described`);
  assert.ok(described.content[type], `${what}: ${type} is not described`);
  if (type === 'text/event-stream') {
    let text = '';
    for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes('\n\n')) break;
    }
    abort.abort();
    const data = text.match(/^data: (.*)$/m)?.[1];
    assert.ok(data, text);
    return JSON.parse(data);
  }
  if (type !== 'application/json') return answer.text();
  const value = await answer.json();
  description.check(described.content[type].schema, value, what);
  return value;
}
const get = (path, parts = {}, query = {}) => ask('GET', path, { parts, query });
const post = (path, body, parts = {}) => ask('POST', path, { parts, body });

class Socket {
  #messages = [];
  #wake = () => {};

  constructor(path) {
    this.described = description.operation('GET', path)['x-websocket'];
    this.socket = new WebSocket(server.url.replace('http', 'ws') + path.replace('{queue}', 'default'));
    this.socket.on('message', (text) => {
      const message = JSON.parse(text);
      description.check({ anyOf: this.described.server }, message, `${path} says`);
      this.#messages.push(message);
      this.#wake();
    });
    this.open = new Promise((resolve, reject) => this.socket.once('open', resolve).once('error', reject));
  }

  async say(message) {
    await this.open;
    description.check({ anyOf: this.described.client }, message, 'a message');
    this.socket.send(JSON.stringify(message));
  }

  // The first part of a message that `wanted` gives: that. Other parts of it stay: what the server has to say at one time
  // comes as one message.
  async next(wanted) {
    for (;;) {
      const message = this.#messages.find((message) => wanted(message) !== undefined);
      if (message) {
        const part = wanted(message);
        for (const name of Object.keys(message)) if (message[name] === part) delete message[name];
        return part;
      }
      await new Promise((resolve) => (this.#wake = resolve));
    }
  }

  close() {
    this.socket.close();
  }
}

// A worker over plain HTTP.
class Worker {
  static async register(hello) {
    const worker = new Worker();
    worker.welcome = await post(`${kQueue}/workers`, hello);
    worker.id = worker.welcome.worker;
    return worker;
  }
  pull(message) {
    return post(`${kQueue}/workers/{worker}/pull`, { key: this.welcome.key, ...message }, { worker: this.id });
  }
}

const ref = ({ job, index, lease }) => ({ job, index, lease });

test('the server, its queues and strategies', async () => {
  for (const path of ['/livez', '/readyz', '/metrics', '/v1/server', '/v1/strategies', '/v1/openapi.json']) await get(path);
  await post('/v1/strategies/check', { strategy: 'fair(user, oldest)' });
  await post('/v1/strategies/check', { policy: 'fair(user, worker)' });
  await ask('POST', '/v1/strategies/check', { body: { strategy: 'nonsense' }, status: 400 });
  const settings = {
    max_finished_jobs: 1000, worker_grace_ms: 30_000, max_result_bytes: 65_536, property_keys: ['zone', 'gpu'], max_property_keys: 6,
    policy: 'max_simultaneous(user, 3, fair(user, worker))', weights: { 'user.ann': 3 }, max_limit_expiration_ms: 600_000, limit_ban_window_ms: 60_000,
    demand_lookahead_ms: 60_000, dispatch: 'balanced', balance: 'least_queue', memory_budget_bytes: 0,
  };
  await post('/v1/queues', { name: 'second', settings });
  await get('/v1/queues');
  await ask('DELETE', kQueue, { parts: { queue: 'second' }, query: { force: 'true' } });
  await ask('PATCH', kQueue, { body: { settings } });
  await get(kQueue);
  await post(`${kQueue}/pause`);
  await get(`${kQueue}/overview`);
  await post(`${kQueue}/resume`);
  await get(`${kQueue}/backup`);
});

test('jobs, workers and what goes between them', async () => {
  const hello = {
    name: 'one', tags: ['square', 'slow'], slots: 4, properties: { zone: 'a' }, attributes: { memory: 2048, site: 'b' }, requirements: 'TARGET.Tasks >= 1',
    rank: 'TARGET.Priority', strategy: 'prefer_distinct(user, 1, priority)',
  };
  const worker = await Worker.register(hello);
  const spec = {
    tags: ['square'], payloads: [1, 2, 3], payload: { all: true }, payload_prefix: 'p', priority: 5, user: 'ann', async: true, delay_ms: 0, meta: { project: 'x', n: 3, r: 1.5, b: true },
    constraints: { zone: 'a' }, requirements: 'TARGET.memory >= 1024', rank: 'TARGET.memory', max_attempts: 3, backoff: { first_ms: 60_000, factor: 2, max_ms: 120_000, jitter: 0 },
    lease_ms: 60_000, timeout_ms: 60_000, max_failed_tasks: 2, retention_ms: 3_600_000, idempotency_key: 'once', trace: '00-1-2-3',
  };
  const { job: { id: first } } = await ask('POST', `${kQueue}/jobs`, { body: spec, status: 201 });
  await ask('POST', `${kQueue}/jobs`, { body: spec, status: 200 });
  await ask('POST', `${kQueue}/jobs`, { lines: '{"tag":"lines"}\n1\n2\n', status: 201 });
  const batch = await post(`${kQueue}/jobs/batch`, { jobs: [{ tag: 'slow', count: 40, user: 'bob', max_failed_tasks: '5%' }, { tag: 'later', scheduled_at_ms: Date.now() + 3_600_000 }] });
  const [slow, later] = batch.jobs.map((job) => job.id);

  await get(`${kQueue}/workers/{worker}/next`, { worker: worker.id }, { count: 5 });
  await get(`${kQueue}/workers/{worker}`, { worker: worker.id });
  const had = await worker.pull({ pull: 3, wait_ms: 5_000, strategy: 'priority', set: { attributes: { memory: 4096 } }, job_headers: true });
  assert.equal(had.tasks.length, 3);
  assert.ok(had.jobs.length > 0);
  const [a, b, c] = had.tasks;
  await worker.pull({ done: [{ ...ref(a), result: { ok: 1 } }], failed: [{ ...ref(b), error: 'exit status 1', retry_in_ms: 600_000 }], extend: [{ ...ref(c), progress: { done: 1, of: 2, note: 'half' } }], pull: 0 });
  for (const task of [b, c]) await get(`${kQueue}/jobs/{job}/tasks/{index}`, { job: task.job, index: task.index });
  assert.equal((await get(`${kQueue}/jobs/{job}`, { job: c.job }, { payload: true })).progress, 0.5);
  await worker.pull({ released: [ref(c)], failed: [{ ...ref(b), error: 'again', final: true }] });
  const again = await worker.pull({ pull: 1, wait_ms: 5_000 });
  await worker.pull({ failed: [{ ...ref(again.tasks[0]), error: 'for good', final: true }] });

  const job = { job: first };
  await get(`${kQueue}/jobs`, {}, { state: 'active', tag: 'square', user: 'ann', limit: 1 });
  const page = await get(`${kQueue}/jobs`, {}, { limit: 1 });
  await get(`${kQueue}/jobs`, {}, { before: page.next });
  await get(`${kQueue}/jobs/{job}`, job, { wait_ms: 0 });
  await get(`${kQueue}/jobs/{job}/tasks`, job, { from: 0, limit: 2 });
  await get(`${kQueue}/jobs/{job}/tasks`, job, { state: 'failed' });
  for (const index of [a.index, again.tasks[0].index]) await get(`${kQueue}/jobs/{job}/tasks/{index}`, { job: a.job, index });
  await get(`${kQueue}/jobs/{job}/tasks/{index}/receipt`, { job: a.job, index: a.index });
  await get(`${kQueue}/jobs/{job}/results`, { job: a.job }, { from: 0, limit: 1, wait_ms: 0 });
  await get(`${kQueue}/jobs/{job}/results`, { job: again.tasks[0].job }, { from: again.tasks[0].index });
  await get(`${kQueue}/jobs/{job}/picture`, { job: slow }, { parts: 2, from: 0, to: 10 });
  await get(`${kQueue}/jobs/{job}/errors`, { job: again.tasks[0].job }, { from: 0, limit: 1 });
  await get(`${kQueue}/receipts`, {}, { limit: 1 });
  const { next } = await get(`${kQueue}/receipts`, {}, { limit: 2 });
  if (next !== null) await get(`${kQueue}/receipts`, {}, { before: next });

  await ask('PATCH', `${kQueue}/jobs/{job}`, { parts: { job: slow }, body: { priority: 1, tags: ['slow'], meta: { x: 1 }, constraints: { zone: 'a' }, requirements: 'true', rank: 1 } });
  await ask('PATCH', `${kQueue}/jobs/{job}`, { parts: { job: slow }, body: { constraints: null, requirements: null, rank: null } });
  await ask('PATCH', `${kQueue}/jobs/{job}`, { parts: { job: later }, body: { delay_ms: 1_000_000, tag: 'later' } });
  await ask('PATCH', `${kQueue}/jobs/{job}`, { parts: { job: later }, body: { scheduled_at_ms: Date.now() + 1_000_000 } });
  for (const what of ['pause', 'resume']) await post(`${kQueue}/jobs/{job}/${what}`, undefined, { job: slow });
  // Events of one job, and watching what any GET shows.
  assert.equal(typeof (await get(`${kQueue}/jobs/{job}/events`, { job: slow })).id, 'string');
  const watched = await ask('GET', kQueue, { accept: 'text/event-stream' });
  description.check({ $ref: '#/components/schemas/Queue' }, watched, 'what is watched');

  await ask('PATCH', `${kQueue}/workers/{worker}`, {
    parts: { worker: worker.id },
    body: { key: worker.welcome.key, tags: ['square', 'slow'], properties: { zone: 'b' }, attributes: null, requirements: null, rank: 'TARGET.Priority', strategy: null },
  });
  await ask('PATCH', `${kQueue}/workers/{worker}`, { parts: { worker: worker.id }, body: { tags: ['square', 'slow'], rank: null, strategy: 'oldest', properties: { zone: 'a' }, attributes: { memory: 1 }, requirements: 'true' } });
  assert.ok((await worker.pull({ pull: 0 })).set);
  const second = await Worker.register({ name: 'two', tags: ['slow'] });
  await get(`${kQueue}/workers`, {}, { limit: 1 });
  await get(`${kQueue}/workers`, {}, { after: worker.id });
  await post(`${kQueue}/workers/{worker}/drain`, undefined, { worker: second.id });
  await ask('DELETE', `${kQueue}/workers/{worker}`, { parts: { worker: second.id }, body: { key: second.welcome.key } });

  const running = await worker.pull({ pull: 2, wait_ms: 5_000 });
  assert.equal(running.tasks.length, 2);
  const resumed = await Worker.register({ name: 'one', tags: ['square', 'slow'], slots: 4, worker: worker.id, key: worker.welcome.key, resume: [ref(running.tasks[0]), ref(a)] });
  assert.ok(resumed.welcome.lost.length > 0 && resumed.welcome.resumed.length > 0);
  await get(`${kQueue}/workers/{worker}`, { worker: worker.id });
  await post(`${kQueue}/jobs/{job}/cancel`, undefined, { job: running.tasks[0].job });
  assert.ok((await resumed.pull({ pull: 0, wait_ms: 5_000 })).cancel.length > 0);
  await post(`${kQueue}/jobs/{job}/retry`, undefined, { job: running.tasks[0].job });
  await post(`${kQueue}/jobs/cancel`, { state: 'scheduled', tag: 'later', user: '', up_to: later, dry_run: true });
  for (const what of ['pause', 'resume', 'cancel', 'retry']) await post(`${kQueue}/jobs/${what}`, { all: true });
  await post(`${kQueue}/jobs/cancel`, { all: true });
});

test('messages over WebSockets', async () => {
  const worker = new Socket(`${kQueue}/work`);
  await worker.say({ hello: { name: 'socket', tags: ['ws'], slots: 4 } });
  const { worker: id } = await worker.next((message) => message.welcome);
  const wait = new Socket(`${kQueue}/wait`);
  const { job } = await post(`${kQueue}/jobs`, { tag: 'ws', count: 3, payload: 1, payloads: undefined, payload_prefix: 'x', trace: 't' });
  const { job: own } = await post(`${kQueue}/jobs`, { tag: 'ws', payloads: [1], payload: 2 });
  await wait.say({ wait: [job.id, own.id, '1'] });
  assert.deepEqual(await wait.next((message) => message.unknown), ['1']);
  await worker.say({ seq: 1, pull: 4, job_headers: true });
  assert.ok((await worker.next((message) => message.jobs)).length > 0);
  await wait.say({ results: [{ job: job.id, credit: 10, have: [{ from: 2, to: 3 }] }] });
  const tasks = [];
  while (tasks.length < 4) tasks.push(...(await worker.next((message) => message.tasks)));
  const [one, two, three] = tasks.filter((task) => task.job === job.id);
  await worker.say({ seq: 2, done: [{ ...ref(one), result: 1 }], failed: [{ ...ref(two), error: 'no', final: true }], extend: [ref(three)], set: { tags: ['ws', 'more'] } });
  await worker.say({ seq: 3, done: [ref(one)] });
  await worker.next((message) => message.stale);
  await ask('PATCH', `${kQueue}/workers/{worker}`, { parts: { worker: id }, body: { tags: ['ws'], rank: '1', requirements: 'true', strategy: 'oldest', properties: { zone: 'z' }, attributes: { a: 1 } } });
  await worker.next((message) => message.set);
  await post(`${kQueue}/jobs/{job}/cancel`, undefined, { job: job.id });
  await worker.next((message) => message.cancel);
  assert.ok((await wait.next((message) => message.ended)).length > 0);
  for (let end = false; !end;) end = (await wait.next((message) => message.results))[0].end;
  await post(`${kQueue}/workers/{worker}/drain`, undefined, { worker: id });
  await worker.next((message) => message.drain);
  await worker.say({ seq: 4, done: [{ job: 'x', index: 0, lease: 'y' }] }).then(assert.fail, () => {});
  worker.socket.send('{"seq": 5, "nonsense": 1}');
  await worker.next((message) => message.error);
  await worker.say({ seq: 6, released: tasks.map(ref), pull: 0, strategy: 'oldest' });
  await worker.say({ bye: true });
  wait.socket.send('{"wait": 1}');
  await wait.next((message) => message.error);
  worker.close();
  wait.close();
});

test('limits, demand, users and explanations', async () => {
  const limit = { tag: 'ops', name: 'slowly', expr: 'MY.User == "carl"', cost: 'MY.Tasks', count: 1.5, window_ms: 3_600_000, burst: 0, max_burst_cost: 1, monitor: false, expires_in_ms: 500_000 };
  const { uuid } = await post(`${kQueue}/limits`, { ...limit, expr: 'TARGET.Name == "nobody"' });
  await ask('DELETE', `${kQueue}/limits/{uuid}`, { parts: { uuid } });
  const parts = { uuid: 'carl' };
  await ask('PUT', `${kQueue}/limits/{uuid}`, { parts, body: { ...limit, cost: 1 }, status: 201 });
  await ask('PUT', `${kQueue}/limits/{uuid}`, { parts, body: { ...limit, cost: 1 }, status: 200 });
  await post(`${kQueue}/limits/{uuid}/renew`, { expires_in_ms: 400_000 }, parts);
  await post(`${kQueue}/limits/{uuid}/renew`, undefined, parts);
  await ask('PUT', `${kQueue}/limits/{uuid}`, { parts: { uuid: 'worker' }, body: { ...limit, expr: 'TARGET.Name == "three"', cost: null, count: 1000, window_ms: 1000 } });
  const worker = await Worker.register({ name: 'three', tags: ['t', 'u'], slots: 8, properties: { zone: 'a' }, attributes: { memory: 4096 }, requirements: 'TARGET.Tasks >= 1' });
  const carl = await post(`${kQueue}/jobs`, { tag: 't', user: 'carl', count: 9, requirements: 'TARGET.memory >= 1024', constraints: [{ zone: 'a' }] });
  const dora = await post(`${kQueue}/jobs`, { tag: 't', user: 'dora', count: 9, rank: 'TARGET.memory' });
  await post(`${kQueue}/jobs`, { tag: 't', user: 'erik', count: 2 });
  await worker.pull({ pull: 8, wait_ms: 5_000 });
  await worker.pull({ pull: 8, wait_ms: 1 });
  const stuck = await post(`${kQueue}/jobs`, { tags: ['tt'], user: 'fred', requirements: 'TARGET.memry >= 8192', constraints: [{ zone: 'q' }, { gpu: 'x' }] });
  const hungry = await post(`${kQueue}/jobs`, { tags: ['t'], user: 'gus', count: 3, requirements: 'TARGET.memory >= 8192' });

  const leaver = await Worker.register({ name: 'four', tags: ['left'] });
  await ask('DELETE', `${kQueue}/workers/{worker}`, { parts: { worker: leaver.id }, body: { key: leaver.welcome.key } });
  const left = await post(`${kQueue}/jobs`, { tag: 'left' });
  const ahead = await post(`${kQueue}/jobs`, { tag: 't', user: 'yan' });
  const behind = await post(`${kQueue}/jobs`, { tag: 't', user: 'zoe' });

  for (const { job } of [carl, dora, stuck, hungry, left, ahead, behind]) {
    await get(`${kQueue}/jobs/{job}/explain`, { job: job.id });
    await get(`${kQueue}/jobs/{job}/explain`, { job: job.id }, { task: 0 });
    await get(`${kQueue}/jobs/{job}/explain`, { job: job.id }, { worker: worker.id });
    await get(`${kQueue}/jobs/{job}`, { job: job.id });
  }
  await post(`${kQueue}/explain`, { tag: 'nobody' });
  await post(`${kQueue}/strategy/try`, { strategy: 'prefer_distinct(user, 1, oldest)', policy: 'worker', count: 5 });
  const like = { name: 'x', tags: ['t'], slots: 4, properties: { zone: 'a' }, attributes: { memory: 4096 }, requirements: 'true', rank: 'TARGET.Tasks' };
  for (const strategy of ['random', 'or_else(newest, oldest)', 'fair(user, least_recent)', 'prefer_distinct(user, 2, oldest)', 'max_simultaneous(user, 5, priority)']) {
    await post(`${kQueue}/strategy/try`, { strategy, policy: 'max_simultaneous(user, 50%, worker)', worker: like, count: 20 });
  }
  await post(`${kQueue}/strategy/try`, { strategy: 'oldest', worker: worker.id });
  await get(`${kQueue}/workers/{worker}/next`, { worker: worker.id });
  await post(`${kQueue}/limits/try`, { expr: 'MY.User == "carl"', cost: 2 });
  await post(`${kQueue}/limits/try`, { expr: 'TARGET.Name == "three"' });
  await get(`${kQueue}/demand`, {}, { user: 'carl', tag: 't', limit: 1 });
  await get(`${kQueue}/demand`);
  await get(`${kQueue}/users`, {}, { limit: 1 });
  await get(`${kQueue}/users`, {}, { after: 'carl' });
  await get(`${kQueue}/users`, {}, { user: 'carl' });
  await get(`${kQueue}/limits`, {}, { tag: 'ops' });
  await get(`${kQueue}/limits`, {}, { uuid: 'carl' });
  await get(`${kQueue}/limits/{uuid}`, parts);
  await get(`${kQueue}/limits/{uuid}/history`, parts);
  await get(`${kQueue}/history`, {}, { step: 'minute' });
  await get(`${kQueue}/receipts`);
  await eventually('what holds jobs back is in the overview', async () => {
    const { reasons } = await get(`${kQueue}/overview`);
    return reasons.some((reason) => reason.limits) && reasons.some((reason) => reason.ceilings);
  });
  await eventually('a job says why it does not run', async () => (await get(`${kQueue}/jobs/{job}`, { job: stuck.job.id })).wait_reason);
});

test('who has a token is told what it may', async () => {
  const token = await server.makeToken('ann', 'read', '--user', 'ann', '--queue', 'default');
  await eventually('the token is taken', async () => {
    const answer = await fetch(`${server.url}/v1/server`, { headers: { Authorization: `Bearer ${token}` } });
    const value = await answer.json();
    if (!answer.ok || value.you.user === null) return false;
    description.check({ $ref: '#/components/schemas/ServerInfo' }, value, 'GET /v1/server');
    return true;
  });
});

// What only servers that share a database say.
const kOfClusters = /^(GET \/v1\/nodes$|POST \/v1\/nodes\/|POST \/v1\/queues\/\{queue\}\/move$|(Nodes|Node|NodeQueue|Draining|Moving|Move)\.|Queues\.missing$)/;
const database = await Database.start();

test('several servers on one database', { skip: database ? false : 'PostgreSQL is not here' }, async () => {
  const secret = join(database.folder, 'secret');
  writeFileSync(secret, 'a secret that all nodes of this test have in common\n', { mode: 0o600 });
  const node = async (name) => {
    const port = await freePort();
    return Server.start({
      port,
      flags: ['--store', database.url, '--allow-no-standby', 'true', '--node', name, '--advertise', `http://127.0.0.1:${port}`, '--cluster-secret-file', secret],
    });
  };
  const [one, two] = [await node('one'), await node('two')];
  asked_server = one;
  try {
    const named = async (name) => (await get('/v1/nodes')).nodes.find((row) => row.name === name);
    await eventually('both are alive', async () => (await named('one'))?.state === 'alive' && (await named('two'))?.state === 'alive');
    await eventually('somebody has the queue', async () => (await get('/v1/nodes')).nodes.some((row) => row.queues.some((queue) => queue.name === 'default')));
    await post('/v1/queues/{queue}/move', { to: 'two' });
    await eventually('it has moved', async () => (await named('two')).queues.some((queue) => queue.name === 'default'));
    assert.ok(await post('/v1/nodes/{node}/drain', undefined, { node: 'two' }));
    await eventually('it is drained', async () => (await named('two')).queues.length === 0);
    await post('/v1/nodes/{node}/resume', undefined, { node: 'two' });
    await post('/v1/queues/{queue}/move', { to: 'two' });
    await eventually('it has moved again', async () => (await named('two')).queues.some((queue) => queue.name === 'default'));
    two.kill();
    await eventually('it is said who did not answer', async () => (await get('/v1/queues')).missing?.length > 0);
  } finally {
    asked_server = server;
    await one.stop();
    await two.stop();
    database.stop();
  }
});

test('nothing that is described has stayed unseen', async () => {
  await server.stop();
  assert.equal(description.unseen().filter((name) => database || !kOfClusters.test(name)).join('\n'), '');
});

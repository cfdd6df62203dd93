// SPDX-License-Identifier: Apache-2.0
// A real server for tests of the dashboard: `allot serve` from ALLOT_BIN on a free port of this machine, with a folder of
// its own. It ends, and its folder goes, with stop(); at the latest with this process.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const kBound = Number(process.env.ALLOT_WAIT_MS ?? 20_000);
const running = new Set();

process.on('exit', () => {
  for (const server of running) server.kill();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

// Asks until the answer is neither false nor null nor undefined nor an error, and gives it.
export async function eventually(what, ask, bound = kBound) {
  const end = Date.now() + bound;
  for (;;) {
    let last;
    try {
      last = await ask();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`never came true: ${what} (last: ${last instanceof Error ? last.message : JSON.stringify(last)})`);
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}

// Nothing of the caller's own settings.
function cleanEnvironment(folder) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ALLOT_')));
  return { ...env, HOME: folder, XDG_DATA_HOME: join(folder, 'share') };
}

export class Server {
  #process = null;
  #log = [];

  constructor({ flags = [], port = 0 } = {}) {
    this.flags = flags;
    assert.ok(process.env.ALLOT_BIN, 'ALLOT_BIN names the program under test');
    this.folder = mkdtempSync(join(tmpdir(), 'allot-web-'));
    this.port = port;
    // With tokens: the one that api() shows.
    this.token = '';
  }

  // With further flags of `allot serve`, and a port of the caller's choice.
  static async start(options = {}) {
    const server = new Server(options);
    await server.start();
    return server;
  }

  // Also once more after end(): on the same port, with the same data.
  async start() {
    const child = spawn(process.env.ALLOT_BIN, ['serve', '--listen', `127.0.0.1:${this.port}`, '--data', join(this.folder, 'data'), '--log-format', 'json', ...this.flags],
      { cwd: this.folder, env: cleanEnvironment(this.folder), stdio: ['ignore', 'ignore', 'pipe'] });
    this.#process = child;
    running.add(this);
    child.stderr.setEncoding('utf8');
    const address = await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the server does not listen: ${this.log()}`)), kBound);
      child.on('error', reject);
      child.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${this.log()}`)));
      child.stderr.on('data', (text) => {
        this.#log = [...this.#log, text].slice(-200);
        const found = /"address":"([^"]+)"/.exec(text);
        if (!found) return;
        clearTimeout(timer);
        resolve(found[1]);
      });
    });
    this.port = Number(address.split(':').pop());
    this.url = `http://127.0.0.1:${this.port}`;
  }

  log() {
    return this.#log.join('').split('\n').slice(-20).join('\n');
  }

  kill() {
    if (this.#process?.exitCode === null && this.#process.signalCode === null) this.#process.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
    running.delete(this);
  }

  // Ends the process; the folder stays.
  async end() {
    const child = this.#process;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(timer);
    }
  }

  async stop() {
    await this.end();
    this.kill();
  }

  async request(method, path, body) {
    const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    return fetch(this.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  }

  async api(method, path, body) {
    const response = await this.request(method, path, body);
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  }

  get(path) { return this.api('GET', path); }
  post(path, body) { return this.api('POST', path, body); }
  job(id, queue = 'default') { return this.get(`/v1/queues/${queue}/jobs/${id}`); }

  // The job's id.
  async submit(spec, queue = 'default') {
    return (await this.post(`/v1/queues/${queue}/jobs`, spec)).job.id;
  }

  // `allot ARG...` beside the server.
  async run(...args) {
    const { stdout } = await promisify(execFile)(process.env.ALLOT_BIN, args, { cwd: this.folder, env: cleanEnvironment(this.folder) });
    return stdout.trim();
  }

  makeToken(name, scopes, ...more) {
    return this.run('token', 'create', name, '--scope', scopes, '--data', join(this.folder, 'data'), ...more);
  }

  worker(hello, queue = 'default') { return Worker.join(this, hello, queue); }
}

// A worker over HTTP that does as it is told.
export class Worker {
  static async join(server, hello, queue) {
    const worker = new Worker();
    worker.server = server;
    worker.base = `/v1/queues/${queue}/workers`;
    const { worker: id, key } = await server.post(worker.base, hello);
    return Object.assign(worker, { id, key });
  }

  async say(fields) {
    return this.server.post(`${this.base}/${this.id}/pull`, { key: this.key, ...fields });
  }

  // So many tasks, or fewer.
  async pull(count, fields = {}) {
    return (await this.say({ pull: count, wait_ms: 5000, ...fields })).tasks;
  }

  async done(tasks, result) {
    const made = typeof result === 'function' ? result : () => result;
    return this.say({ done: tasks.map((task) => ({ ...held(task), ...(result === undefined ? {} : { result: made(task) }) })) });
  }

  async failed(tasks, error, final = true) {
    const made = typeof error === 'function' ? error : () => error;
    return this.say({ failed: tasks.map((task) => ({ ...held(task), error: made(task), final })) });
  }
}

const held = ({ job, index, lease }) => ({ job, index, lease });

// SPDX-License-Identifier: Apache-2.0
// The real `allot serve` on a free port of 127.0.0.1: ALLOT_BIN says which.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

export const bin = process.env['ALLOT_BIN'] ?? '';
if (bin === '') throw new Error('ALLOT_BIN names the program to test with');

// A test that fails leaves things behind: they end with the file's last test.
const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));
after(() => void setTimeout(() => process.exit(), 2_000).unref());

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

export class Server {
  private process: ChildProcess | undefined;
  private log = '';

  private constructor(
    readonly data: string,
    readonly port: number,
    private readonly flags: string[],
    private readonly env: Record<string, string>,
  ) {}

  static async start({ flags = [], env = {} }: { flags?: string[]; env?: Record<string, string> } = {}): Promise<Server> {
    const server = new Server(await mkdtemp(join(tmpdir(), 'allot-ts-')), await freePort(), flags, env);
    await server.launch();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async launch(): Promise<void> {
    const args = ['serve', '--data', this.data, '--listen', `127.0.0.1:${this.port}`, ...this.flags];
    const child = spawn(bin, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...this.env } });
    this.process = child;
    running.add(child);
    child.on('exit', () => running.delete(child));
    child.stdout.on('data', (text: Buffer) => (this.log += text.toString()));
    child.stderr.on('data', (text: Buffer) => (this.log += text.toString()));
    for (const end = Date.now() + 60_000; Date.now() < end;) {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${this.log}`);
      const ready = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (ready?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`the server is not ready: ${this.log}`);
  }

  private async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.process;
    this.process = undefined;
    if (!child || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  kill9(): Promise<void> {
    return this.end('SIGKILL');
  }
  async restart(): Promise<void> {
    await this.kill9();
    await this.launch();
  }
  async stop(): Promise<void> {
    await this.end('SIGKILL');
    await rm(this.data, { recursive: true, force: true });
  }
  file(name: string): Promise<string> {
    return readFile(join(this.data, name), 'utf8');
  }
}

// What is not there yet, looked at again and again; the test's own time limit ends it.
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 5))) {
    if (await holds()) return;
  }
  throw new Error(`not in time: ${what}`);
}

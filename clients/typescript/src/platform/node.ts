// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { availableParallelism, hostname } from 'node:os';
import { Worker as NodeThread } from 'node:worker_threads';
import { WebSocket } from 'ws';

import { errorFrom, Unavailable } from '../base/errors.js';
import type { Platform, Socket, SocketEvents, SocketOptions, Thread } from './platform.js';

const MAX_MESSAGE_BYTES = 64 << 20;
const MAX_ERROR_BYTES = 16 << 10;

function openSocket(url: string, options: SocketOptions, events: SocketEvents): Socket {
  let over = false;
  const close = (error: Unavailable | ReturnType<typeof errorFrom>) => {
    if (over) return;
    over = true;
    events.closed(error);
  };
  const socket = new WebSocket(url, {
    headers: options.token ? { Authorization: `Bearer ${options.token}` } : {},
    perMessageDeflate: false,
    skipUTF8Validation: true,
    maxPayload: MAX_MESSAGE_BYTES,
    ...(options.caFile ? { ca: readFileSync(options.caFile) } : {}),
  });
  socket.on('open', () => over || events.opened());
  socket.on('message', (data) => over || events.message((data as Buffer).toString()));
  socket.on('pong', () => over || events.alive());
  socket.on('ping', () => over || events.alive());
  socket.on('unexpected-response', (request, response) => {
    let body = '';
    response.setEncoding('utf8');
    response.on('data', (part: string) => {
      if (body.length < MAX_ERROR_BYTES) body += part;
    });
    const end = () => {
      request.destroy();
      try {
        close(errorFrom((JSON.parse(body) as { error: { code: string; message: string } }).error, response.statusCode));
      } catch {
        close(new Unavailable(`${url} answered with ${response.statusCode}, and not as Allotter does`));
      }
    };
    response.on('end', end);
    response.on('error', end);
  });
  socket.on('error', (error) => close(new Unavailable(`no connection to ${url}: ${error.message}`, 'unavailable', { cause: error })));
  socket.on('close', (code, reason) => {
    close(new Unavailable(`the connection to ${url} was closed (${code}${reason.length > 0 ? `: ${reason.toString()}` : ''})`));
  });
  return {
    send: (text) => socket.send(text),
    ping: () => socket.ping(),
    close: () => {
      over = true;
      socket.terminate();
    },
  };
}

// Node's fetch takes a CA only by a dispatcher of undici, which is inside Node: the class is that of the default one.
async function trust(caFile: string): Promise<Record<string, unknown>> {
  const key = Symbol.for('undici.globalDispatcher.1');
  const globals = globalThis as unknown as Record<symbol, { constructor: new (options: object) => object } | undefined>;
  if (globals[key] === undefined) await fetch('data:,');
  const Agent = globals[key]?.constructor;
  if (Agent === undefined) throw new TypeError('this Node cannot be given a CA file: set NODE_EXTRA_CA_CERTS instead');
  return { dispatcher: new Agent({ connect: { ca: readFileSync(caFile) } }) };
}

function onStop(first: () => void, second: () => void): () => void {
  let times = 0;
  const heard = () => (times++ === 0 ? first() : second());
  process.on('SIGTERM', heard).on('SIGINT', heard);
  return () => void process.off('SIGTERM', heard).off('SIGINT', heard);
}

function startThread(memoryMb: number): Thread {
  const options = memoryMb > 0 ? { resourceLimits: { maxOldGenerationSizeMb: memoryMb } } : {};
  const thread = new NodeThread(new URL('../threads/thread_main.js', import.meta.url), options);
  let over = false;
  let why = '';
  const host: Thread = {
    onmessage: () => {},
    onexit: () => {},
    post: (message) => thread.postMessage(message),
    terminate: async () => {
      over = true;
      await thread.terminate();
    },
  };
  thread.on('message', (message: unknown) => over || host.onmessage(message));
  thread.on('error', (error: Error) => (why = `${error.name}: ${error.message}`));
  thread.on('exit', (code) => over || host.onexit(why || `its thread ended with ${code}`));
  return host;
}

export const platform: Platform = {
  name: 'node',
  env: (name) => process.env[name],
  readFile: (path) => readFileSync(path, 'utf8'),
  noSocketWithToken: null,
  openSocket,
  trust,
  streams: true,
  workerName: () => `${hostname().slice(0, 100)}-${process.pid}`,
  randomKey: () => randomUUID(),
  cpus: () => availableParallelism(),
  onStop,
  startThread,
  exit: (code) => process.exit(code),
  soon: (callback) => void setImmediate(callback),
};

// SPDX-License-Identifier: Apache-2.0
import { Unavailable } from '../base/errors.js';
import type { Platform, Socket, SocketEvents, SocketOptions } from './platform.js';

// As much of a browser's WebSocket as is used here.
interface BrowserSocket {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
}
declare const WebSocket: new (url: string) => BrowserSocket;
declare const crypto: { getRandomValues(bytes: Uint8Array): Uint8Array };

function openSocket(url: string, _options: SocketOptions, events: SocketEvents): Socket {
  const socket = new WebSocket(url);
  socket.onopen = () => events.opened();
  socket.onmessage = (event) => events.message(String(event.data));
  socket.onclose = (event) =>
    events.closed(new Unavailable(`the connection to ${url} was closed (${event.code}${event.reason ? `: ${event.reason}` : ''})`));
  return {
    send: (text) => socket.send(text),
    ping: () => {},
    close: () => {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    },
  };
}

const no = (what: string) => (): never => {
  throw new TypeError(`${what} only in Node`);
};

export const platform: Platform = {
  name: 'browser',
  env: () => undefined,
  readFile: no('files can be read'),
  noSocketWithToken: 'a browser sends no token with a WebSocket',
  openSocket,
  trust: no('a CA file can be given'),
  streams: false,
  workerName: () => 'browser',
  randomKey: () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(''),
  cpus: () => 1,
  onStop: () => () => {},
  startThread: no('there are worker threads'),
  exit: () => {},
  soon: (callback) => void setTimeout(callback, 0),
};

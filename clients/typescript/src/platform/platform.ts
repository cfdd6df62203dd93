// SPDX-License-Identifier: Apache-2.0
// What differs between Node and browsers. `#platform` in package.json says which file a program gets.

import type { Refused, Unavailable } from '../base/errors.js';

export interface SocketEvents {
  opened(): void;
  message(text: string): void;
  // A pong: the server is there.
  alive(): void;
  // The end, also of a handshake that failed. Nothing follows, and nothing comes after close().
  closed(error: Refused | Unavailable): void;
}

export interface Socket {
  send(text: string): void;
  // Does nothing where pings cannot be sent.
  ping(): void;
  close(): void;
}

export interface SocketOptions {
  token: string;
  caFile: string;
}

// A thread that runs tasks, one at a time; Node only.
export interface Thread {
  // Set by whoever uses it.
  onmessage: (message: unknown) => void;
  onexit: (why: string) => void;
  post(message: unknown): void;
  // Ends it, whatever it does. Nothing is called any more.
  terminate(): Promise<void>;
}

export interface Platform {
  readonly name: 'node' | 'browser';
  env(name: string): string | undefined;
  readFile(path: string): string;
  // Why a WebSocket with a token is out of the question here; null: it is not.
  noSocketWithToken: string | null;
  openSocket(url: string, options: SocketOptions, events: SocketEvents): Socket;
  // What fetch needs beside the usual to trust these authorities.
  trust(caFile: string): Promise<Record<string, unknown>>;
  // Whether a request's body may be a stream.
  streams: boolean;
  workerName(): string;
  // Different each time, everywhere.
  randomKey(): string;
  cpus(): number;
  // Calls `first` at the first SIGTERM or SIGINT and `second` at the second; the answer undoes that.
  onStop(first: () => void, second: () => void): () => void;
  // With so much memory for objects, in MB; 0: as much as Node gives it.
  startThread(memoryMb: number): Thread;
  exit(code: number): void;
  // Calls it once what goes on now is worked off.
  soon(callback: () => void): void;
}

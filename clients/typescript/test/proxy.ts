// SPDX-License-Identifier: Apache-2.0
// A proxy of TCP that breaks connections: after so many bytes one way or the other.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server as Listener, Socket } from 'node:net';

export class Proxy {
  private readonly sockets = new Set<Socket>();
  // Bytes of requests, and of answers, after which the next connection breaks; then none does.
  cutRequestAt = Infinity;
  cutAnswerAt = Infinity;
  // Answers as of a server that says nothing of what it can.
  former = false;

  private constructor(private readonly listener: Listener) {}

  static async start(port: number): Promise<Proxy> {
    const listener = createServer();
    const proxy = new Proxy(listener);
    listener.on('connection', (near) => proxy.join(near, connect(port, '127.0.0.1')));
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return proxy;
  }

  private join(near: Socket, far: Socket): void {
    const both = [near, far];
    for (const socket of both) {
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.sockets.delete(socket);
        for (const other of both) other.destroy();
      });
    }
    const pass = (from: Socket, to: Socket, cut: 'cutRequestAt' | 'cutAnswerAt') => {
      let passed = 0;
      from.on('data', (sent: Buffer) => {
        const data =
          this.former && from === far ? Buffer.from(sent.toString('latin1').replace('"features":', '"featurez":'), 'latin1') : sent;
        const left = this[cut] - passed;
        if (data.length >= left) {
          this[cut] = Infinity;
          // What was before the cut gets there.
          to.write(data.subarray(0, left), () => both.forEach((socket) => socket.destroy()));
          from.pause();
          return;
        }
        passed += data.length;
        to.write(data);
      });
    };
    pass(near, far, 'cutRequestAt');
    pass(far, near, 'cutAnswerAt');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.listener.address() as AddressInfo).port}`;
  }
  breakAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }
  async stop(): Promise<void> {
    this.listener.close();
    this.breakAll();
    await once(this.listener, 'close');
  }
}

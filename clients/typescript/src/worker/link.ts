// SPDX-License-Identifier: Apache-2.0
// How a worker's messages get to the server and back: over a WebSocket, or, where that is out of the question (a browser
// with a token), by requests.

import { platform } from '#platform';
import type { SocketEvents } from '../platform/platform.js';
import type { Connection } from '../base/options.js';
import { HttpLink } from './http_link.js';

// A message to the server: its fields as JSON text, without the braces around them.
export interface Outgoing {
  seq?: number;
  fields: string;
  // The credit from now on, which `fields` has too.
  pull?: number;
  bye?: boolean;
  // Headers of jobs are wanted, from now on.
  headers?: boolean;
}

export interface Link {
  hello(hello: string): void;
  send(message: Outgoing): void;
  ping(): void;
  close(): void;
}

export interface LinkEvents extends SocketEvents {
  // What the server says, in the words of the WebSocket.
  message(text: string): void;
}

export function textOf(message: Outgoing): string {
  const seq = message.seq === undefined ? '' : `"seq":${message.seq}`;
  const fields = [seq, message.fields, message.headers ? '"job_headers":true' : '', message.bye ? '"bye":true' : ''].filter(
    (part) => part !== '',
  );
  return `{${fields.join(',')}}`;
}

export function openLink(connection: Connection, events: LinkEvents): Link {
  if (connection.token && platform.noSocketWithToken !== null) return new HttpLink(connection, events);
  const url = `${connection.server.replace(/^http/, 'ws')}/v1/queues/${encodeURIComponent(connection.queue)}/work`;
  const socket = platform.openSocket(url, connection, events);
  return {
    hello: (hello) => socket.send(`{"hello":${hello}}`),
    send: (message) => socket.send(textOf(message)),
    ping: () => socket.ping(),
    close: () => socket.close(),
  };
}

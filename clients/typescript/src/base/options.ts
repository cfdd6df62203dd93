// SPDX-License-Identifier: Apache-2.0
// Where the server is and as whom to speak to it: from options, else from the environment that the command line reads too.

import { platform } from '#platform';
import type { Integers } from './json.js';

export interface ConnectionOptions {
  // ALLOT_SERVER; http://127.0.0.1:7420. In a browser: where the page comes from.
  server?: string;
  // ALLOT_QUEUE; default.
  queue?: string;
  // ALLOT_TOKEN, else what stands in the file of ALLOT_TOKEN_FILE.
  token?: string;
  tokenFile?: string;
  // ALLOT_CA_FILE: authorities to trust, in PEM. Else Node's own.
  caFile?: string;
  // How integers beyond 2^53 come: rounded, or as bigints. 'number', unless said.
  integers?: Integers;
  // For how long what can be asked again is asked again while the server is not there: 30 s.
  retryForMs?: number;
  // How long one answer may take beyond what it was asked to wait: 60 s.
  timeoutMs?: number;
}

export interface Connection {
  readonly server: string;
  readonly queue: string;
  readonly token: string;
  readonly caFile: string;
  readonly integers: Integers;
  readonly retryForMs: number;
  readonly timeoutMs: number;
}

function tokenOf(options: ConnectionOptions): string {
  if (options.token !== undefined) return options.token;
  // A file that is named goes before the environment's token.
  const file = options.tokenFile ?? (platform.env('ALLOT_TOKEN') ? undefined : platform.env('ALLOT_TOKEN_FILE'));
  if (!file) return platform.env('ALLOT_TOKEN') ?? '';
  const token = platform.readFile(file).trim().split(/\s/)[0];
  if (!token) throw new TypeError(`there is no token in ${file}: it holds the text of \`allot token create\``);
  return token;
}

export function resolve(options: ConnectionOptions): Connection {
  const here = (globalThis as { location?: { origin?: string } }).location?.origin;
  const server = options.server ?? (platform.env('ALLOT_SERVER') || (platform.name === 'browser' && here) || 'http://127.0.0.1:7420');
  const url = new URL(server);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new TypeError(`a server is http:// or https://, not ${server}`);
  return {
    server: url.origin,
    queue: options.queue ?? (platform.env('ALLOT_QUEUE') || 'default'),
    token: tokenOf(options),
    caFile: options.caFile ?? platform.env('ALLOT_CA_FILE') ?? '',
    integers: options.integers ?? 'number',
    retryForMs: options.retryForMs ?? 30_000,
    timeoutMs: options.timeoutMs ?? 60_000,
  };
}

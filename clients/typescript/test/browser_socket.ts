// SPDX-License-Identifier: Apache-2.0
// What pages have, and not every Node: a WebSocket (from 22 on) and `crypto` (from 20 on). `ws` comes by its path, since
// it refuses to be in a browser by its name.
import { webcrypto } from 'node:crypto';

const { WebSocket } = (await import(new URL('../../node_modules/ws/wrapper.mjs', import.meta.url).href)) as typeof import('ws');

Object.assign(globalThis, { WebSocket });
if (!('crypto' in globalThis)) Object.assign(globalThis, { crypto: webcrypto });

// SPDX-License-Identifier: Apache-2.0
// What runs in a thread: one task at a time.

import { parentPort } from 'node:worker_threads';
import { Cancelled, Retry } from '../base/errors.js';
import type { Context, Handler } from '../task.js';
import type { JobHeader } from '../wire.js';
import { namesOf, textOf } from '../worker/execute.js';
import type { FromThread, Start, ToThread } from './messages.js';

const port = parentPort!;
let controller: AbortController | undefined;
let asked: { resolve: (header: JobHeader) => void; reject: (error: Error) => void }[] = [];

function say(message: FromThread): void {
  port.postMessage(message);
}

async function run(start: Start): Promise<void> {
  controller = new AbortController();
  asked = [];
  const context: Context = {
    ...start.context,
    signal: controller.signal,
    progress: (done, options) => say({ type: 'progress', done, options }),
    header: () =>
      new Promise((resolve, reject) => {
        asked.push({ resolve, reject });
        say({ type: 'header' });
      }),
  };
  try {
    const module = (await import(start.url)) as Record<string, unknown>;
    const found = module[start.export];
    const handler = (typeof found === 'function' ? found : (found as { handler?: unknown } | undefined)?.handler) as
      Handler<unknown, unknown> | undefined;
    if (typeof handler !== 'function') throw new TypeError(`${start.url} has no function \`${start.export}\``);
    say({ type: 'done', value: await handler(start.input, context) });
  } catch (error) {
    const failed = { type: 'failed', text: textOf(error), names: namesOf(error) } as const;
    say({
      ...failed,
      text: failed.names.includes('AllotError') ? (error as Error).message : failed.text,
      afterMs: error instanceof Retry ? error.afterMs : undefined,
    });
  }
}

port.on('message', (message: ToThread) => {
  switch (message.type) {
    case 'start':
      void run(message);
      break;
    case 'stop':
      controller?.abort(new Cancelled(message.reason));
      break;
    case 'header':
      for (const { resolve, reject } of asked.splice(0)) {
        if (message.error === undefined) resolve(message.header as JobHeader);
        else reject(new Error(message.error));
      }
  }
});

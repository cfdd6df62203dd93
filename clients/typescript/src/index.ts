// SPDX-License-Identifier: Apache-2.0
// Workers and clients of Allotter.

export { task, threadTask } from './task.js';
export type { Context, Handler, Task, TaskOptions } from './task.js';
export { Worker } from './worker/worker.js';
export type { TaskList, WorkerEvent, WorkerOptions } from './worker/worker.js';

export { Client } from './client/client.js';
export type { Action, JobsFilter, MapOptions } from './client/client.js';
export { Job } from './client/job.js';
export type { OutcomeOptions } from './client/job.js';
export type { Outcome, ReadOptions } from './client/outcomes.js';
export type { SubmitOptions } from './client/submit.js';
export { Limits } from './client/limits.js';
export type { LimitOptions } from './client/limits.js';
export { Queue, Queues } from './client/queues.js';
export type { Settings } from './client/queues.js';
export { Workers } from './client/workers.js';
export type { ConnectionOptions } from './base/options.js';
export type { Codec, Integers } from './base/json.js';

export * from './base/errors.js';
export * from './builders/strategy.js';
export * from './builders/expression.js';
export { real } from './builders/real.js';
export type * as wire from './wire.js';

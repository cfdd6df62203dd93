// SPDX-License-Identifier: Apache-2.0
// What a worker's thread and its threads for tasks say to each other.

export interface Start {
  type: 'start';
  url: string;
  export: string;
  input: unknown;
  context: {
    job: string;
    index: number;
    attempt: number;
    count: number;
    trace: string | undefined;
    payloadPrefix: string | undefined;
    jobPayload: unknown;
  };
}
export interface Stop {
  type: 'stop';
  reason: string;
}
export interface Header {
  type: 'header';
  header: unknown;
  error: string | undefined;
}
export type ToThread = Start | Stop | Header;

export type FromThread =
  | { type: 'done'; value: unknown }
  | { type: 'failed'; text: string; names: string[]; afterMs: number | undefined }
  | { type: 'progress'; done: number; options: { of?: number; message?: string } | undefined }
  | { type: 'header' };

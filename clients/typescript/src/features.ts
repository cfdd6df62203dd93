// SPDX-License-Identifier: Apache-2.0
// What servers can beyond the first version of the protocol: their words for it, in one place. A server that has none of
// them says none, and then everything works as well as that version allows.

import type { Http } from './base/http.js';
import type { JobHeader, Ms, ServerInfo } from './wire.js';

// `job_headers` in a worker's message: a job's header comes with its first tasks on a connection.
export const JOB_HEADERS = 'job_headers';
// `failed` takes `retry_in_ms`.
export const RETRY_IN = 'retry_in_ms';
// `extend` takes `progress`.
export const PROGRESS = 'progress';
// `results` in a message on `/wait`: they are pushed as they complete.
export const RESULTS_AS_COMPLETED = 'results_as_completed';
// `payload` in a job's own view.
export const JOB_PAYLOAD = 'job_payload';

const LONGEST_RETRY_MS = 7 * 24 * 3_600_000;
const MOST_PROGRESS = 1e15;
const NOTE_BYTES = 128;

const known = new WeakMap<Http, Features>();

export class Features {
  private asked: Promise<ReadonlySet<string>> | undefined;
  private constructor(private readonly http: Http) {}

  // Asked for once, whoever asks.
  static of(http: Http): Features {
    let features = known.get(http);
    if (!features) known.set(http, (features = new Features(http)));
    return features;
  }

  async all(): Promise<ReadonlySet<string>> {
    this.asked ??= this.http.get<ServerInfo>('/v1/server').then((server) => new Set(server.features ?? []));
    try {
      return await this.asked;
    } catch (error) {
      this.asked = undefined;
      throw error;
    }
  }
  async has(feature: string): Promise<boolean> {
    return (await this.all()).has(feature);
  }
}

export interface Progress {
  done: number;
  of?: number;
  message?: string;
}

// The fields of a report, and of `extend`, that only some servers take: as JSON text to be put behind others.
export function retryField(features: ReadonlySet<string>, afterMs: Ms | undefined): string {
  if (afterMs === undefined || Number.isNaN(afterMs) || !features.has(RETRY_IN)) return '';
  return `,"retry_in_ms":${Math.min(Math.max(0, Math.round(afterMs)), LONGEST_RETRY_MS)}`;
}
// As the server takes it: one bad number must not cost the message that it is in.
export function progressField(features: ReadonlySet<string>, progress: Progress): string | undefined {
  if (!features.has(PROGRESS)) return undefined;
  const number = (value: number) => (Number.isNaN(value) ? 0 : Math.min(Math.max(0, value), MOST_PROGRESS));
  const fields: { done: number; of?: number; note?: string } = { done: number(progress.done) };
  if (progress.of !== undefined && !Number.isNaN(progress.of)) fields.of = number(progress.of);
  if (progress.message) fields.note = shortText(progress.message);
  return `,"progress":${JSON.stringify(fields)}`;
}

function shortText(text: string): string {
  // eslint-disable-next-line no-control-regex
  const plain = text.replace(/[\u0000-\u001f\u007f]/g, ' ');
  const bytes = new TextEncoder().encode(plain);
  if (bytes.length <= NOTE_BYTES) return plain;
  let end = NOTE_BYTES;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return new TextDecoder().decode(bytes.subarray(0, end));
}

// Headers of jobs. Servers with the feature send them with the first tasks; else each is asked for once, and remembered.
export class JobHeaders {
  private readonly known = new Map<string, JobHeader | Promise<JobHeader>>();
  constructor(private readonly http: Http) {}

  learn(headers: readonly JobHeader[]): void {
    for (const header of headers) this.put(header.id, header);
  }

  // The header, or a promise of it.
  of(job: string): JobHeader | Promise<JobHeader> {
    const known = this.known.get(job);
    if (known !== undefined) return known;
    const asked = this.http.get<JobHeader>(this.http.inQueue(`/jobs/${encodeURIComponent(job)}`)).then(
      ({ id, tags, meta, user }) => {
        const header: JobHeader = { id, tags, meta, ...(user === undefined ? {} : { user }) };
        this.known.set(job, header);
        return header;
      },
      (error: unknown) => {
        this.known.delete(job);
        throw error;
      },
    );
    this.put(job, asked);
    return asked;
  }

  private put(job: string, header: JobHeader | Promise<JobHeader>): void {
    this.known.delete(job); // so that it is the newest
    this.known.set(job, header);
    // The oldest goes: it is asked for again if it is needed.
    if (this.known.size > 10_000) this.known.delete(this.known.keys().next().value!);
  }
}

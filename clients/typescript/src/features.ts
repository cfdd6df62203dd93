// SPDX-License-Identifier: Apache-2.0
// What servers can beyond the first version of the protocol: their words for it, in one place. A server that has none of
// them says none, and then everything works as well as that version allows.

import type { Http } from './base/http.js';
import type { JobHeader, Ms, ServerInfo } from './wire.js';

// A job's header comes with the first assignment of it on a connection.
export const JOB_HEADERS = 'job_headers';
// `failed` takes `retry_in_ms`.
export const RETRY_IN = 'retry_in_ms';
// `extend` takes `progress`.
export const PROGRESS = 'progress';
// `/wait` pushes results as they complete.
export const RESULTS_AS_COMPLETED = 'results_as_completed';

export class Features {
  private asked: Promise<ReadonlySet<string>> | undefined;
  constructor(private readonly http: Http) {}

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
  return afterMs === undefined || !features.has(RETRY_IN) ? '' : `,"retry_in_ms":${Math.max(0, Math.round(afterMs))}`;
}
export function progressField(features: ReadonlySet<string>, progress: Progress): string | undefined {
  return features.has(PROGRESS) ? `,"progress":${JSON.stringify(progress)}` : undefined;
}

// Headers of jobs, each asked for once and then remembered. Servers with the feature send them unasked.
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
    this.known.set(job, header);
    // The oldest goes: it is asked for again if it is needed.
    if (this.known.size > 10_000) this.known.delete(this.known.keys().next().value!);
  }
}
